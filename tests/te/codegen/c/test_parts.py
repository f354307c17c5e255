"""Vectors wider than registers are stored in parts in C."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from c_vectors import MACHINES, PLACE, check

from tvmlite.te import expr as e
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.c.parts import split_wide_stores
from tvmlite.te.loop import ir

X = ir.Buffer("x", "float32", (e.const(64, "int64"),), "param")
Z = ir.Buffer("z", "float32", (e.const(64, "int64"),), "param")
Y = ir.Buffer("y", "float32", (e.const(64, "int64"),), "param")


def ramp(first: int, lanes: int) -> e.Ramp:
    return e.Ramp(e.const(first, "int64"), e.const(1, "int64"), lanes)


def function(*stores: ir.Stmt) -> ir.Function:
    return ir.Function("f", (X, Y), (Y,), (), ir.sequence(*stores))


def test_a_wide_store_is_split_into_register_wide_stores() -> None:
    made = split_wide_stores(
        function(ir.Store(Y, (ramp(0, 24),), ir.Load(X, (ramp(4, 24),)) + e.const(1.0, lanes=24)))
    )

    assert isinstance(made.body, ir.Seq)
    first, last = made.body.body
    assert str(first) == str(ir.Store(Y, (ramp(0, 16),), ir.Load(X, (ramp(4, 16),)) + e.const(1.0, lanes=16)))
    assert str(last) == str(ir.Store(Y, (ramp(16, 8),), ir.Load(X, (ramp(20, 8),)) + e.const(1.0, lanes=8)))


def test_a_store_of_odd_width_ends_with_a_scalar() -> None:
    made = split_wide_stores(function(ir.Store(Y, (ramp(1, 23),), ir.Load(X, (ramp(4, 23),)))))

    assert isinstance(made.body, ir.Seq)
    assert [store.value.lanes for store in made.body.body] == [16, 4, 2, 1]
    assert str(made.body.body[-1]) == str(
        ir.Store(Y, (e.const(23, "int64"),), ir.Load(X, (e.const(26, "int64"),)))
    )


@pytest.mark.parametrize(
    "store",
    [
        ir.Store(Y, (ramp(0, 16),), ir.Load(X, (ramp(0, 16),))),
        ir.Store(Y, (ramp(0, 32),), ir.Load(Y, (ramp(1, 32),))),
        ir.Store(Y, (ramp(0, 32),), ir.Load(X, (ramp(0, 32),)), e.Less(ramp(0, 32), e.const(9, "int64", 32))),
        ir.Store(Y, (ramp(0, 32),), ir.Load(X, (e.Ramp(e.const(0, "int64"), e.const(2, "int64"), 32),))),
    ],
    ids=["fits", "reads what it writes", "masked", "strided"],
)
def test_stores_that_splitting_would_not_improve_are_unchanged(store: ir.Store) -> None:
    given = function(store)

    assert split_wide_stores(given) is given or split_wide_stores(given).body is store


@pytest.mark.slow
@MACHINES
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_split_stores_compute_the_same_as_whole_ones(tmp_path: Path, flags: list[str]) -> None:
    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        chosen = e.Select(e.Less(a, b), e.Max(a, b), e.Call("fabs", (a,), "float32"))
        return chosen * e.Cast("float32", e.Cast("int64", b))

    made = [
        whole(f"f{n}", formula(*(ir.Load(b, (place(n),)) for b in (X, Z))), n)
        for n in (8, 12, 23, 24, 48, 64)
    ]
    assert "x64" not in c.generate(made)
    check(made, tmp_path, flags)


def place(lanes: int) -> e.Ramp:
    """The index of one vector per iteration; the last vector ends at the end of the array."""
    return e.Ramp(e.Min(PLACE * lanes, e.const(64 - lanes, "int64")), e.const(1, "int64"), lanes)


def whole(name: str, value: e.Expr, lanes: int) -> ir.Function:
    turns = e.const(-(-64 // lanes), "int64")
    body = ir.For(PLACE, e.const(0, "int64"), turns, ir.Store(Y, (place(lanes),), value))
    return ir.Function(name, (X, Z, Y), (Y,), (), body)
