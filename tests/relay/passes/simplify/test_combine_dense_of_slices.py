"""Dense layers on slices of one array become one layer on the array, if most of it is read."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Tuple, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.passes.simplify.combine_dense_of_slices import combine_dense_of_slices

rng = np.random.default_rng(0)
x = var("x", (5, "n", 6))
weight = constant(rng.standard_normal((4, 6)).astype("float32"))


def step(index: int, data: Expr = x, w: Constant = weight, axis: int = 0) -> Expr:
    return make("nn.dense", make("take", data, constant(index, "int64"), axis=axis), w)


def rows(begin: int, end: int) -> Expr:
    piece = make("strided_slice", x, begin=(begin,), end=(end,), strides=(1,), axes=(0,))
    return make("nn.dense", piece, weight)


def combined(body: Expr) -> list:
    """Return the names of the operators after the pass, and check that results are unchanged."""
    before = Module({"main": Function((x,), body)})
    after = combine_dense_of_slices(before)
    verify(after)
    data = rng.standard_normal((5, 3, 6)).astype("float32")
    wanted = interpret(before, [data])
    for got in (interpret(after, [data]), compile(after)(data)):
        for one, other in zip(
            got if isinstance(got, tuple | list) else [got],
            wanted if isinstance(wanted, tuple | list) else [wanted],
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return [node.op for node in postorder(after.main.body) if isinstance(node, Call)]


def test_steps_of_a_recurrent_layer_multiply_all_inputs_at_once() -> None:
    recurrent = constant(rng.standard_normal((4, 4)).astype("float32"))
    state = make("tanh", step(0))
    for index in range(1, 5):
        state = make("tanh", make("add", step(index), make("nn.dense", state, recurrent)))

    found = combined(state)
    assert found.count("nn.dense") == 1 + 4
    assert found.count("take") == 5


def test_slices_of_a_combined_layer_are_combined_again() -> None:
    second = constant(rng.standard_normal((3, 4)).astype("float32"))
    pairs = [make("nn.dense", make("tanh", step(index)), second) for index in range(5)]
    assert combined(Tuple(tuple(pairs))).count("nn.dense") == 1 + 5  # tanh's result is not a slice

    inner = [make("nn.dense", step(index), second) for index in range(5)]
    once = combine_dense_of_slices(Module({"main": Function((x,), Tuple(tuple(inner)))}))
    twice = combine_dense_of_slices(once)
    assert [node.op for node in postorder(twice.main.body) if isinstance(node, Call)].count("nn.dense") == 2


def test_slices_of_consecutive_rows_are_combined() -> None:
    found = combined(Tuple((rows(0, 2), rows(2, 5))))
    assert found.count("nn.dense") == 1
    assert found.count("strided_slice") == 2


@pytest.mark.parametrize(
    "steps",
    [
        [step(0), step(1)],  # two of five: most of the product would be wasted
        [step(0), step(0, w=constant(np.ones((4, 6), "float32"))), step(1)],
        [rows(0, 5)],
    ],
)
def test_combinations_that_do_not_pay_are_left_unchanged(steps: list[Expr]) -> None:
    module = Module({"main": Function((x,), Tuple(tuple(steps)))})
    assert combine_dense_of_slices(module) is module


def test_slices_of_an_open_or_the_last_axis_are_left_unchanged() -> None:
    y = var("y", (5, "n", 6, 6))
    last = [make("nn.dense", make("take", y, constant(i, "int64"), axis=3), weight) for i in range(6)]
    open_ = [step(index, y, axis=1) for index in range(4)]
    module = Module({"main": Function((y,), Tuple((*last, *open_)))})
    assert combine_dense_of_slices(module) is module
