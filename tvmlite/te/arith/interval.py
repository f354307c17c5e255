"""Ranges of integers with open ends, and the arithmetic on them."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """All integers from ``low`` to ``high``, both included; None means unbounded on that side."""

    low: int | None
    high: int | None

    @property
    def is_single(self) -> bool:
        """Whether just one integer is left."""
        return self.low is not None and self.low == self.high

    def contains(self, value: int) -> bool:
        """Whether ``value`` lies in the interval; an open end has no limit."""
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


EVERYTHING = Interval(None, None)


def add(a: Interval, b: Interval) -> Interval:
    """All sums."""
    return Interval(
        None if a.low is None or b.low is None else a.low + b.low,
        None if a.high is None or b.high is None else a.high + b.high,
    )


def scale(a: Interval, factor: int) -> Interval:
    """All products with ``factor``."""
    low = None if a.low is None else a.low * factor
    high = None if a.high is None else a.high * factor
    if factor == 0:
        return Interval(0, 0)
    return Interval(low, high) if factor > 0 else Interval(high, low)


def multiply(a: Interval, b: Interval) -> Interval:
    """All products."""
    if b.is_single:
        return scale(a, b.low)  # type: ignore[arg-type]
    if a.is_single:
        return scale(b, a.low)  # type: ignore[arg-type]
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return Interval(a.low * b.low, None if a.high is None or b.high is None else a.high * b.high)
    if None in a or None in b:
        return EVERYTHING
    corners = [x * y for x in a for y in b]  # type: ignore[operator]
    return Interval(min(corners), max(corners))


def meet(a: Interval, b: Interval) -> Interval:
    """What lies in both."""
    low = b.low if a.low is None else a.low if b.low is None else max(a.low, b.low)
    high = b.high if a.high is None else a.high if b.high is None else min(a.high, b.high)
    return Interval(low, high)


def least(a: Interval, b: Interval) -> Interval:
    """All minima of one of each."""
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return Interval(low, meet(a, b).high)


def greatest(a: Interval, b: Interval) -> Interval:
    """All maxima of one of each."""
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return Interval(meet(a, b).low, high)


def floordiv(a: Interval, b: Interval) -> Interval:
    """All quotients, rounded down, by divisors that are at least 1; else everything."""
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
    """All remainders of floored division by divisors that are at least 1; else everything."""
    if b.low is None or b.low < 1:
        return EVERYTHING
    high = None if b.high is None else b.high - 1
    if a.low is not None and a.low >= 0 and a.high is not None:
        high = a.high if high is None else min(high, a.high)
    return Interval(0, high)
