"""Each rule of loop IR, violated once."""

import re

import pytest

from tvmlite.core.errors import VerifyError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.verify import verify


def index(value: int) -> e.Const:
    return e.const(value, "int64")


A = ir.Buffer("A", "float32", (index(4), index(4)), "param")
C = ir.Buffer("C", "float32", (index(16),), "param")
T = ir.Buffer("T", "float32", (index(16),))
X, Y = e.Var("i", "int64"), e.Var("j", "int64")
RAMP = e.Ramp(index(0), index(1), 4)
ONE = e.const(1.0)


def function_of(body: ir.Stmt) -> ir.Function:
    return ir.Function("f", (A, C), (C,), (), body)


def loop(body: ir.Stmt, var: e.Var = X, kind: str = ir.SERIAL) -> ir.For:
    return ir.For(var, index(0), index(4), body, kind)


GOOD = loop(ir.Allocate(T, loop(ir.Store(C, (X * 4 + Y,), ir.Load(A, (X, Y)) + ir.Load(T, (Y,))), Y)))


def test_a_valid_function_passes() -> None:
    verify(function_of(GOOD))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (ir.Store(C, (X,), ONE), "variable 'i' is not bound"),
        (loop(loop(ir.Store(C, (X,), ONE))), "variable 'i' is bound twice"),
        (ir.Store(T, (index(0),), ONE), "buffer 'T' is not in scope"),
        (ir.Store(A, (index(0), index(0)), ONE), "'A' is written but not an output"),
        (ir.Store(C, (index(0), index(0)), ONE), "'C' of 1 axes is indexed with 2 indices"),
        (ir.Store(C, (index(0),), index(1)), "a int64 value is stored to 'C' of float32"),
        (ir.Store(C, (RAMP,), ONE), "1 lanes are stored to 4 elements of 'C'"),
        (ir.Store(C, (e.const(0.0),), ONE), "'C' is indexed with a float32 value"),
        (ir.Store(C, (index(0),), e.Add(ONE, index(1))), "dtypes float32, int64 differ: 1.0 + 1"),
        (
            ir.Store(C, (RAMP,), e.Add(e.broadcast(ONE, 4), ONE)),
            "lanes 4, 1 differ: broadcast(1.0, 4) + 1.0",
        ),
        (ir.Store(C, (index(0),), ONE, e.const(1)), "the predicate of 'C' is not 1 bools"),
        (ir.If(index(1), ir.Seq(())), "condition 1 is not one bool"),
        (ir.For(e.Var("k"), index(0), index(4), ir.Seq(())), "loop variable 'k' is int32"),
        (ir.For(X, index(0), e.const(4), ir.Seq(())), "a loop's extent is int32 x1, expected int64"),
        (loop(ir.Seq(()), kind="odd"), "unknown kind of loop 'odd'"),
        (ir.Allocate(C, ir.Seq(())), "buffer 'C' has scope 'param'"),
        (ir.Let(X, ONE, ir.Seq(())), "'i' and its value differ in dtype or lanes"),
    ],
)
def test_each_violation_is_named(body: ir.Stmt, message: str) -> None:
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(function_of(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (loop(ir.Seq(()), kind=ir.UNROLL), "legal form: unroll loop 'i'"),
        (
            loop(loop(ir.Seq(()), Y, ir.PARALLEL), X, ir.PARALLEL),
            "legal form: parallel loop 'j' inside another",
        ),
        (ir.Store(C, (index(0),), ir.Load(A, (index(0), index(0)))), "legal form: 'A' has 2 indices"),
        (ir.Store(C, (e.const(0),), ONE), "legal form: 'C' has an int32 index"),
        (ir.Assert(e.const(True), "no"), "legal form: message 'no' is not among the function's"),
    ],
)
def test_the_legal_form_has_additional_rules(body: ir.Stmt, message: str) -> None:
    verify(function_of(body))
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(function_of(body), legal=True)


def test_the_error_shows_the_statement() -> None:
    with pytest.raises(VerifyError, match=r"function 'f': (?s:.*)in: C\[i\] = 1.0"):
        verify(function_of(ir.Store(C, (X,), ONE)))
