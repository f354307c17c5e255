"""The functions that users call in a compute: the expressions they build, and their errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import TensorExpressionError
from tvmlite.te import expr as e
from tvmlite.te.tensor import intrinsics
from tvmlite.te.tensor.intrinsics import TABLE

x, y = te.var("x", "float32"), te.var("y", "float32")
i, j = te.var("i"), te.var("j")


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (te.exp(x), "exp(x)"),
        (te.power(x, 2), "pow(x, 2.0)"),
        (te.atan2(x, y), "atan2(x, y)"),
        (te.max(x, 0.0), "max(x, 0.0)"),
        (te.min(i, j), "min(i, j)"),
        (te.max(3, 4), "4"),
        (te.select(i < j, x, 0.0), "select(i < j, x, 0.0)"),
        (te.if_then_else(i < j, x, 0), "if_then_else(i < j, x, 0.0)"),
        (te.all(i < j, x < y), "i < j and x < y"),
        (te.any(i < j, x < y), "i < j or x < y"),
        (te.floordiv(i, 4), "i // 4"),
        (te.indexmod(i, 4), "i % 4"),
        (te.truncdiv(i, 4), "truncdiv(i, 4)"),
        (te.div(i, 4), "truncdiv(i, 4)"),
        (te.div(x, 4), "x / 4.0"),
        (te.isnan(x), "isnan(x)"),
        (te.clz(i), "clz(i)"),
    ],
)
def test_functions_build_the_expected_expressions(made, shown) -> None:
    assert str(made) == shown


def test_rounding_functions_of_ints_are_the_identity() -> None:
    assert te.floor(i) is te.ceil(i) is te.round(i) is te.trunc(i) is i
    assert te.abs(te.var("u", "uint8")).dtype == "uint8"
    assert e.is_const(te.isnan(i), 0)
    assert e.is_const(te.isfinite(i), 1)


def test_a_constant_condition_selects_its_branch() -> None:
    assert te.if_then_else(True, x, y) is x
    assert te.if_then_else(te.const(False), x, y) is y


def test_comparisons_and_classifications_are_bool() -> None:
    assert {te.isinf(x).dtype, te.all(i < j).dtype, te.any().dtype, te.likely(i < j).dtype} == {"bool"}


def test_reducers_and_binary_functions_share_a_name(run) -> None:
    A = te.placeholder((3, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    a = np.random.default_rng(0).standard_normal((3, 5)).astype("float32")

    def reduced(make):
        T = te.compute((3,), make, name="T")
        return run(te.create_schedule(T.op), [A, T], [a], [(3,)])[0]

    np.testing.assert_array_equal(reduced(lambda n: te.max(A[n, k], axis=k)), a.max(1))
    np.testing.assert_array_equal(reduced(lambda n: te.max(A[n, k], k)), a.max(1))
    np.testing.assert_array_equal(reduced(lambda n: te.min(A[n, k], axis=[k])), a.min(1))
    np.testing.assert_array_equal(reduced(lambda n: te.max(A[n, 0], A[n, 1])), np.maximum(a[:, 0], a[:, 1]))
    np.testing.assert_allclose(reduced(lambda n: te.prod(A[n, k], axis=k)), a.prod(1), rtol=1e-5)
    np.testing.assert_array_equal(reduced(lambda n: te.all(A[n, k] > -1.0, axis=k)), (a > -1).all(1))
    np.testing.assert_array_equal(reduced(lambda n: te.any(A[n, k] > 1.0, axis=k)), (a > 1).any(1))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: te.exp(i), "exp takes floats, given int32"),
        (lambda: te.clz(x), "clz takes ints, given float32"),
        (lambda: te.floordiv(x, y), "floordiv takes ints, given float32"),
        (lambda: te.max(x), "te.max takes two values, or a value and axis="),
        (lambda: te.select(x, x, y), "select: the condition is float32, expected bool"),
        (lambda: te.reinterpret("float64", x), "reinterpret: float32 is not as wide as float64"),
        (lambda: intrinsics.call("explode", x), "there is no intrinsic 'explode'"),
        (lambda: intrinsics.call("exp", x, y), "exp takes 1 arguments, given 2"),
    ],
)
def test_invalid_arguments_are_named(act, message) -> None:
    with pytest.raises(TensorExpressionError, match=re.escape(message) + r"\n  at .*test_intrinsics\.py:\d+"):
        act()


def test_rows_of_the_table_have_their_name_and_arity() -> None:
    assert all(name == row.name and row.arity in (1, 2, 3) for name, row in TABLE.items())
