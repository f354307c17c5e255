"""Expressions in TVM programs: their text, comparisons, vector dtypes, constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.te
import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError
from tvmlite.tvm import te, tir

X, Y, F = te.var("x"), te.var("y"), te.var("f", "float32")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (X, "x: int32"),
        (X + Y - X * 2, "((x: int32 + y: int32) - (x*2))"),
        (X // 4 % Y, "floormod(floordiv(x: int32, 4), y: int32)"),
        (te.truncdiv(X, Y), "(x: int32 / y: int32)"),
        (tir.all(X >= Y, X > 1), "((x: int32 >= y: int32) && (x > 1))"),
        (tir.any(X != Y, tir.Not(X == Y)), "((x: int32 != y: int32) || !(x == y))"),
        (te.max(X, 3), "max(x: int32, 3)"),
        (F.astype("int64") + 1, "(cast(int64, f: float32) + 1i64)"),
        (tir.exp(F * 0.5), "@tir.exp((f: float32*0.5f32), dtype=float32)"),
        (tir.Select(X < 1, X, Y), "select((x: int32 < 1), x, y: int32)"),
        (tir.Ramp(X, 1, 4), "ramp(x: int32, 1, 4)"),
        (tir.Let(X, 1, X + Y), "let x: int32 = 1 in (x + y: int32)"),
        (tir.infinity("float16"), "inff16"),
        (te.var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32"))), "p: Pointer(float32)"),
    ],
)
def test_an_expression_prints_as_in_tvm(made: Any, text: str) -> None:
    assert str(made) == text


def test_expressions_of_te_keep_their_own_text() -> None:
    n, m = tvmlite.te.var("n"), tvmlite.te.var("m")

    assert str(n + m * 2) == "n + m * 2"
    assert str(m > n) == "n < m"


def test_comparisons_keep_the_operator_that_was_written() -> None:
    greater, less = X > Y, Y < X

    assert (isinstance(greater, tir.GT), isinstance(less, tir.LT)) == (True, True)
    assert (greater.a is X, greater.b is Y, less.a is Y) == (True, True, True)
    assert not isinstance(greater, tir.LT)
    assert not tvm.ir.structural_equal(tir.Evaluate(greater), tir.Evaluate(less))
    assert tvm.arith.Analyzer().can_prove(X + 1 > X)
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: tir.Select(te.all(i >= 2, X > 3), a[i], -a[i]), name="b")
    given = np.arange(8, dtype="f4")
    made = tvm.build(te.create_schedule(b.op), [a, b, X])
    np.testing.assert_array_equal(made(given, 5), np.where(given >= 2, given, -given))
    np.testing.assert_array_equal(made(given, 2), -given)


def test_comparisons_are_compiled_in_loops_written_by_hand() -> None:
    ib = tir.ir_builder.create()
    x, out = tir.decl_buffer((8,), "float32", name="x"), tir.decl_buffer((8,), "float32", name="out")
    limit = te.var("limit")
    source, target = ib.buffer_ptr(x), ib.buffer_ptr(out)
    with ib.for_range(0, 8, name="i") as i:
        with ib.if_scope(limit > i):
            target[i] = source[i]
        with ib.else_scope():
            target[i] = 0.0
    made = tvm.build(tir.PrimFunc([x, limit, out], ib.get()))
    given = np.arange(8, dtype="f4") + 1

    np.testing.assert_array_equal(made(given, 3), np.where(np.arange(8) < 3, given, 0))


def test_vector_expressions_have_vector_dtypes() -> None:
    two = tir.const(1, "int8x2")

    assert ((two >> 1).dtype, (X >> tir.const(1, "int32x2")).dtype) == ("int8x2", "int32x2")
    assert (te.var("z", "int8x2") << two).dtype == "int8x2"
    assert tir.isnan(te.var("k", "int8x2")).dtype == "uint1x2"
    assert X.astype("float32x4").dtype == "float32x4"


def test_constants_are_hashed_and_compared_like_numbers() -> None:
    one, same = tvm.runtime.convert(1), tvm.runtime.convert(1)

    assert (same in {one}, one < 20, bool(one != 1)) == (True, True, False)
    assert tir.const(3) < tir.const(4)
    for compare in (lambda: X == None, lambda: tir.IntImm("int8", 1) != None):  # noqa: E711
        with pytest.raises(ValueError, match="is compared with None"):
            compare()
    for value, dtype in ((65505.0, "float16"), (3.402e39, "float32")):
        with pytest.raises(TensorExpressionError, match=f"is not a value of {dtype}"):
            tir.const(value, dtype)
    assert (tir.const(3.402e39).dtype, tir.const(1.5).dtype) == ("float64", "float32")
