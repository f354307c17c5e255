"""Stored values are known until a store that may overlap them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.codegen.llvm.contents import Contents, Span
from tvmlite.te.loop import ir

X, Y = ir.Buffer("x", "float32", ()), ir.Buffer("y", "float32", ())
VAR = te.Var("i", "int64")
TERMS = ((VAR, 4),)


@pytest.mark.parametrize(
    ("span", "known"),
    [
        (Span(TERMS, 16, 16), True),
        (Span(TERMS, -16, 16), True),
        (Span(TERMS, 15, 1), False),
        (Span(TERMS, -15, 16), False),
        (Span(((VAR, 5),), 64, 16), False),
        (None, False),
    ],
)
def test_a_stored_value_is_known_until_a_store_that_may_overlap(span: Span | None, known: bool) -> None:
    contents, here = Contents(), Span(TERMS, 0, 16)
    contents.stored(X, here, "%a")

    contents.stored(Y, span, "%c")
    assert contents.get(X, here) == "%a"
    contents.stored(X, span, "%b")

    assert contents.get(X, here) == ("%a" if known else None)
    assert contents.get(X, span) == (None if span is None else "%b")


def test_a_masked_store_invalidates_the_known_value() -> None:
    contents, here = Contents(), Span(TERMS, 0, 16)
    contents.stored(X, here, "%a")

    contents.stored(X, here, None)

    assert contents.get(X, here) is None


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def place(base: te.Expr) -> te.Expr:
    return te.Ramp(base, index(1), 4)


def running_sums(buffer: ir.Buffer, between: ir.Stmt) -> ir.Function:
    """``buffer[0:4] += 1`` twice, ``between`` between them."""
    add = ir.Store(buffer, (place(index(0)),), ir.Load(buffer, (place(index(0)),)) + 1.0)
    return ir.Function("f", (buffer,), (buffer,), (), ir.sequence(add, between, add))


def test_a_value_just_stored_is_not_loaded() -> None:
    buffer = ir.Buffer("a", "float32", (index(16),), "param")
    elsewhere = ir.Store(buffer, (place(index(8)),), te.const(0.0, "float32", 4))

    text = llvm.generate(running_sums(buffer, elsewhere), Target.parse("native"))

    assert text.count(" = load ") == 1


@pytest.mark.parametrize("how", ["overlapping", "in a branch", "in a loop", "a lane", "masked", "predicated"])
def test_values_stored_in_between_are_loaded_again(run: Any, how: str) -> None:
    buffer = ir.Buffer("a", "float32", (index(16),), "param")
    nine = te.const(9.0, "float32", 4)
    some = te.Less(place(index(0)), te.const(2, "int64", 4))
    k = te.Var("k", "int64")
    between: ir.Stmt = {
        "overlapping": ir.Store(buffer, (place(index(2)),), nine),
        "in a branch": ir.If(te.const(True), ir.Store(buffer, (place(index(0)),), nine)),
        "in a loop": ir.For(k, index(0), index(2), ir.Store(buffer, (place(k),), nine)),
        "a lane": ir.Store(buffer, (index(3),), te.const(9.0)),
        "masked": ir.Store(buffer, (place(index(0)),), nine, some),
        "predicated": ir.Store(buffer, (index(1),), te.const(9.0), te.const(True)),
    }[how]
    out, want = np.zeros(16, "float32"), np.zeros(16, "float32")
    want[:4] += 1
    where = {
        "overlapping": slice(2, 6),
        "in a loop": slice(0, 5),
        "a lane": 3,
        "masked": slice(2),
        "predicated": 1,
    }
    want[where.get(how, slice(4))] = 9
    want[:4] += 1

    assert run(running_sums(buffer, between), out) == 0

    np.testing.assert_array_equal(out, want)
