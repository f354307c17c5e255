"""Points at which all that is known holds: what is negative at one has no proof, so none is sought.

Nothing rests on them but time. They are chosen when a scope first asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlite.te.arith.atoms import DIV, MIN, MOD
from tvmlite.te.arith.interval import Interval
from tvmlite.te.arith.polynomial import Poly

if TYPE_CHECKING:
    from tvmlite.te.arith.bounds import Bounds

_SIZES = (5, 1, 64, 19, 2, 1000, 33, 257)
"""What a variable without limits is, point by point: one, small and large, odd and even."""


POINTS = 4
"""With twice as many, more time goes into choosing them than is saved."""


class Point:
    """Values of atoms, chosen or computed when first asked for; ``habit`` makes one point choose otherwise
    than the next. It is ``broken`` if an atom's limits, at this point, leave no value."""

    def __init__(self, habit: int) -> None:
        self.habit, self.broken = habit, False
        self.values: dict[int, int] = {}

    def agrees(self, bounds: Bounds) -> bool:
        """Whether all that is known holds here."""
        for atom in bounds.known.limits:
            if bounds.atoms[atom].args:  # others are chosen within their limits
                self._value(atom, bounds)
        return all(self.at(fact, bounds) >= 0 and not self.broken for fact in bounds.known.facts)

    def at(self, poly: Poly, bounds: Bounds) -> int:
        """The value of ``poly``."""
        total, values = 0, self.values
        for monomial, term in poly.items():
            for atom in monomial:
                value = values.get(atom)
                term *= self._value(atom, bounds) if value is None else value
            total += term
        return total

    def _value(self, number: int, bounds: Bounds) -> int:
        if number not in self.values:
            atom, (low, high) = bounds.atoms[number], bounds.atom(number)
            if atom.args:
                parts = [self.at(arg, bounds) for arg in atom.args]
                self.values[number] = value = _computed(atom.kind, parts)
                self.broken |= not Interval(low, high).contains(value)
            else:
                self.values[number] = 0  # limits may mention each other: the facts they are from decide then
                limits = bounds.known.limits.get(number)
                for limit in limits.lows if limits else ():
                    low = self.at(limit, bounds) if low is None else max(low, self.at(limit, bounds))
                for limit in limits.highs if limits else ():
                    high = self.at(limit, bounds) if high is None else min(high, self.at(limit, bounds))
                self.values[number] = self._chosen(number, low, high)
        return self.values[number]

    def _chosen(self, number: int, low: int | None, high: int | None) -> int:
        """A value between ``low`` and ``high``: of a loop the first, the last, one in the middle or any."""
        if low is not None and high is not None:
            count = high - low + 1
            self.broken |= count < 1
            iterations = 0, count - 1, (self.habit * 7919 + number * 31) % max(1, count), count // 2
            return low + iterations[self.habit % 4]
        size = _SIZES[(self.habit + number) % len(_SIZES)]
        if low is None:
            return high - size if high is not None else -size if self.habit == 1 else size
        return low + size


def _computed(kind: str, parts: list[int]) -> int:
    """A quotient, remainder, minimum or maximum of ``parts``."""
    if kind in (DIV, MOD):
        a, b = parts
        return 0 if b == 0 else a // b if kind == DIV else a % b
    return min(parts) if kind == MIN else max(parts)


class Points:
    """The points of one scope, each made when those before it did not do."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.left = list(range(POINTS))

    def refute(self, poly: Poly, bounds: Bounds) -> bool:
        """Whether ``poly`` is negative at a point that agrees with what ``bounds`` knows."""
        for place, point in enumerate(self.points):
            if point.at(poly, bounds) < 0 and not point.broken:
                if place:  # what refutes once is likely to refute again
                    self.points.insert(0, self.points.pop(place))
                return True
        while self.left:
            point = Point(self.left.pop(0))
            if point.agrees(bounds):
                self.points.append(point)
                if point.at(poly, bounds) < 0 and not point.broken:
                    return True
        return False
