"""``tvm.arith``: bounds, modular sets and integer sets of expressions, checked against all values."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import arith, te, tir
from tvmlite.tvm.written import plain

sys.path.insert(0, str(Path(__file__).parent))

from arith_meaning import value

X, Y = te.var("x"), te.var("y")


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


CASES: list[tuple[Any, Callable[[int, int], int]]] = [
    (X + Y * 3 - 2, lambda x, y: x + y * 3 - 2),
    (X * Y, lambda x, y: x * y),
    (te.floordiv(X, Y), lambda x, y: x // y),
    (te.floormod(X, Y), lambda x, y: x % y),
    (te.truncdiv(X, Y), _truncated),
    (te.truncmod(X, Y), lambda x, y: x - y * _truncated(x, y)),
    (te.min(X, Y) + te.max(X, 2), lambda x, y: min(x, y) + max(x, 2)),
    (tir.Select(X > 1, X * 2, Y), lambda x, y: x * 2 if x > 1 else y),
    (X >> Y, lambda x, y: x >> y),
    (X & Y, lambda x, y: x & y),
    ((X * 6 + 3) * (Y * 4 + 2), lambda x, y: (x * 6 + 3) * (y * 4 + 2)),
    (te.floordiv(X * 12 + 8, 4) + te.floormod(Y * 6, 9), lambda x, y: (x * 12 + 8) // 4 + y * 6 % 9),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_bounds_and_modular_sets_hold_for_all_values(number: int) -> None:
    expr, function = CASES[number]
    for low, high in ((-7, 5), (0, 6), (2, 2)):
        known = arith.Analyzer()
        known.update(X, arith.ConstIntBound(low, high))
        known.update(Y, arith.ConstIntBound(1, 4))
        values = [function(x, y) for x, y in itertools.product(range(low, high + 1), range(1, 5))]
        bound, left = known.const_int_bound(expr), known.modular_set(expr)

        assert bound.min_value <= min(values)
        assert max(values) <= bound.max_value
        assert all((v - left.base) % left.coeff == 0 if left.coeff else v == left.base for v in values)


def test_bounds_are_tight_for_variables_that_occur_once() -> None:
    known = arith.Analyzer()
    known.update(X, arith.ConstIntBound(-9, 4))
    known.update(Y, arith.ConstIntBound(-2, 0))  # a divisor is not 0
    found = [known.const_int_bound(one) for one in (te.floordiv(X, Y), X * 2 + Y, te.truncmod(X, 4))]
    assert [(one.min_value, one.max_value) for one in found] == [(-4, 9), (-20, 8), (-3, 3)]

    bound = arith.ConstIntBound
    known.update(X, bound(0, bound.POS_INF), override=True)
    assert known.const_int_bound(Y - X).min_value == bound.NEG_INF
    assert known.const_int_bound(te.var("b", "uint8")).max_value == 255
    assert known.const_int_bound(te.size_var("n")).min_value == 0


def test_constraints_hold_only_inside_their_scope() -> None:
    known = arith.Analyzer()
    with known.constraint_scope(tir.all(te.floormod(X, 4) == 1, te.floormod(X, 3) == 2, X < 20)):
        assert known.modular_set(X) == arith.ModularSet(12, 5)
        assert known.const_int_bound(X + 1).max_value == 20
        assert known.can_prove(X <= 19)
    assert known.modular_set(X) == arith.ModularSet(1, 0)
    known.bind(Y, X * 4 + 1)
    assert known.modular_set(Y - 1) == arith.ModularSet(4, 0)
    with pytest.raises(tvm.TVMError, match=r"constraint_scope: constraint: .* given, expected a condition"):
        known.constraint_scope(X + 1)


def test_int_set_bounds_the_values_over_ranges_of_variables() -> None:
    known = arith.Analyzer()
    known.update(Y, arith.ConstIntBound(1, 100))

    def ends(expr: Any, low: Any, high: Any) -> list[str]:
        found = known.int_set(expr, {X: arith.IntervalSet(low, high)})
        return [str(found.min_value), str(found.max_value)]

    assert ends(X + 3, 0, 9) == ["3", "12"]
    assert ends(X * Y, 0, 9) == ["0", "(y: int32*9)"]
    assert ends(5 - X * 2, 1, 3) == ["-1", "3"]
    assert ends(te.floormod(X, 10), 13, 15) == ["3", "5"]
    assert ends(te.floormod(X, 10), 3, 11) == ["0", "9"]
    assert ends(te.truncmod(X, 4), -9, 9) == ["-3", "3"]
    assert ends(te.max(X, 2), 0, 9) == ["2", "9"]
    assert ends(te.floordiv(8, X), 1, 3) == ["neg_inf: handle", "pos_inf: handle"]
    assert known.int_set(X, {X: tvm.ir.Range(0, 4)}).max_value.value == 3


def test_linear_expressions_give_their_coefficients() -> None:
    found = arith.detect_linear_equation((X * Y + X * 2 - 3) * 2, [X])
    assert tvm.ir.structural_equal(arith.Analyzer().simplify(found[0]), Y * 2 + 4)
    assert found[1].value == -6
    assert arith.detect_linear_equation(X * X, [X]) == []
    assert arith.detect_linear_equation(X * Y, [X, Y]) == []
    assert len(arith.detect_linear_equation(X + 1, [])) == 1


@pytest.mark.parametrize("factor", [3, -3, 1])
def test_a_bound_is_deduced_from_a_condition(factor: int) -> None:
    given = {Y: arith.IntervalSet(-2, 5)}
    conditions: list[tuple[Any, Callable[[int, int], bool]]] = [
        (X * factor + Y < 17, lambda x, y: x * factor + y < 17),
        (X * factor + Y >= 17, lambda x, y: x * factor + y >= 17),
        (X * factor >= 17 - Y, lambda x, y: 17 - y <= x * factor),
    ]
    for condition, holds in conditions:
        found = arith.deduce_bound(X, condition, given, given)
        end = found.max_value if str(found.min_value) == "neg_inf: handle" else found.min_value
        step = 1 if end is found.max_value else -1
        value = arith.Analyzer().simplify(end).value
        assert all(holds(value, y) for y in range(-2, 6))
        assert not all(holds(value + step, y) for y in range(-2, 6))
    assert arith.deduce_bound(X, X + Y, given, {}).is_nothing()
    assert arith.deduce_bound(X, X * 2 - X > Y, given, {}).is_nothing()


def test_remainders_cancel_with_quotients() -> None:
    known = arith.Analyzer()
    whole = te.truncdiv(X, 3) * 3 + te.truncmod(X, 3)
    assert known.simplify(whole) is X
    assert isinstance(known.simplify(te.truncmod(X, 3)), tir.Mod)
    assert known.can_prove_equal(te.truncmod(Y, 5) + te.truncdiv(Y, 5) * 5 - 1, Y - 1)


def test_both_sides_of_a_comparison_are_divided() -> None:
    known = arith.Analyzer()
    known.bind(Y, tvm.ir.Range(0, 8))

    for limit in range(-20, 20):
        for make in (lambda a, b: a < b, lambda a, b: a >= b, lambda a, b: a <= b, lambda a, b: a > b):
            condition = make(X * 8 + Y, limit)
            made = known.simplify(condition)
            for x, y in itertools.product(range(-4, 4), range(8)):
                at = {X: x, Y: y}
                assert value(plain(made), at) == value(plain(condition), at)
    assert tvm.ir.structural_equal(known.simplify(X * 8 + Y < 16), X < 2)


def test_conditions_clip_variables() -> None:
    found = arith.detect_clip_bound(tir.all(X * 2 < Y, X > 3, X <= 40), [X])
    assert arith.Analyzer().simplify(found[0]).value == 4
    assert arith.Analyzer().can_prove_equal(found[1], te.min(te.floordiv(Y - 1, 2), 40))
    lowest, highest, *other = arith.detect_clip_bound(tir.all(X >= 1, Y < 5), [X, Y])
    assert (lowest.value, highest, other[0], other[1].value) == (1, None, None, 4)
    assert arith.detect_clip_bound(X < Y, [X, Y]) == []
    both = arith.detect_clip_bound(tir.all(te.min(X, Y) > 3, X < 10), [X, Y])
    assert [getattr(one, "value", None) for one in both] == [4, 9, 4, None]
    assert arith.detect_clip_bound(te.max(X, Y) > 3, [X]) == []
    exact = arith.deduce_bound(X, (X * 5).equal(-10), {}, {})
    assert (exact.min_value.value, exact.max_value.value) == (-2, -2)
    assert arith.deduce_bound(X, (X * 4).equal(Y), {}, {}).is_nothing()


def test_missing_names_of_arith_are_named() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm.arith.detect_iter_map is not in tvmlite(?s:.*)Analyzer"):
        arith.detect_iter_map([], {})
    with pytest.raises(UnsupportedError, match=r"tvm.arith.Analyzer.enter_scope is not in tvmlite"):
        arith.Analyzer().enter_scope()
    with pytest.raises(tvm.TVMError, match=r"Analyzer.update: info: 3 given, expected a ConstIntBound"):
        arith.Analyzer().update(X, 3)


def test_common_factors_of_quotients_and_remainders_are_cancelled() -> None:
    known, z = arith.Analyzer(), te.var("z")
    known.update(X, arith.ConstIntBound(-3, 3))

    for made, text in (
        (te.truncdiv(X, 4), "0"),
        (te.truncmod(X, 4), "x: int32"),
        (te.truncdiv(te.truncdiv(z, 3), 2), "(z: int32 / 6)"),
        (te.floordiv(te.floordiv(z, 2) * 2, 4), "floordiv(z: int32, 4)"),
        (te.floormod(z * Y * 3, z * 2), "(z: int32*floormod(y: int32, 2))"),
        (te.floordiv(z * 2 * Y * 3, 3 * Y), "(z: int32*2)"),
        (z * -8 + 3 < 16, "(-2 < z: int32)"),
    ):
        assert str(known.simplify(made)) == text


def test_simplified_forms_have_the_same_values() -> None:
    known, z, w = arith.Analyzer(), te.var("z"), te.var("w")
    made = [
        te.floormod(z * w * 6, w * 4),
        te.truncmod(te.truncdiv(te.truncmod(z, 20), 2) * 2, 4),
        te.floordiv(te.floormod(te.floordiv(z, 2), 8), 3),
        (z * -6 + w < 16).astype("int32"),
    ]
    computes = [
        te.compute((19, 12), lambda i, j, one=one: tir.stmt_functor.substitute(one, {z: i - 9, w: j + 1}))
        for one in (*made, *(known.simplify(one) for one in made))
    ]
    found = [tvm.build(te.create_schedule(one.op), [one])() for one in computes]

    for one, other in zip(found[: len(made)], found[len(made) :], strict=True):
        np.testing.assert_array_equal(one, other)


def test_bounds_of_vectors_and_of_unknown_divisors() -> None:
    known = arith.Analyzer()
    known.update(X, arith.ConstIntBound(0, 6))
    known.update(Y, arith.ConstIntBound(-5, 7))

    for made, ends in (
        (te.floormod(X, Y), (-4, 6)),
        (tir.Broadcast(X, 4), (0, 6)),
        (tir.Ramp(X, 2, 4) + 2, (2, 14)),
    ):
        found = known.const_int_bound(made)
        assert (found.min_value, found.max_value) == ends
    z = te.var("z")
    assert known.modular_set((z * 16 + Y * 4) & 31) == arith.ModularSet(4, 0)
    assert known.modular_set(te.truncmod(z * 4, 4)) == arith.ModularSet(4, 0)
