"""Intervals hold every value of an index, and are tight where that can be decided."""

from __future__ import annotations

import itertools
import random

import pytest

from tvmlite import te
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.lowering.intervals import evaluate, union
from tvmlite.te.schedule.relations import Interval

x, y, z = (e.Var(name, "int64") for name in "xyz")
n = e.SizeVar("n", "int64")


@pytest.mark.parametrize(
    ("index", "low", "width"),
    [
        (x + y, z * 4 + 1, 5),
        (x - y, z * 4 - 3, 5),
        (x * 2 + y, z * 8 + 1, 8),
        (x * -2, z * -8 - 6, 6),
        (x // 4, z, 0),
        (x // 2, z * 2, 1),
        (x // 3, z * 4 // 3, 1),
        (x % 4, 0, 3),
        (x % 8, z * 4 % 8, 3),
        (x % 3, 0, 2),
        (e.Min(x, e.const(9, "int64")), te.min(z * 4, 9), 3),
        (x * n, z * n * 4, n * 3),
        (e.Select(x < 3, x, x + 2), z * 4, 5),
        (te.const(5), 5, 0),
    ],
)
def test_the_interval_of_an_index_over_a_tile(index, low, width) -> None:
    analyzer = Analyzer()
    analyzer.bind(z, 0, 10)
    found = evaluate(index, {x: Interval(z * 4, 3), y: Interval(1, 2)}, analyzer)

    assert found is not None
    assert analyzer.equal(found.low, low)
    assert analyzer.equal(found.width, width)
    assert isinstance(found.width, int) == isinstance(width, int)


@pytest.mark.parametrize("index", [x // n, x % (n - 3), te.power(te.cast("float32", x), 2.0).astype("int64")])
def test_some_indices_have_no_known_interval(index) -> None:
    assert evaluate(index, {x: Interval(0, 7)}, Analyzer()) is None


def test_a_union_spans_both_intervals() -> None:
    analyzer = Analyzer()
    assert union(Interval(z + 5, 2), Interval(z, 3), analyzer) is not None
    low, width = union(Interval(z + 5, 2), Interval(z, 3), analyzer) or (0, 0)
    assert analyzer.equal(low, z)
    assert width == 7
    assert union(Interval(z, 1), Interval(y, 1), analyzer) is None
    assert union(Interval(0, 1), None, analyzer) is None


def random_index(rnd: random.Random, depth: int) -> e.Expr:
    if depth == 0:
        return rnd.choice([x, y, z, e.const(rnd.randint(-5, 9), "int64")])
    a, b = random_index(rnd, depth - 1), random_index(rnd, depth - 1)
    number = e.const(rnd.randint(1, 5), "int64")
    make = rnd.choice([e.Add, e.Sub, e.Min, e.Max, e.Mul, e.FloorDiv, e.FloorMod])
    return e.fold(make, a, number if make in (e.Mul, e.FloorDiv, e.FloorMod) else b)


def value(expr: e.Expr, at: dict[e.Expr, int]) -> int:
    match expr:
        case e.Const():
            return int(expr.value)
        case e.Var():
            return at[expr]
        case e.Binary():
            folded = e.fold(type(expr), *(e.const(value(s, at), "int64") for s in (expr.a, expr.b)))
            assert isinstance(folded, e.Const)
            return int(folded.value)
    raise AssertionError(expr)


def test_random_indices_stay_in_their_intervals() -> None:
    rnd = random.Random(0)
    for _ in range(300):
        index = random_index(rnd, rnd.randint(1, 3))
        analyzer = Analyzer()
        analyzer.bind(z, 0, 4)
        found = evaluate(index, {x: Interval(z * 3 - 1, 4), y: Interval(2, 3)}, analyzer)
        assert found is not None, str(index)
        for outer in range(4):
            low = value(e.convert(found.low, "int64"), {z: outer})
            high = low + value(e.convert(found.width, "int64"), {z: outer})
            for dx, dy in itertools.product(range(5), range(4)):
                assert low <= value(index, {z: outer, x: outer * 3 - 1 + dx, y: 2 + dy}) <= high, str(index)
