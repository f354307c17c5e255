"""Interval arithmetic, checked against all members of small intervals."""

import itertools

import pytest

from tvmlite.te.arith import compound_intervals
from tvmlite.te.arith import interval as iv
from tvmlite.te.arith.interval import Interval

FAR = 12
ENDS = [None, -3, -1, 0, 2, 4]
INTERVALS = [Interval(a, b) for a, b in itertools.product(ENDS, ENDS) if a is None or b is None or a <= b]


def members(interval: Interval) -> range:
    low = -FAR if interval.low is None else interval.low
    return range(low, (FAR if interval.high is None else interval.high) + 1)


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        (iv.multiply, lambda a, b: a * b),
        (compound_intervals.least, min),
        (compound_intervals.greatest, max),
        (compound_intervals.floordiv, lambda a, b: a // b if b else 0),
        (compound_intervals.floormod, lambda a, b: a % b if b else 0),
    ],
)
def test_every_result_is_in_the_computed_interval(rule: object, number: object) -> None:
    for a, b in itertools.product(INTERVALS, INTERVALS):
        found = rule(a, b)  # type: ignore[operator]
        for x, y in itertools.product(members(a), members(b)):
            assert found.contains(number(x, y)), (a, b, x, y, found)  # type: ignore[operator]


def test_scaling_and_intersecting_intervals() -> None:
    assert iv.scale(Interval(1, None), -2) == Interval(None, -2)
    assert iv.scale(Interval(None, None), 0) == Interval(0, 0)
    assert iv.intersect(Interval(1, 6), Interval(None, 3)) == Interval(1, 3)
    assert Interval(3, 3).is_single
    assert not Interval(None, None).is_single
