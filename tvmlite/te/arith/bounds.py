"""Knowledge about atoms, and proofs from it that a polynomial is never negative."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import interval as iv
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import DIV, MAX, MIN, MOD, VAR, Atom, Atoms
from tvmlite.te.arith.interval import EVERYTHING, Interval
from tvmlite.te.arith.polynomial import Poly
from tvmlite.te.extensions import extension

if TYPE_CHECKING:
    from tvmlite.te.arith.samples import Samples, SavedPoints

BUDGET = 160
"""The maximum number of steps of a proof. Proofs for real kernels take under 30."""

DEPTH = 14
"""The maximum depth of a proof, in steps."""


class Limits(NamedTuple):
    """Knowledge about an atom: an interval, and polynomials that bound it below (``lows``) and above.

    ``order`` increases with each binding: the variables of inner loops, whose limits may contain outer ones,
    have a greater order and are eliminated first. ``exact`` is the atom's value if only one is possible.
    """

    interval: Interval = EVERYTHING
    lows: tuple[Poly, ...] = ()
    highs: tuple[Poly, ...] = ()
    order: int = 0
    exact: Poly | None = None


@dataclass
class Knowledge:
    """The current knowledge: limits of atoms, facts (polynomials never negative), and conclusions."""

    limits: dict[int, Limits] = field(default_factory=dict)
    facts: tuple[Poly, ...] = ()
    intervals: dict[int, Interval] = field(default_factory=dict)
    proved: dict[p.Key, bool] = field(default_factory=dict)


SavedKnowledge: TypeAlias = "tuple[Knowledge, SavedPoints | None]"
"""The state that ``Bounds.enter`` saves for ``leave``."""


class Bounds:
    """Intervals of polynomials from bindings, and proofs; proofs by more than intervals are in ``proofs``."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.knowledge = Knowledge()
        self.samples: Samples | None = None
        """Created when something symbolic is known, or a proof is needed; before, intervals suffice."""
        self.steps_left = 0
        """The remaining steps of the current proof."""
        self._order = 0

    # -- knowledge

    def enter(self) -> SavedKnowledge:
        """Begin a scope: ``leave`` forgets what was learnt since."""
        outer = self.knowledge
        self.knowledge = Knowledge(dict(outer.limits), outer.facts)
        return outer, None if self.samples is None else self.samples.enter()

    def leave(self, outer: SavedKnowledge) -> None:
        """Forget everything since ``enter``, which returned ``outer``."""
        self.knowledge, saved_points = outer
        if saved_points is None:
            self.samples = None
        elif self.samples is not None:
            self.samples.leave(saved_points)

    def bind(self, atom: int, low: Poly, extent: Poly) -> None:
        """Declare that ``atom`` is in ``[low, low + extent)``, which is not empty."""
        first, count = p.value_of(low), p.value_of(extent)
        if count is None:
            self.assume(p.add(extent, p.constant(-1)))
        self._order += 1
        lows: tuple[Poly, ...] = ()
        highs: tuple[Poly, ...] = ()
        if first is not None and count is not None:  # as for most loops
            interval = Interval(first, first + count - 1)
        else:
            high = p.add(p.add(low, extent), p.constant(-1))
            interval = Interval(self.interval(low).low, self.interval(high).high)
            lows = () if first is not None else (low,)
            highs = () if p.value_of(high) is not None else (high,)
        fresh = atom not in self.knowledge.limits and atom not in self.knowledge.intervals
        self.knowledge.limits[atom] = Limits(interval, lows, highs, self._order, low if count == 1 else None)
        if not fresh:
            self.forget()
        if self.samples is not None or first is None or (count or 0) < 1:
            extension("proofs").samples_of(self).bind(atom, low, extent)

    def assume(self, poly: Poly) -> None:
        """Assume that ``poly`` is never negative."""
        if p.value_of(poly) is not None:
            return
        self.forget()
        terms = [(m, c) for m, c in poly.items() if m]
        if len(terms) != 1 or len(terms[0][0]) != 1:
            extension("proofs").learn(self, poly)
        elif not self._limit(terms[0][0][0], terms[0][1], poly.get((), 0)) or self.samples is not None:
            extension("proofs").restrict_samples(self, poly)

    def _limit(self, atom: int, factor: int, rest: int) -> bool:
        """Assume ``factor * atom + rest >= 0``. Return whether the atom's interval expresses this fully."""
        limit = Interval(-(rest // factor), None) if factor > 0 else Interval(None, rest // -factor)
        old = self.knowledge.limits.get(atom, Limits())
        self.knowledge.limits[atom] = old._replace(interval=iv.intersect(old.interval, limit))
        low, high = self.atom(atom)
        return not self.atoms[atom].args and (low is None or high is None or low <= high)

    def value(self, atom: int) -> Poly | None:
        """The value of ``atom`` if only one is possible, else None."""
        limits = self.knowledge.limits.get(atom)
        if limits is None:
            return None
        low, high = limits.interval
        return p.constant(low) if low is not None and low == high else limits.exact

    def forget(self) -> None:
        """Invalidate the conclusions from limits and facts, which have changed."""
        self.knowledge.intervals, self.knowledge.proved = {}, {}

    # -- intervals

    def interval(self, poly: Poly) -> Interval:
        """An interval that contains all values of ``poly``."""
        low: int | None = 0
        high: int | None = 0
        for monomial, c in poly.items():
            if not monomial:
                least = greatest = c
            else:
                found = self.atom(monomial[0])
                for atom in monomial[1:]:
                    found = iv.multiply(found, self.atom(atom))
                least, greatest = found if c > 0 else (found[1], found[0])
                least = None if least is None else least * c
                greatest = None if greatest is None else greatest * c
            low = None if low is None or least is None else low + least
            high = None if high is None or greatest is None else high + greatest
        return Interval(low, high)

    def atom(self, number: int) -> Interval:
        """An interval that contains all values of an atom."""
        known = self.knowledge.intervals.get(number)
        if known is None:
            known = self._atom(number)
            limits = self.knowledge.limits.get(number)
            if limits is not None:
                known = iv.intersect(known, limits.interval)
            self.knowledge.intervals[number] = known
        return known

    def _atom(self, number: int) -> Interval:
        atom = self.atoms[number]
        if atom.kind == VAR:
            return Interval(0, None) if isinstance(atom.expr, e.SizeVar) else EVERYTHING
        if atom.args:
            parts = [self.interval(a) for a in atom.args]
            return extension("compound_intervals").compound(atom.kind, parts)
        return _opaque(atom.expr)

    # -- proofs

    def prove_nonnegative(self, poly: Poly) -> bool:
        """Whether ``poly >= 0`` is proved; False means "not shown"."""
        self.steps_left = BUDGET
        return self.nonnegative(poly, 0)

    def prove_positive(self, poly: Poly) -> bool:
        """Whether ``poly >= 1`` is proved."""
        return self.prove_nonnegative(p.add(poly, p.constant(-1)))

    def prove_within(self, poly: Poly, end: Poly) -> bool:
        """Whether ``0 <= poly < end`` is proved."""
        return self.prove_nonnegative(poly) and self.prove_positive(p.add(end, poly, -1))

    def nonnegative(self, poly: Poly, depth: int) -> bool:
        """Whether ``poly >= 0`` is proved as part of a proof, at ``depth``."""
        low, high = self.interval(poly)
        if low is not None and low >= 0:
            return True
        if (high is not None and high < 0) or depth > DEPTH or self.steps_left <= 0:
            return False
        return self._is_more_known(poly) and extension("proofs").search(self, poly, depth)

    def _is_more_known(self, poly: Poly) -> bool:
        """Whether more than the intervals of its atoms is known about ``poly``."""
        if self.knowledge.facts:
            return True
        for monomial in poly:
            for atom in monomial:
                limits = self.knowledge.limits.get(atom)
                if limits is not None and (len(monomial) > 1 or limits.lows or limits.highs):
                    return True
                if is_compound(self.atoms[atom]):
                    return True
        return False


def is_compound(atom: Atom) -> bool:
    """Whether the arguments of ``atom`` give limits beyond its interval."""
    return atom.kind in (DIV, MIN, MAX) or (atom.kind == MOD and p.value_of(atom.args[1]) is None)


def _opaque(expr: e.Expr | None) -> Interval:
    if isinstance(expr, e.Cast) and (expr.value.dtype == "bool" or dtypes.is_int(expr.value.dtype)):
        if dtypes.bits(expr.value.dtype) < dtypes.bits(expr.dtype):
            low, high = dtypes.limits(expr.value.dtype)
            return Interval(int(low), int(high))
    if isinstance(expr, e.Cast) and expr.dtype == "int32" and expr.value.dtype == "int64":
        return Interval(-(2**31), 2**31 - 1)
    return EVERYTHING
