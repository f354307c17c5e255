"""Sample points that satisfy all knowledge: a polynomial negative at one of them cannot be proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias
from weakref import WeakMethod

from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import DIV, MAX, MIN, MOD, VAR, Atoms
from tvmlite.te.arith.interval import Interval
from tvmlite.te.arith.polynomial import Poly

_SIZES = (5, 1, 64, 19, 2, 1000, 33, 257)
"""The value of an unbound variable, point by point: one, small and large, odd and even ones."""

_TRIES = 4
"""How many variables are tried, one at a time, to move a point back into the assumed region."""


class Point(NamedTuple):
    """Values by atom: chosen for variables and opaque atoms, computed for others. ``seed`` varies the
    choices between points."""

    seed: int
    values: dict[int, int]


SavedPoints: TypeAlias = tuple[list[Point], bool]
"""Points, and whether they are shared with an outer scope."""


class Samples:
    """A few assignments of integers to atoms that satisfy everything known.

    They only save time: a polynomial that is negative at one of them is not always at least 0, so the search
    for a proof would fail. ``interval_of``, a method of the object that owns the samples, returns the
    interval of an atom.
    """

    def __init__(self, atoms: Atoms, interval_of: Callable[[int], Interval]) -> None:
        self.atoms = atoms
        self._interval_of = WeakMethod(interval_of)  # avoids a reference cycle
        self.points = [Point(seed, {}) for seed in range(len(_SIZES))]
        self._shared = False

    def interval_of(self, atom: int) -> Interval:
        """The interval of ``atom``."""
        ask = self._interval_of()
        assert ask is not None, "samples are asked by the bounds they are of"
        return ask(atom)

    def enter(self) -> SavedPoints:
        """Begin a scope: ``leave`` undoes changes of points since."""
        outer = self.points, self._shared
        self._shared = True  # copied on the first change: often there is none
        return outer

    def leave(self, outer: SavedPoints) -> None:
        """Undo everything since ``enter``, which returned ``outer``."""
        self.points, self._shared = outer

    def _copy_if_shared(self) -> None:
        if self._shared:
            self.points = [Point(one.seed, dict(one.values)) for one in self.points]
            self._shared = False

    def refute(self, poly: Poly) -> bool:
        """Whether ``poly`` is negative at some point."""
        self._copy_if_shared()
        for place, point in enumerate(self.points):
            if self.at(poly, point) < 0:
                if place:  # a point that refutes once is likely to refute again
                    self.points.insert(0, self.points.pop(place))
                return True
        return False

    def at(self, poly: Poly, point: Point) -> int:
        """The value of ``poly`` at ``point``."""
        total, values = 0, point.values
        for monomial, term in poly.items():
            for atom in monomial:
                value = values.get(atom)
                term *= self._value(atom, point) if value is None else value
            total += term
        return total

    def bind(self, number: int, low: Poly, extent: Poly) -> None:
        """Declare that the variable ``number`` is in ``[low, low + extent)``."""
        if p.value_of(low) is not None and (p.value_of(extent) or 0) > 0:
            for point in self.points:
                if number in point.values:
                    break
            else:
                return  # its value is chosen on first use: its interval is all that is known
        self._copy_if_shared()
        kept = []
        for point in self.points:
            count = self.at(extent, point)
            if count < 1:
                continue
            value = self.at(low, point) + _iteration(point.seed, number, count)
            if number in point.values:
                point = self._with_value(point, number, value)
            point.values[number] = value
            kept.append(point)
        self.points = kept

    def assume(self, poly: Poly, known: Callable[[], Iterable[Poly]]) -> None:
        """Assume that ``poly`` is never negative: points where it is are moved or dropped. ``known`` are all
        polynomials that must not be negative."""
        self._copy_if_shared()
        if any(_is_empty(self.interval_of(atom)) for monomial in poly for atom in monomial):
            self.points = []
        kept = []
        for point in self.points:
            if self.at(poly, point) >= 0:
                kept.append(point)
            elif (moved := self._repaired(poly, point, known)) is not None:
                kept.append(moved)
        self.points = kept

    def _repaired(self, poly: Poly, point: Point, known: Callable[[], Iterable[Poly]]) -> Point | None:
        """``point`` with one variable moved just enough to make ``poly`` nonnegative; None if that violates
        other knowledge."""
        variables = {a for monomial in poly for a in monomial if self.atoms[a].kind == VAR}
        for number in sorted(variables, reverse=True)[:_TRIES]:
            parts = p.split(poly, number)
            if parts is None:
                continue
            factor, rest = self.at(parts[0], point), self.at(parts[1], point)
            if factor == 0:
                continue
            value = -(rest // factor) if factor > 0 else rest // -factor
            moved = self._with_value(point, number, value)
            if self.interval_of(number).contains(value) and all(self.at(one, moved) >= 0 for one in known()):
                return moved
        return None

    def _with_value(self, point: Point, number: int, value: int) -> Point:
        """``point`` with another value of a variable; computed values are dropped."""
        given = {a: v for a, v in point.values.items() if not self.atoms[a].args}
        given[number] = value
        return Point(point.seed, given)

    def _value(self, number: int, point: Point) -> int:
        atom = self.atoms[number]
        if not atom.args:
            point.values[number] = value = self._default_value(number, point.seed)
            return value
        parts = [self.at(arg, point) for arg in atom.args]
        if atom.kind in (DIV, MOD):
            a, b = parts
            value = 0 if b == 0 else a // b if atom.kind == DIV else a % b
        else:
            assert atom.kind in (MIN, MAX)
            value = min(parts) if atom.kind == MIN else max(parts)
        point.values[number] = value
        return value

    def _default_value(self, number: int, seed: int) -> int:
        """The value of a variable or opaque atom that was not given one."""
        low, high = self.interval_of(number)
        if low is not None and high is not None:
            return low + _iteration(seed, number, high - low + 1)
        value = _SIZES[(seed + number) % len(_SIZES)]
        if low is not None:
            return low + value
        if high is not None:
            return high - value
        return -value if seed == 1 else value


def _iteration(seed: int, number: int, count: int) -> int:
    """One iteration of a loop of ``count``: the first, last, middle or any other, depending on ``seed``."""
    return (0, count - 1, (seed * 7919 + number * 31) % count, count // 2)[seed % 4] if count > 0 else 0


def _is_empty(interval: Interval) -> bool:
    return interval.low is not None and interval.high is not None and interval.low > interval.high
