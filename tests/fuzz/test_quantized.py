"""Random quantized graphs: bounds of their results, and how the fuzzer handles wrong results."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tvmlite
from tvmlite.cli import main
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.quantized.bounds import Bounds, bounds
from tvmlite.fuzz.quantized.case import MAKERS, Case, make
from tvmlite.fuzz.quantized.check import arguments_at, check, targets
from tvmlite.fuzz.run.run import fuzz
from tvmlite.machine.target import Target
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make as call
from tvmlite.techniques.common.dot import quad_lanes

SEED, GRAPHS = 1, 24
"""A fixed seed, so that results depend on the code only. ``tvmlite fuzz --kind quantized`` tries others."""

x = var("x", (4,))


def rounded(value: Expr, scale: float = 0.5, zero: int = 3) -> Expr:
    parts = constant(np.float32(scale)), constant(zero, "int32")
    return call("qnn.quantize", value, *parts, out_dtype="uint8")


def real(codes: Expr, scale: float = 0.5, zero: int = 3) -> Expr:
    return call("qnn.dequantize", codes, constant(np.float32(scale)), constant(zero, "int32"))


def bounds_of(body: Expr, *given: np.ndarray) -> Bounds:
    params = [x, var("y", (4,))][: len(given)]
    (made,) = bounds(Module({"main": Function(tuple(params), body)}), given, {})
    return made


@pytest.mark.slow
@pytest.mark.exhaustive  # `.ci/run` tries others with another seed
def test_random_quantized_graphs_have_no_findings() -> None:
    counts = fuzz(SEED, GRAPHS, ["llvm", "c"], jobs=2, seconds=60, kind="quantized")

    told = "\n".join(f"case {f.index}: {f.signature}: {f.text}" for f in counts.findings)
    assert not counts.findings, f"seed {SEED}\n{told}"
    assert counts.compared >= counts.cases


def test_a_graph_is_determined_by_seed_and_index() -> None:
    assert str(make(5, 7).module) == str(make(5, 7).module)
    assert {kind for n in range(60) for kind in make(5, n).kinds} == set(MAKERS)


def test_most_codes_are_certain_and_the_interpreters_are_within_bounds() -> None:
    count = either = 0
    for index in range(30):
        case = make(2, index)
        for binding in case.runs:
            arguments = arguments_at(case, binding)
            made = interpret(case.module, arguments)
            results = made if isinstance(made, tuple) else (made,)
            for one, value in zip(bounds(case.module, arguments, binding), results, strict=True):
                assert isinstance(value, np.ndarray)
                assert (one.low <= value).all()
                assert (value <= one.high).all()
                if value.dtype != np.float32:
                    count, either = count + value.size, either + (one.low < one.high).sum()
    assert count > 5000
    assert either < 0.02 * count


def test_a_tie_may_round_either_way_and_other_values_may_not() -> None:
    made = bounds_of(rounded(x), np.asarray([0.5, 0.75, 0.76, 1000], np.float32))

    np.testing.assert_array_equal(made.low, [4, 4, 5, 255])
    np.testing.assert_array_equal(made.high, [4, 5, 5, 255])


def test_bounds_pass_through_monotonic_and_other_functions() -> None:
    """A code of 4 or 5 dequantizes to 0.5 or 1."""
    value, tie = real(rounded(x)), np.asarray([0.75, 1, 0, -1], np.float32)

    def ends(body: Expr) -> list[float]:
        made = bounds_of(body, tie)
        return [round(float(made.low[0]), 4), round(float(made.high[0]), 4)]

    assert ends(call("negative", value)) == [-1, -0.5]
    assert ends(call("multiply", value, constant(np.float32(-2)))) == [-2, -1]
    assert ends(call("subtract", constant(np.float32(1)), value)) == [0, 0.5]
    assert ends(call("abs", call("add", value, constant(np.float32(-0.75))))) == [0, 0.25]
    assert ends(call("nn.gelu", call("subtract", value, constant(np.float32(1.5))))) == [-0.17, -0.1543]


def test_cancelling_terms_keep_their_rounding_errors() -> None:
    y = var("y", (4,))
    parts = bounds(
        Module({"main": Function((x, y), call("add", x, y))}),
        [np.full(4, 1e6, np.float32), np.full(4, -1e6, np.float32)],
        {},
    )
    assert (parts[0].high > 0.5).all()
    assert (parts[0].high < 2).all()


def test_products_scale_bounds_by_the_weights() -> None:
    data, weight = var("data", (1, 2)), constant(np.asarray([[3, -2]], np.float32))
    module = Module({"main": Function((data,), call("nn.dense", real(rounded(data)), weight))})
    (made,) = bounds(module, [np.asarray([[0.75, 0.75]], np.float32)], {})

    np.testing.assert_allclose([made.low.item(), made.high.item()], [1.5 - 2, 3 - 1], atol=1e-5)


def test_wrong_values_types_and_errors_of_a_case_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(Module({"main": Function((x,), rounded(x))}), ({},), ("function",))
    assert check(case, targets(["llvm"])) == len(targets(["llvm"]))

    other = tvmlite.compile(Module({"main": Function((x,), rounded(x, zero=4))}))
    monkeypatch.setattr("tvmlite.fuzz.quantized.check.compile", lambda module, target: other)
    with pytest.raises(Wrong, match=r"run: value: native: output 0: 4 of 4 elements; .* expected"):
        check(case, ["native"])
    with pytest.raises(Wrong, match=r"run: type: native: output 0 is \(4,\), expected \(1,\)"):
        check(Case(Module({"main": Function((x,), call("sum", x, keepdims=True))}), ({},), ()), ["native"])


@pytest.mark.skipif(not quad_lanes(Target.parse("native")), reason="a rule of processors with such products")
def test_a_wrong_rule_for_operators_that_fill_zeros_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A former mistake: an operator that fills in zeros was assumed to select codes."""
    square = var("x", (4, 4))
    graph = rounded(call("trilu", real(rounded(square)), k=0))
    case = Case(Module({"main": Function((square,), graph)}), ({},), ())
    assert check(case, ["native"]) == 1

    row = dataclasses.replace(operators.get("trilu"), fills=False)
    monkeypatch.setitem(operators.OPERATORS, "trilu", row)
    with pytest.raises(Wrong, match="run: value"):
        check(case, ["native"])


def test_the_command_shows_a_graph_and_reports_what_it_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--kind", "quantized", "--seed", "1", "--show", "3"]) == 0
    assert "qnn.quantize" in capsys.readouterr().out

    assert main(["fuzz", "--kind", "quantized", "--seed", "1", "--n", "2", "--backend", "llvm"]) == 0
    assert "2 graphs in" in capsys.readouterr().out
