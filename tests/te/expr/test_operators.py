"""Python's operators on expressions and axes; on tensors they raise an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from tvmlite import te
from tvmlite.core.alike import alike
from tvmlite.core.errors import TensorExpressionError
from tvmlite.te.expr.operators import CONSTRUCTORS

BINARY = [getattr(operator, name) for name in "add sub mul floordiv mod lt le gt ge eq ne".split()]
BINARY += [getattr(operator, name) for name in "and_ or_ xor lshift rshift".split()]
UNARY = [operator.neg, operator.invert]

axis = te.reduce_axis((0, 8), "k")
A = te.placeholder((3, 4), name="A")


@pytest.mark.parametrize("apply", BINARY, ids=lambda one: one.__name__)
def test_an_axis_in_arithmetic_is_its_variable(apply: Callable[[Any, Any], Any]) -> None:
    n = te.var("n")
    for left, right in ((axis, 3), (axis, n), (n, axis), (axis, axis)):
        plain = [axis.var if one is axis else one for one in (left, right)]
        assert alike(apply(left, right), apply(*plain))


@pytest.mark.parametrize("apply", UNARY, ids=lambda one: one.__name__)
def test_an_axis_is_negated_and_inverted_like_its_variable(apply: Callable[[Any], Any]) -> None:
    assert alike(apply(axis), apply(axis.var))


def test_axes_are_compared_by_identity_in_containers() -> None:
    other = te.reduce_axis((0, 8), "k")
    assert axis in [other, axis]
    assert other not in [axis]
    assert {axis: 1, other: 2}[axis] == 1


@pytest.mark.parametrize("apply", [*BINARY, operator.truediv], ids=lambda one: one.__name__)
def test_a_tensor_with_too_few_indices_is_refused_in_arithmetic(apply: Callable[[Any, Any], Any]) -> None:
    for left, right in ((A[0], 1), (A[0], A[1, 2]), (axis, A[0])):
        with pytest.raises(TensorExpressionError, match="tensor 'A' has 2 axes, indexed with 1"):
            apply(left, right)


def test_each_operator_has_a_constructor() -> None:
    symbols = "+ - * / // % < <= == != & | ^ << >> negative not cast"
    assert set(CONSTRUCTORS) == set(symbols.split())
