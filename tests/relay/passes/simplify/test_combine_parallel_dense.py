"""Dense layers of the same data become one, if slicing its result needs no copy."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.simplify.combine_parallel_dense import combine_parallel_dense

rng = np.random.default_rng(0)
x = var("x", (2, "n", 6))


def const(*shape: int) -> Constant:
    return constant(rng.standard_normal(shape).astype("float32"))


def dense(units: int, data: Expr = x, bias: bool = False) -> Expr:
    made = make("nn.dense", data, const(units, 6))
    return make("add", const(units), made) if bias else made


def combined(body: Expr) -> Module:
    before = Module({"main": Function((x,), body)})
    after = combine_parallel_dense(before)
    verify(after)
    data = rng.standard_normal((2, 5, 6)).astype("float32")
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(compile(after)(data), interpret(before, [data]), rtol=1e-4, atol=1e-5)
    return after


def names(module: Module) -> list:
    return [node.op for node in postorder(module.main.body) if isinstance(node, Call)]


@pytest.mark.parametrize("bias", [True, False])
def test_layers_of_one_input_become_one_layer_and_slices(bias: bool) -> None:
    gate = make("multiply", make("sigmoid", dense(8, bias=bias)), make("tanh", dense(8, bias=bias)))
    after = combined(gate)

    found = names(after)
    assert found.count("nn.dense") == 1
    assert found.count("strided_slice") == 2
    assert found.count("add") == int(bias)
    assert next(n for n in postorder(after.main.body) if isinstance(n, Call)).args[1].data.shape == (16, 6)


def test_layers_of_different_widths_are_combined_at_each_depth() -> None:
    first = make("add", make("exp", dense(6)), make("sum", make("tanh", dense(4)), axis=-1, keepdims=True))
    second = make("add", make("exp", dense(3, first)), make("tanh", dense(3, first)))

    assert names(combined(second)).count("nn.dense") == 2


def test_layers_that_cannot_be_combined_are_left_unchanged() -> None:
    shared = dense(8)
    weight = var("w", (8, 6))
    cases = [
        make("nn.dense", make("tanh", x), const(5, 6)),
        Tuple((dense(8), make("exp", dense(8)))),
        make("add", make("nn.softmax", dense(8)), make("nn.softmax", dense(8))),
        make("add", make("exp", shared), make("exp", dense(8, make("exp", x)))),
        make("add", make("exp", make("nn.dense", x, weight)), make("exp", shared)),
    ]
    for body in cases:
        module = Module({"main": Function((x, weight), body)})
        assert combine_parallel_dense(module) is module
