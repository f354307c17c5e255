"""Decisions: passes ask a table, and every answer keeps the results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import tvmlite
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.entry.kernels import fused_groups
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops import windows
from tvmlite.relay.passes.decisions import Decisions, decide

rng = np.random.default_rng(0)
wide = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5")


def const(*shape: int) -> Expr:
    return constant((rng.standard_normal(shape) / 9).astype("float32"))


def residual() -> Module:
    """Return two blocks of two added convolutions, followed by global average pooling."""
    x = var("x", (1, 32, 12, 12))
    value: Expr = make("nn.relu", x)
    for _ in range(2):
        a, b = (make("nn.conv2d", value, const(32, 32, 3, 3), padding=1) for _ in range(2))
        value = make("nn.relu", make("add", a, b))
    return Module({"main": Function((x,), make("nn.global_avg_pool2d", value))})


def attention() -> Module:
    x = var("x", (2, 3, 8, 16))
    q, k, v = (make("reshape", make("multiply", x, const()), newshape=(6, 8, 16)) for _ in range(3))
    scores = make("nn.batch_matmul", q, k, transpose_b=True)
    made = make("nn.batch_matmul", make("nn.softmax", scores, axis=-1), v, transpose_b=False)
    return Module({"main": Function((x,), made)})


def fused(module: Module, chosen: Mapping[str, str] | None = None, **options) -> tuple[Module, Decisions]:
    table = Decisions(chosen or {})
    return passes.pipeline(3, wide, decisions=table, **options).run(module.unnamed()), table


def answer(module: Module) -> np.ndarray:
    random = np.random.default_rng(1)
    shapes = [windows.as_ints(tensor_type_of(param).shape) for param in module.main.params]
    made = interpret(module, [random.standard_normal(shape).astype("float32") for shape in shapes])
    assert isinstance(made, np.ndarray)
    return made


MODULES = {
    "fuse": (residual, {}),
    "winograd": (residual, {"error_bound": 1e-4}),
    "precision": (residual, {"precision": "bfloat16"}),
    "attention": (attention, {}),
}


@pytest.mark.parametrize("kind", MODULES)
def test_without_a_choice_the_graph_is_unchanged(kind: str) -> None:
    make_module, options = MODULES[kind]
    module = make_module()

    with_table, table = fused(module, **options)

    assert str(with_table) == str(passes.pipeline(3, wide, **options).run(module.unnamed()))
    assert all(one.taken == one.default for one in table.asked.values())


@pytest.mark.parametrize("kind", MODULES)
def test_every_alternative_keeps_the_results(kind: str) -> None:
    make_module, options = MODULES[kind]
    module = make_module()
    expected, (default, table) = answer(module), fused(module, **options)

    asked = [one for one in table.asked.values() if one.name.startswith(f"{kind} ")]

    assert asked
    for decision in asked:
        for other in decision.alternatives:
            changed, after = fused(module, {decision.name: other}, **options)
            assert after.asked[decision.name].taken == other
            assert (str(changed) == str(default)) == (other == decision.default)
            tolerance = 3e-2 if "precision" in options else 1e-4
            np.testing.assert_allclose(
                answer(changed), expected, rtol=0, atol=tolerance * abs(expected).max()
            )


def test_equal_places_share_a_counted_decision() -> None:
    _, table = fused(residual(), error_bound=1e-4)

    winograd, other = [one for one in table.asked.values() if one.name.startswith("winograd ")]

    assert (winograd.places, other.places) == (2, 2)  # the first two read channels-first
    assert winograd.alternatives == ("direct", "F(2, 3)", "F(4, 3)")
    assert winograd.name.startswith("winograd nn.contrib_conv2d_NCHWc, (1, 2, 12, 12, 16) #")


def test_names_of_decisions_do_not_depend_on_weights() -> None:
    names = [list(fused(residual())[1].asked) for _ in range(2)]

    assert names[0] == names[1]


def operators_of(module: Module) -> list[list[object]]:
    """Return the operators of each group."""
    return [
        [node.op for node in postorder(group.body) if isinstance(node, Call)]
        for group in fused_groups(module)
    ]


def test_keeping_one_convolution_apart_fuses_the_sum_with_the_other() -> None:
    x = var("x", (1, 16, 6, 6))
    large, small = const(16, 16, 3, 3), const(16, 16, 1, 1)
    a, b = make("nn.conv2d", x, large, padding=1), make("nn.conv2d", x, small)
    module = Module({"main": Function((x,), make("nn.global_avg_pool2d", make("add", a, b)))})
    before, table = fused(module)
    (name,) = (one for one in table.asked if one.startswith("fuse "))

    after, again = fused(module, {name: "apart"})

    assert sum("add" in group for group in operators_of(before)) == 1
    assert sum("add" in group for group in operators_of(after)) == 1
    assert len(operators_of(before)) == len(operators_of(after))
    assert str(before) != str(after)
    assert [one.taken for one in again.asked.values() if one.name.startswith("fuse ")] == ["apart", "joined"]


def test_an_operator_kept_apart_is_not_fused_in_the_second_phase() -> None:
    x = var("x", (64, 32))
    body = make("multiply", make("transpose", x, axes=(1, 0)), const(32, 64))
    module = Module({"main": Function((x,), body)})
    _, table = fused(module)

    apart, _ = fused(module, dict.fromkeys(table.asked, "apart"))

    assert operators_of(apart) == [["transpose"], ["multiply"]]


def test_an_unavailable_choice_is_reported_and_the_default_taken() -> None:
    _, table = fused(residual(), error_bound=1e-4)
    name, _ = [name for name in table.asked if name.startswith("winograd ")]

    _, smaller = fused(residual(), {name: "F(4, 3)"}, error_bound=3e-6)

    assert smaller.asked[name].taken == "F(2, 3)"
    assert smaller.notes == [
        f"'F(4, 3)' is chosen for the decision {name!r}, where there are 'direct', 'F(2, 3)'"
    ]


def test_without_a_table_the_default_is_taken_without_computing_places() -> None:
    def never() -> list[list[Call]]:
        raise AssertionError

    assert decide(None, "fuse", never, ("a", "b"), "b") == "b"


def test_compile_follows_and_reports_decisions() -> None:
    module = residual()
    plain = tvmlite.compile(module, error_bound=1e-4)
    names = [one.name for one in plain.report.decisions if one.name.startswith("winograd ")]

    direct = tvmlite.compile(module, error_bound=1e-4, decisions=dict.fromkeys(names, "direct"))

    assert "direct" not in str(plain.report)
    assert f"{names[0]}  direct" in str(direct.report)
    assert str(direct.report).splitlines()[-1].endswith("not measured")
    assert "winograd" not in " ".join(direct.kernel_names)
    x = rng.standard_normal((1, 32, 12, 12)).astype("float32")
    np.testing.assert_allclose(direct(x), plain(x), rtol=1e-3, atol=1e-4)


def test_unknown_decisions_and_invalid_choices_are_errors() -> None:
    module = residual()
    name = tvmlite.compile(module).report.decisions[-1].name

    with pytest.raises(InputError, match=r"asked for 'fuse nn\.conv'(?s:.*)the nearest there are: '.*'fuse "):
        tvmlite.compile(module, decisions={"fuse nn.conv": "apart"})
    with pytest.raises(InputError, match=r"is 'never', expected 'joined', 'apart'"):
        tvmlite.compile(module, decisions={name: "never"})


def test_a_value_with_several_readers_may_be_recomputed_in_each() -> None:
    x = var("x", (4, 64))
    top = make("sigmoid", make("multiply", x, const()))
    body = make("subtract", top, make("sum", top, axis=1, keepdims=True))
    module = Module({"main": Function((x,), body)})
    before, table = fused(module)
    (name,) = (one for one in table.asked if one.startswith("again "))

    after, _ = fused(module, {name: "in each reader"})

    assert operators_of(before) == [["multiply", "sigmoid"], ["sum"], ["subtract"]]
    assert operators_of(after) == [["multiply", "sigmoid", "sum"], ["multiply", "sigmoid", "subtract"]]
    np.testing.assert_allclose(answer(after), answer(module), rtol=1e-5)


@pytest.mark.parametrize("reader", ["nn.softmax", "copy"])
def test_recomputation_is_not_offered_for_readers_that_cannot_fuse_it(reader: str) -> None:
    """Softmax is a separate kernel, and an output is stored anyway."""
    x = var("x", (4, 64))
    top = make("sigmoid", x)
    parts = [make(reader, top), make("sum", top, axis=1, keepdims=True)]
    module = Module({"main": Function((x,), Tuple((*parts, top) if reader == "copy" else tuple(parts)))})

    _, table = fused(module)

    assert not any(name.startswith("again ") for name in table.asked)
