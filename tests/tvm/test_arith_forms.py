"""Simplified expressions: conditions of branches, minima and maxima, and that no value changes."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

import tvmlite.tvm as tvm
from tvmlite.te import expr as e
from tvmlite.tvm import arith, te, tir
from tvmlite.tvm.written import plain

sys.path.insert(0, str(Path(__file__).parent))

from arith_meaning import value

X, Y, Z = VARIABLES = te.var("x"), te.var("y"), te.var("z")
LEAST, MOST = te.min, te.max


def number(rng: random.Random, depth: int) -> Any:
    """A random int32 expression whose divisors are constants."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(VARIABLES) if rng.random() < 0.7 else e.const(rng.randint(-6, 6), "int32")
    kind: Any = rng.choice([e.Add, e.Sub, e.Min, e.Max, e.Mul, e.Select, tir.if_then_else, None])
    a, b = number(rng, depth - 1), number(rng, depth - 1)
    if kind is None:
        by = rng.choice([e.Mul, e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod])
        return by(a, e.const(rng.choice([-3, -2, 1, 2, 3, 5, 8]), "int32"))
    if kind in (e.Select, tir.if_then_else):
        return kind(condition(rng, depth - 1), a, b)
    return kind(a, b)


def condition(rng: random.Random, depth: int) -> Any:
    if depth <= 0 or rng.random() < 0.5:
        kind = rng.choice([e.Less, e.LessEqual, e.Equal, e.NotEqual])
        return kind(number(rng, max(depth, 0)), number(rng, max(depth, 0)))
    if rng.random() < 0.3:
        return e.Not(condition(rng, depth - 1))
    return rng.choice([e.And, e.Or])(condition(rng, depth - 1), condition(rng, depth - 1))


@pytest.mark.parametrize("seed", range(8))
def test_simplification_keeps_the_value_of_random_expressions(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        known, ends = arith.Analyzer(), {}
        for var in VARIABLES:
            low = rng.choice([-7, 0, 1])
            ends[var] = low, low + rng.randint(0, 12)
            if rng.random() < 0.6:
                known.update(var, arith.ConstIntBound(*ends[var]))
        given = number(rng, 4) if rng.random() < 0.6 else condition(rng, 3)
        found = plain(known.simplify(given))
        for _ in range(20):
            at = {var: rng.randint(*ends[var]) for var in VARIABLES}
            assert value(given, at) == value(found, at), f"{given} became {found} where {at}"


SHORTER: list[tuple[Any, str]] = [
    (LEAST(X, Y - Z) + Z, "min((x: int32 + z: int32), y: int32)"),
    (LEAST(X + 10, Y + 1) - LEAST(X, Y - 9), "10"),
    (LEAST(X, Y) * MOST(Y, X), "(x: int32*y: int32)"),
    (LEAST(X, Y * 2) + MOST(Y * 2, X), "((y: int32*2) + x: int32)"),
    (LEAST(X, 11) < 10, "(x: int32 < 10)"),
    (MOST(8, X) > X + 1, "(x: int32 < 7)"),
    (te.floordiv(X - 8, 9) + 3 < 0, "(x: int32 < -19)"),
    (tir.Select(X < 0, Y, 0) + tir.Select(X < 0, 1, Z), "select((x: int32 < 0), (y: int32 + 1), z: int32)"),
    (tir.Select(X >= 10, tir.if_then_else(te.truncdiv(X, 3) < 2, X, 0), 0), "0"),
    (tir.if_then_else(X > Y, LEAST(X, Y), 0), "@tir.if_then_else((y: int32 < x: int32), y, 0, dtype=int32)"),
    (tir.And(X > 1, X <= 1), "False"),
    (tir.Or(X <= Y, Y < X), "True"),
    (tir.And(X < 4, tir.NE(X, 9)), "(x: int32 < 4)"),
    (te.floordiv(X - te.floormod(X, 21), 21), "floordiv(x: int32, 21)"),
]


@pytest.mark.parametrize("case", range(len(SHORTER)))
def test_expressions_are_simplified_to_the_expected_form(case: int) -> None:
    given, text = SHORTER[case]
    assert str(arith.Analyzer().simplify(given)) == text


def test_the_condition_of_a_branch_is_not_assumed_after_it() -> None:
    known = arith.Analyzer()

    known.simplify(tir.if_then_else(X > 3, MOST(X, 3), 0))

    assert not known.can_prove(X > 3)
    assert known.const_int_bound(X).min_value < 0


def test_deeply_nested_choices_are_simplified_correctly() -> None:
    made = X
    for number in range(8):
        made = tir.if_then_else(
            tir.all(tir.LT(Y, number), tir.any(tir.GT(Z, number), made > 3)), made + 1, made - 1
        )
    at = {X: 1, Y: 4, Z: 2}

    found = plain(arith.Analyzer().simplify(made))

    assert value(plain(made), at) == value(found, at)


def test_a_branch_that_is_always_evaluated_stays_safe() -> None:
    a = te.placeholder((9,), name="a")
    read = tir.Select(X < 9, a[LEAST(X, 8)], 0.0)
    divided = tir.Select(X > 0, te.floordiv(Y, MOST(X, 1)), 0)
    chosen = tir.if_then_else(X < 9, a[LEAST(X, 8)], 0.0)

    for safe in (read, divided):
        assert "min" in str(arith.Analyzer().simplify(safe)) or "max" in str(arith.Analyzer().simplify(safe))
    assert "min" not in str(arith.Analyzer().simplify(chosen))


def test_quotients_keep_their_rounding_mode() -> None:
    known = arith.Analyzer()
    known.update(X, arith.ConstIntBound(0, 100))

    assert str(known.simplify(te.truncdiv(te.truncdiv(X, 2), 3))) == "(x: int32 / 6)"
    assert str(known.simplify(te.floordiv(te.floordiv(X, 2), 3))) == "floordiv(x: int32, 6)"


def test_equal_vectors_and_extremes_are_structurally_equal() -> None:
    equal = tvm.ir.structural_equal

    assert equal(tir.Ramp(X + Y, 1, 4), tir.Ramp(Y + X, 1, tvm.tir.IntImm("int64", 4)))
    assert not equal(tir.Ramp(X + Y, 1, 4), tir.Ramp(X + Y, 2, 4))
    assert equal(tir.LE(tir.Broadcast(X, 4), tir.Broadcast(Y, 4)), tir.Broadcast(X <= Y, 4))
    assert equal(LEAST(X * 3, 9), LEAST(X, 3) * 3)
    assert equal(MOST(LEAST(X, Y), LEAST(X, Z)), LEAST(MOST(Y, Z), X))
    assert not equal(LEAST(X * 3, 9), LEAST(X, 2) * 3)
    assert equal(tir.Select(X < 0, Y, Z) - Z, tir.Select(X < 0, Y - Z, 0))
    assert equal(LEAST(te.floordiv(X, -10), te.floordiv(Y, -10)), te.floordiv(MOST(X, Y), -10))
