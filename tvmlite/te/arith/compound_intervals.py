"""Intervals of quotients, remainders, minima and maxima."""

from __future__ import annotations

from functools import reduce

from tvmlite.te.arith.atoms import DIV, MIN, MOD
from tvmlite.te.arith.interval import EVERYTHING, Interval, intersect


def compound(kind: str, parts: list[Interval]) -> Interval:
    """The interval of an atom of ``kind`` with arguments in ``parts``."""
    if kind == DIV:
        return floordiv(*parts)
    if kind == MOD:
        return floormod(*parts)
    return reduce(least if kind == MIN else greatest, parts)


def least(a: Interval, b: Interval) -> Interval:
    """The interval of the minimum of two values."""
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return Interval(low, intersect(a, b).high)


def greatest(a: Interval, b: Interval) -> Interval:
    """The interval of the maximum of two values."""
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return Interval(intersect(a, b).low, high)


def floordiv(a: Interval, b: Interval) -> Interval:
    """The interval of floored quotients; ``EVERYTHING`` unless divisors are at least 1."""
    if b.low is None or b.low < 1:
        return EVERYTHING
    low = high = None
    if a.low is not None:
        if a.low >= 0:
            low = 0 if b.high is None else a.low // b.high
        else:
            low = a.low // b.low
    if a.high is not None:
        if a.high >= 0:
            high = a.high // b.low
        else:
            high = -1 if b.high is None else a.high // b.high
    return Interval(low, high)


def floormod(a: Interval, b: Interval) -> Interval:
    """The interval of remainders of floored division; ``EVERYTHING`` unless divisors are at least 1."""
    if b.low is None or b.low < 1:
        return EVERYTHING
    high = None if b.high is None else b.high - 1
    if a.low is not None and a.low >= 0 and a.high is not None:
        high = a.high if high is None else min(high, a.high)
    return Interval(0, high)
