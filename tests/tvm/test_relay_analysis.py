"""``relay.analysis``: the values, calls and fused functions of a module, and data of its functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.tvm import relay
from tvmlite.tvm.relay import analysis


def _module() -> tvm.IRModule:
    """``(relu(x) + 1, relu(x)).0``"""
    positive = relay.nn.relu(relay.var("x", shape=(2, 3)))
    both = relay.Tuple([relay.add(positive, relay.const(1.0)), positive])
    return tvm.IRModule.from_expr(relay.TupleGetItem(both, 0))


@pytest.mark.parametrize(
    ("place", "kind"),
    [(0, "nn.relu"), (1, "add"), (2, relay.Tuple), (3, relay.TupleGetItem)],
)
def test_extract_intermediate_expr_counts_calls_and_tuples(place: int, kind: object) -> None:
    body = analysis.extract_intermdeiate_expr(_module(), place)["main"].body

    assert (body.op if isinstance(kind, str) else type(body)) == kind


def test_an_expr_id_out_of_range_is_an_error() -> None:
    with pytest.raises(InputError, match="expr_id is 4, main computes 4 values"):
        analysis.extract_intermdeiate_expr(_module(), 4)


def test_operators_are_listed_once() -> None:
    x = relay.var("x", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.exp(relay.add(relay.exp(x), x)))

    assert analysis.extract_operators(mod) == ["exp", "add"]


def test_equal_fused_functions_are_listed_once() -> None:
    def layer(data: object, name: str) -> object:
        return relay.tanh(relay.nn.dense(data, relay.var(name, shape=(4, 4))))

    mod = tvm.IRModule.from_expr(relay.exp(layer(layer(relay.var("x", shape=(2, 4)), "a"), "b")))
    found = list(analysis.extract_fused_functions(mod).values())

    assert sorted(analysis.extract_operators(tvm.IRModule.from_expr(one)) for one in found) == [
        ["nn.dense", "tanh"],
        ["nn.dense", "tanh", "exp"],
    ]
    assert all(one.attrs["Primitive"] == 1 for one in found)


def test_expand_dims_of_a_scale_is_fused_with_its_convolution() -> None:
    x, scale = relay.var("x", shape=(1, 4, 5, 5)), relay.var("s", shape=(4,))
    scaled = relay.multiply(
        relay.nn.conv2d(x, relay.var("w", shape=(4, 4, 3, 3))), relay.expand_dims(scale, 1, 2)
    )

    (only,) = analysis.extract_fused_functions(tvm.IRModule.from_expr(scaled)).values()
    operators = analysis.extract_operators(tvm.IRModule.from_expr(only))

    assert operators == ["nn.conv2d", "expand_dims", "multiply"]


def _quantized(between: object) -> tvm.IRModule:
    return tvm.IRModule.from_expr(relay.qnn.op.quantize(between, relay.const(0.5), relay.const(0)))


def _floats(name: str) -> object:
    return relay.qnn.op.dequantize(
        relay.var(name, shape=(2, 4), dtype="int8"), relay.const(0.5), relay.const(0)
    )


def test_operators_between_dequantize_and_quantize_are_counted() -> None:
    joined = relay.concatenate([relay.nn.relu(_floats("a")), relay.nn.relu(_floats("b"))], axis=1)

    assert analysis.list_fake_quantized_op_freqs(_quantized(joined)) == {"concatenate": 1, "nn.relu": 2}


def test_operators_on_plain_floats_are_not_counted() -> None:
    mixed = relay.add(_floats("a"), relay.var("b", shape=(2, 4)))

    assert analysis.list_fake_quantized_op_freqs(_quantized(mixed)) == {}
    assert analysis.list_fake_quantized_op_freqs(tvm.IRModule.from_expr(relay.exp(_floats("a")))) == {}


def _halves() -> tuple[tvm.IRModule, relay.GlobalVar]:
    """A module whose function ``half`` returns a sum and a difference."""
    a, b = relay.var("a", shape=(3,)), relay.var("b", shape=(3,))
    mod, half = tvm.IRModule(), relay.GlobalVar("half")
    mod[half] = relay.Function([a, b], relay.Tuple([a + b, a - b]))
    return mod, half


def test_calibration_data_has_inputs_and_outputs_of_functions() -> None:
    rng = np.random.default_rng(7)
    mod, half = _halves()
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    mod["main"] = relay.Function([x, y], relay.TupleGetItem(half(relay.exp(x), y), 1))
    data = {name: rng.standard_normal(3).astype("float32") for name in "xy"}

    found = analysis.get_calibration_data(mod, data)

    assert list(found) == [half]
    given, results = found[half]["inputs"], found[half]["outputs"]
    np.testing.assert_allclose(given[0].numpy(), np.exp(data["x"]), rtol=1e-6)
    np.testing.assert_array_equal(given[1].numpy(), data["y"])
    np.testing.assert_allclose(results[0].numpy(), np.exp(data["x"]) + data["y"], rtol=1e-6)
    np.testing.assert_allclose(results[1].numpy(), np.exp(data["x"]) - data["y"], rtol=1e-5, atol=1e-6)


def test_calibration_of_a_function_called_twice_is_refused() -> None:
    mod, half = _halves()
    x = relay.var("x", shape=(3,))
    mod["main"] = relay.Function([x], relay.Tuple([half(x, x), half(x, relay.exp(x))]))

    with pytest.raises(UnsupportedError, match="@half is called several times, expected once"):
        analysis.get_calibration_data(mod, {"x": np.ones(3, "float32")})


def test_a_free_variable_used_in_a_branch_is_not_in_block_normal_form() -> None:
    choice, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    both = relay.If(choice, x, relay.exp(x))

    with pytest.raises(InputError, match="used in another block than its own"):
        analysis.check_basic_block_normal_form(both)
    assert analysis.check_basic_block_normal_form(relay.Function([choice, x], both))
    assert analysis.check_basic_block_normal_form(relay.If(choice, x, relay.const(np.ones(2, "float32"))))


def test_a_call_graph_counts_calls_and_finds_recursion() -> None:
    x = relay.var("x", shape=(2,))
    f, g, main = map(relay.GlobalVar, ("f", "g", "main"))
    mod = tvm.IRModule({f: relay.Function([x], x + x), g: relay.Function([x], f(g(x)))})
    mod[main] = relay.Function([x], f(x) * g(f(x)))
    graph = relay.analysis.CallGraph(mod)

    assert [graph.ref_count(one) for one in (f, g, "main")] == [2, 2, 0]
    assert [graph.global_call_count(one) for one in (f, g, main)] == [0, 2, 2]
    assert [graph.is_recursive(one) for one in (f, g, main)] == [False, True, False]
    assert graph.print_var("main") == (
        "Call graph node: main,  #refs = 0\n  call site: <main> calls f\n  call site: <main> calls g\n"
    )
    assert "node: f,  #refs = 2" in str(graph)
    assert graph.module is mod
    with pytest.raises(InputError, match="ref_count: the module has no function 'h'; it has: f, g, main"):
        graph.ref_count("h")


def test_type_visitors_and_mutators_reach_every_type() -> None:
    class Halves(relay.TypeMutator):
        def visit_tensor_type(self, tt: Any) -> Any:
            return relay.TensorType(tt.shape, "float16")

    class Dtypes(relay.TypeVisitor):
        def __init__(self) -> None:
            self.found: list[str] = []

        def visit_tensor_type(self, tt: Any) -> None:
            self.found.append(tt.dtype)

    pair = relay.TupleType([relay.scalar_type("int8"), relay.IncompleteType()])
    given = relay.FuncType([relay.TensorType((2,)), pair], relay.scalar_type("bool"))
    dtypes = Dtypes()
    dtypes.visit(given)

    assert dtypes.found == ["float32", "int8", "bool"]
    assert str(Halves().visit(given)) == "fn (Tensor[(2), float16], (float16, _)) -> float16"
    assert relay.TypeMutator().visit(given) == given
    with pytest.raises(NotImplementedError, match="TypeFunctor has no method for a TensorType"):
        relay.TypeFunctor().visit(relay.TensorType(()))
    with pytest.raises(UnsupportedError, match="visit: 3 given, expected a relay type"):
        relay.TypeVisitor().visit(3)
