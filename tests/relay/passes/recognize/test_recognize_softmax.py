"""Softmax written as elementary operators becomes one operator."""

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.recognize.recognize_softmax import recognize_softmax

rng = np.random.default_rng(0)
x = var("x", (3, "n", 4))


def along(op: str, value: Expr, axis: int) -> Expr:
    return make(op, value, axis=(axis,), keepdims=True)


def powers(axis: int, moved: bool) -> Expr:
    return make("exp", make("subtract", x, along("max", x, axis)) if moved else x)


def by_inverse(value: Expr, total: Expr) -> Expr:
    return make("multiply", make("divide", constant(1, "float32"), total), value)


def by_division(value: Expr, total: Expr) -> Expr:
    return make("divide", value, total)


def recognized(body: Expr) -> Expr:
    before = Module({"main": Function((x,), body)})
    after = recognize_softmax(before)
    data = rng.standard_normal((3, 5, 4)).astype("float32")
    np.testing.assert_allclose(interpret(after, [data]), interpret(before, [data]), rtol=1e-4, atol=1e-6)
    return after.main.body


def names(body: Expr) -> list:
    return [node.op for node in postorder(body) if isinstance(node, Call)]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("quotient", [by_division, by_inverse])
def test_exponentials_divided_by_their_sum_become_softmax(axis: int, moved: bool, quotient) -> None:
    above = powers(axis, moved)
    made = recognized(quotient(above, along("sum", above, axis)))

    assert names(made) == ["nn.softmax"]
    assert made["axis"] == axis % 3
    assert names(recognized(make("log", quotient(above, along("sum", above, axis))))) == ["nn.log_softmax"]


@pytest.mark.parametrize("moved", [True, False])
def test_subtracting_the_log_of_the_sum_becomes_log_softmax(moved: bool) -> None:
    above = powers(1, moved)
    made = recognized(make("subtract", above.args[0], make("log", along("sum", above, 1))))

    assert names(made) == ["nn.log_softmax"]


def test_other_formulas_are_left_unchanged() -> None:
    above = powers(1, True)
    other = make("exp", make("negative", x))
    whole = make("sum", above, axis=(0, 1), keepdims=True)
    for body in (
        by_division(above, along("sum", other, 1)),
        by_division(above, whole),
        by_division(x, along("sum", x, 1)),
        make("subtract", x, make("log", along("sum", x, 1))),
    ):
        module = Module({"main": Function((x,), body)})
        assert recognize_softmax(module) is module
