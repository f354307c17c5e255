"""Points at which all that is known holds: what is negative at one has no proof, so none is sought."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias
from weakref import WeakMethod

from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import DIV, MAX, MIN, MOD, VAR, Atoms
from tvmlite.te.arith.interval import Interval
from tvmlite.te.arith.polynomial import Poly

_SIZES = (5, 1, 64, 19, 2, 1000, 33, 257)
"""What a variable that nothing binds is, point by point: one, small and large, odd and even."""

_TRIES = 4
"""Variables that are moved, one at a time, to keep a point in what is assumed."""


class Point(NamedTuple):
    """Values by atom: given ones of variables and opaque atoms, computed ones of the others. ``habit``
    is what makes one point choose otherwise than the next."""

    habit: int
    values: dict[int, int]


Held: TypeAlias = tuple[list[Point], bool]
"""Points, and whether they are another's too."""


class Samples:
    """A few assignments of numbers to atoms that agree with everything known.

    Nothing rests on them but time: a polynomial that is negative at one is not always at least 0, so the
    search for a proof would fail. ``natural``, a method of what keeps them, gives the interval that an atom
    stays in.
    """

    def __init__(self, atoms: Atoms, natural: Callable[[int], Interval]) -> None:
        self.atoms = atoms
        self._asked = WeakMethod(natural)  # a cycle were freed by the collector only
        self.points = [Point(habit, {}) for habit in range(len(_SIZES))]
        self._shared = False

    def natural(self, atom: int) -> Interval:
        """The interval that ``atom`` stays in."""
        ask = self._asked()
        assert ask is not None, "samples are asked by the bounds they are of"
        return ask(atom)

    def enter(self) -> Held:
        """Begin a part at whose end, ``leave``, what happened to the points in it is undone."""
        outer = self.points, self._shared
        self._shared = True  # they are copied when they change first: often they do not
        return outer

    def leave(self, outer: Held) -> None:
        """Undo all since ``enter``, which gave ``outer``."""
        self.points, self._shared = outer

    def _own(self) -> None:
        if self._shared:
            self.points = [Point(one.habit, dict(one.values)) for one in self.points]
            self._shared = False

    def refute(self, poly: Poly) -> bool:
        """Whether ``poly`` is negative at some point."""
        self._own()
        for place, point in enumerate(self.points):
            if self.at(poly, point) < 0:
                if place:  # what refutes once is likely to refute again
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
        """The variable ``number`` is in ``[low, low + extent)``."""
        if p.value_of(low) is not None and (p.value_of(extent) or 0) > 0:
            for point in self.points:
                if number in point.values:
                    break
            else:
                return  # its value is chosen when first asked for: the interval is all there is to know
        self._own()
        kept = []
        for point in self.points:
            count = self.at(extent, point)
            if count < 1:
                continue
            value = self.at(low, point) + _iteration(point.habit, number, count)
            if number in point.values:
                point = self._moved(point, number, value)
            point.values[number] = value
            kept.append(point)
        self.points = kept

    def assume(self, poly: Poly, known: Callable[[], Iterable[Poly]]) -> None:
        """``poly`` is never negative: points where it is are moved or go. ``known`` are all polynomials that
        must not be negative."""
        self._own()
        if any(_is_empty(self.natural(atom)) for monomial in poly for atom in monomial):
            self.points = []
        kept = []
        for point in self.points:
            if self.at(poly, point) >= 0:
                kept.append(point)
            elif (moved := self._repaired(poly, point, known)) is not None:
                kept.append(moved)
        self.points = kept

    def _repaired(self, poly: Poly, point: Point, known: Callable[[], Iterable[Poly]]) -> Point | None:
        """``point`` with one variable moved as little as makes ``poly`` 0 or more; None if that breaks
        anything else that is known."""
        variables = {a for monomial in poly for a in monomial if self.atoms[a].kind == VAR}
        for number in sorted(variables, reverse=True)[:_TRIES]:
            parts = p.split(poly, number)
            if parts is None:
                continue
            factor, rest = self.at(parts[0], point), self.at(parts[1], point)
            if factor == 0:
                continue
            value = -(rest // factor) if factor > 0 else rest // -factor
            moved = self._moved(point, number, value)
            if self.natural(number).contains(value) and all(self.at(one, moved) >= 0 for one in known()):
                return moved
        return None

    def _moved(self, point: Point, number: int, value: int) -> Point:
        """``point`` with another value of a variable; what was computed is computed again."""
        given = {a: v for a, v in point.values.items() if not self.atoms[a].args}
        given[number] = value
        return Point(point.habit, given)

    def _value(self, number: int, point: Point) -> int:
        atom = self.atoms[number]
        if not atom.args:
            point.values[number] = value = self._natural(number, point.habit)
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

    def _natural(self, number: int, habit: int) -> int:
        """The value of a variable (or of an opaque atom) nobody gave one."""
        low, high = self.natural(number)
        if low is not None and high is not None:
            return low + _iteration(habit, number, high - low + 1)
        value = _SIZES[(habit + number) % len(_SIZES)]
        if low is not None:
            return low + value
        if high is not None:
            return high - value
        return -value if habit == 1 else value


def _iteration(habit: int, number: int, count: int) -> int:
    """The first, the last, one in the middle or any other iteration of a loop of ``count``."""
    return (0, count - 1, (habit * 7919 + number * 31) % count, count // 2)[habit % 4] if count > 0 else 0


def _is_empty(interval: Interval) -> bool:
    return interval.low is not None and interval.high is not None and interval.low > interval.high
