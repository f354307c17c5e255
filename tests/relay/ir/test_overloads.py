"""Python's operators on expressions build the calls that relay's functions build."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import TvmliteError, TypeInferError

x, y = relay.var("x", shape=(4, 3)), relay.var("y", shape=(4, 3))
whole = relay.var("n", shape=(3,), dtype="int8")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (x + y, relay.add(x, y)),
        (x - y, relay.subtract(x, y)),
        (x * y, relay.multiply(x, y)),
        (x / y, relay.divide(x, y)),
        (-x, relay.negative(x)),
        (x < y, relay.less(x, y)),
        (x <= y, relay.less_equal(x, y)),
        (x > y, relay.greater(x, y)),
        (x >= y, relay.greater_equal(x, y)),
        (x + 1, relay.add(x, relay.const(1.0))),
        (1 - x, relay.subtract(relay.const(1.0), x)),
        (2.5 / x, relay.divide(relay.const(2.5), x)),
        (np.float64(2) * x, relay.multiply(relay.const(2.0), x)),
        (whole + 3, relay.add(whole, relay.const(3, "int8"))),
        (whole < 4.0, relay.less(whole, relay.const(4, "int8"))),
        (x + Fraction(1, 2), relay.add(x, relay.const(0.5))),
        (x.astype("int8"), relay.cast(x, "int8")),
        (sum([x, y]), relay.add(relay.add(relay.const(0.0), x), y)),
    ],
)
def test_python_operators_build_calls(written: relay.Expr, expected: relay.Expr) -> None:
    assert alike(written, expected)


def test_expressions_by_python_operators_compute_the_right_values() -> None:
    first, second = relay.split(x, 2)
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    lib = tvmlite.compile(relay.Module.from_expr(2 * first - second / 4 + 1))

    np.testing.assert_array_equal(lib(a), 2 * a[:2] - a[2:] / 4 + 1)


def test_nodes_compare_by_identity() -> None:
    other = relay.var("x", shape=(4, 3))

    assert x == x
    assert x != other
    assert len({x, other, x}) == 2
    assert bool(x < y)


def test_tuple_expressions_can_be_unpacked_counted_and_indexed() -> None:
    parts = relay.split(x, 2)
    a, b = parts
    v = relay.var("v", relay.TupleType((relay.TensorType((2,)), relay.TensorType((3,)))))

    assert alike(a, relay.TupleGetItem(parts, 0))
    assert alike(b, parts[-1])
    assert (len(parts), len(v), len(relay.Tuple((x, y)))) == (2, 2, 2)
    assert relay.type_of(v[1]).shape == (3,)
    assert list(relay.Tuple((x, y))) == [x, y]
    assert relay.Tuple((x, y))[-1] is y
    values, indices = relay.topk(x)
    mean = relay.nn.batch_norm(relay.var("i", shape=(1, 2)), *[relay.var("p", shape=(2,))] * 4)[1]
    assert relay.type_of(indices).dtype == "int32"
    assert relay.type_of(values).dtype == "float32"
    assert relay.type_of(mean).shape == (2,)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: whole + 1.5, r"add: 1\.5 beside a int8 cannot be a int8"),
        (lambda: whole * 200, "multiply: 200 beside a int8 cannot be a int8"),
        (lambda: x + 1j, "add: 1j beside a float32 cannot be a float32"),
        (lambda: x + "a", "add: argument 1 is a str, expected a relay expression"),
        (lambda: None - x, "subtract: argument 0 is None, expected a relay expression"),
        (lambda: np.ones(3) + x, "add: argument 0 is a ndarray, expected a relay expression"),
        (lambda: x.astype("int7"), "cast: dtype is 'int7'"),
        (lambda: list(x), r"this is Tensor\[\(4, 3\), float32\], which has no fields"),
        (lambda: len(x + y), "which has no fields"),
        (lambda: x[0], "which has no fields"),
        (lambda: relay.split(x, 2)[2], "field 2 of a tuple of 2"),
        (lambda: relay.split(x, 2)[0:1], "the index of a field is a slice, expected an integer"),
        (lambda: relay.Tuple((x, y))[5], "field 5 of a tuple of 2"),
        (lambda: relay.split(x, 2)["sections"], "split: this call has no attribute 'sections'"),
    ],
)
def test_errors_of_python_operators_point_at_the_users_line(wrong: Any, message: str) -> None:
    with pytest.raises(TvmliteError, match=rf"(?s){message}.*test_overloads\.py:\d+"):
        wrong()


def test_a_number_combined_with_a_tuple_is_refused() -> None:
    with pytest.raises(TypeInferError, match="a tensor is needed here"):
        relay.Tuple((x, y)) + 1
