"""Intervals of integers, possibly unbounded, and their arithmetic."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """All integers from ``low`` to ``high``, both inclusive; None means unbounded on that side."""

    low: int | None
    high: int | None

    @property
    def is_single(self) -> bool:
        """Whether the interval holds a single integer."""
        return self.low is not None and self.low == self.high

    def contains(self, value: int) -> bool:
        """Whether ``value`` is in the interval."""
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


EVERYTHING = Interval(None, None)


def scale(a: Interval, factor: int) -> Interval:
    """The interval of products with ``factor``."""
    low = None if a.low is None else a.low * factor
    high = None if a.high is None else a.high * factor
    if factor == 0:
        return Interval(0, 0)
    return Interval(low, high) if factor > 0 else Interval(high, low)


def multiply(a: Interval, b: Interval) -> Interval:
    """The interval of products."""
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


def intersect(a: Interval, b: Interval) -> Interval:
    """The intersection."""
    low = b.low if a.low is None else a.low if b.low is None else max(a.low, b.low)
    high = b.high if a.high is None else a.high if b.high is None else min(a.high, b.high)
    return Interval(low, high)
