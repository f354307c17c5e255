"""Outputs that take the place of an input slice by slice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tvmlite.core.errors import TensorExpressionError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.in_place import in_place
from tvmlite.te.loop.interpret import interpret

ROWS, COLUMNS = 3, 4


def index(value: int) -> e.Const:
    return e.const(value, e.INDEX)


def buffer(name: str, scope: str, *shape: int) -> ir.Buffer:
    return ir.Buffer(name, "float32", tuple(map(index, shape)), scope, (), 4)


A, C = buffer("A", "param", ROWS, COLUMNS), buffer("C", "param", ROWS, COLUMNS)
T = buffer("T", "local", COLUMNS)
i, j, k = (e.Var(name, e.INDEX) for name in "ijk")


def over(var: e.Var, extent: int, body: ir.Stmt) -> ir.Stmt:
    return ir.For(var, index(0), index(extent), body)


def copied(row: e.Expr) -> ir.Stmt:
    """``T[j] = A[row, j]`` for all j."""
    return over(j, COLUMNS, ir.Store(T, (j,), ir.Load(A, (row, j))))


def stored(row: e.Expr, value: Callable[[e.Expr], e.Expr]) -> ir.Stmt:
    """``C[row, k] = value(k)`` for all k."""
    return over(k, COLUMNS, ir.Store(C, (row, k), value(k)))


def turned(at: e.Expr) -> e.Expr:
    return ir.Load(T, (COLUMNS - 1 - at,))


def function(body: ir.Stmt) -> ir.Function:
    return ir.Function("f", (A, C), (C,), (), body)


def test_rows_that_are_copied_first() -> None:
    before = function(over(i, ROWS, ir.Allocate(T, ir.Seq((copied(i), stored(i, turned))))))
    x = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS)
    expected, got = np.zeros_like(x), x.copy()

    after = in_place(before, 0)

    assert after.params == (C,)
    interpret(before, [x, expected])
    interpret(after, [got])
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(got, x[:, ::-1])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            over(i, ROWS, ir.Allocate(T, ir.Seq((copied(ROWS - 1 - i), stored(i, turned))))), id="another row"
        ),
        pytest.param(
            over(i, ROWS, ir.Allocate(T, ir.Seq((stored(i, turned), copied(i))))), id="read behind the stores"
        ),
        pytest.param(
            over(
                i,
                ROWS,
                ir.Allocate(T, ir.Seq((copied(i), stored(i, lambda at: ir.Load(A, (i, COLUMNS - 1 - at)))))),
            ),
            id="read between the stores",
        ),
        pytest.param(
            over(i, ROWS, ir.Allocate(T, ir.Seq((copied(index(0)), stored(i, turned))))), id="one row for all"
        ),
        pytest.param(
            over(i, 2, ir.Allocate(T, ir.Seq((copied(index(0)), stored(index(0), turned))))), id="a row twice"
        ),
    ],
)
def test_what_would_be_read_too_late_is_refused(body: ir.Stmt) -> None:
    with pytest.raises(TensorExpressionError, match="cannot overwrite A"):
        in_place(function(body), 0)
