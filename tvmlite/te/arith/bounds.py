"""What is known of atoms, and proofs from it that a polynomial is never negative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import interval as iv
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import DIV, MAX, MIN, MOD, VAR, Atom, Atoms
from tvmlite.te.arith.interval import EVERYTHING, Interval
from tvmlite.te.arith.polynomial import Poly
from tvmlite.te.arith.samples import Held, Samples

_BUDGET = 160
"""Steps of one proof; a proof that needs more is given up. The proofs of real kernels take under 30."""

_DEPTH = 14


class Limits(NamedTuple):
    """What is known of an atom: numbers, and polynomials it is at least or at most.

    ``order`` grows with each binding: inner loops' variables, whose limits may mention outer ones, have
    a greater one and are eliminated first. ``exact`` is the only value it may have, if there is but one.
    """

    interval: Interval = EVERYTHING
    lows: tuple[Poly, ...] = ()
    highs: tuple[Poly, ...] = ()
    order: int = 0
    exact: Poly | None = None


@dataclass
class _Knowledge:
    limits: dict[int, Limits] = field(default_factory=dict)
    facts: tuple[Poly, ...] = ()
    intervals: dict[int, Interval] = field(default_factory=dict)
    proved: dict[p.Key, bool] = field(default_factory=dict)


class Bounds:
    """Intervals of polynomials, and symbolic proofs, from bindings and facts."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self._now = _Knowledge()
        self._samples = Samples(atoms, self.atom)
        self._order = 0
        self._left = 0

    # -- what is known

    def enter(self) -> tuple[_Knowledge, Held]:
        """Begin a part at whose end, ``leave``, what was learnt in it is forgotten."""
        outer = self._now
        self._now = _Knowledge(dict(outer.limits), outer.facts)
        return outer, self._samples.enter()

    def leave(self, outer: tuple[_Knowledge, Held]) -> None:
        """Forget all since ``enter``, which gave ``outer``."""
        self._now, held = outer
        self._samples.leave(held)

    def bind(self, atom: int, low: Poly, extent: Poly) -> None:
        """``atom`` is in ``[low, low + extent)``, which is not empty."""
        first, count = p.value_of(low), p.value_of(extent)
        if count is None:
            self.assume(p.add(extent, p.constant(-1)))
        self._order += 1
        lows: tuple[Poly, ...] = ()
        highs: tuple[Poly, ...] = ()
        if first is not None and count is not None:  # as of most loops
            interval = Interval(first, first + count - 1)
        else:
            high = p.add(p.add(low, extent), p.constant(-1))
            interval = Interval(self.interval(low).low, self.interval(high).high)
            lows = () if first is not None else (low,)
            highs = () if p.value_of(high) is not None else (high,)
        fresh = atom not in self._now.limits and atom not in self._now.intervals
        self._now.limits[atom] = Limits(interval, lows, highs, self._order, low if count == 1 else None)
        if not fresh:
            self._forget()
        self._samples.bind(atom, low, extent)

    def assume(self, poly: Poly) -> None:
        """``poly`` is never negative."""
        if p.value_of(poly) is not None:
            return
        self._learn(poly)
        self._samples.assume(poly, self._known)

    def _known(self) -> Iterator[Poly]:
        """All polynomials that are never negative by assumption."""
        for atom, limits in self._now.limits.items():
            value, (low, high) = {(atom,): 1}, limits.interval
            for limit in (*limits.lows, *(() if low is None else (p.constant(low),))):
                yield p.add(value, limit, -1)
            for limit in (*limits.highs, *(() if high is None else (p.constant(high),))):
                yield p.add(limit, value, -1)
        yield from self._now.facts

    def _learn(self, poly: Poly) -> None:
        self._forget()
        terms = [(m, c) for m, c in poly.items() if m]
        if len(terms) == 1 and len(terms[0][0]) == 1:
            (atom,), factor = terms[0]
            limit = -((poly.get((), 0)) // factor) if factor > 0 else poly.get((), 0) // -factor
            found = Interval(limit, None) if factor > 0 else Interval(None, limit)
            old = self._now.limits.get(atom, Limits())
            meet = iv.meet(old.interval, found)
            self._now.limits[atom] = old._replace(interval=meet)
            return
        self._now.facts = (*self._now.facts, poly)
        self._limit_factors(poly)
        self._limit_the_inmost(poly)

    def _limit_factors(self, poly: Poly) -> None:
        """Where ``a * (...) >= 1`` and ``a >= 0``, ``a`` is at least 1: no extent is 0 inside its loop."""
        if poly.get((), 0) >= 0:
            return
        common = set.intersection(*(set(m) for m in poly if m))
        for atom in common:
            if self.atom(atom).low == 0:
                old = self._now.limits.get(atom, Limits())
                self._now.limits[atom] = old._replace(interval=iv.meet(old.interval, Interval(1, None)))
                self._forget()

    def _limit_the_inmost(self, poly: Poly) -> None:
        """Turn ``v + rest >= 0`` into a limit of the variable that was bound last."""
        limits = self._now.limits
        candidates = [m[0] for m, c in poly.items() if len(m) == 1 and abs(c) == 1 and m[0] in limits]
        if not candidates:
            return
        atom = max(candidates, key=lambda a: limits[a].order)
        parts = p.split(poly, atom)
        if parts is None or p.value_of(parts[0]) not in (1, -1):
            return
        factor, rest, old = p.value_of(parts[0]), parts[1], limits[atom]
        if any(atom in self.atoms[a].needs for m in rest for a in m):
            return
        if factor == 1:
            limits[atom] = old._replace(lows=(*old.lows, p.scale(rest, -1)))
        else:
            limits[atom] = old._replace(highs=(*old.highs, rest))

    def value(self, atom: int) -> Poly | None:
        """What ``atom`` is, if only one value is possible."""
        limits = self._now.limits.get(atom)
        if limits is None:
            return None
        low, high = limits.interval
        return p.constant(low) if low is not None and low == high else limits.exact

    def _forget(self) -> None:
        self._now.intervals, self._now.proved = {}, {}

    # -- intervals

    def interval(self, poly: Poly) -> Interval:
        """All values ``poly`` may take lie in it."""
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
        """All values an atom may take lie in it."""
        known = self._now.intervals.get(number)
        if known is None:
            known = self._atom(number)
            limits = self._now.limits.get(number)
            if limits is not None:
                known = iv.meet(known, limits.interval)
            self._now.intervals[number] = known
        return known

    def _atom(self, number: int) -> Interval:
        atom = self.atoms[number]
        if atom.kind == VAR:
            return Interval(0, None) if isinstance(atom.expr, e.SizeVar) else EVERYTHING
        parts = [self.interval(a) for a in atom.args]
        if atom.kind == DIV:
            return iv.floordiv(parts[0], parts[1])
        if atom.kind == MOD:
            return iv.floormod(parts[0], parts[1])
        if atom.kind in (MIN, MAX):
            combine = iv.least if atom.kind == MIN else iv.greatest
            result = parts[0]
            for part in parts[1:]:
                result = combine(result, part)
            return result
        return _opaque(atom.expr)

    def put_least(self, poly: Poly, atom: int) -> Poly | None:
        """A lower bound of ``poly`` without the variable ``atom``; None if there is none."""
        parts = p.split(poly, atom)
        if parts is None:
            return None
        if not parts[0]:
            return poly
        sign, limits = self._sign(parts[0]), self._now.limits.get(atom, Limits())
        symbolic = limits.lows if sign > 0 else limits.highs
        number = limits.interval.low if sign > 0 else limits.interval.high
        if not sign or (number is None and not symbolic):
            return None
        value = p.constant(number) if number is not None else symbolic[0]
        return p.add(parts[1], p.multiply(parts[0], value))

    # -- proofs

    def prove_nonnegative(self, poly: Poly) -> bool:
        """Whether ``poly >= 0`` follows from what is known; False means "not shown"."""
        self._left = _BUDGET
        return self._nonnegative(poly, 0)

    def prove_positive(self, poly: Poly) -> bool:
        """Whether ``poly >= 1`` follows from what is known."""
        return self.prove_nonnegative(p.add(poly, p.constant(-1)))

    def prove_within(self, poly: Poly, end: Poly) -> bool:
        """Whether ``0 <= poly < end`` follows from what is known."""
        return self.prove_nonnegative(poly) and self.prove_positive(p.add(end, poly, -1))

    def _nonnegative(self, poly: Poly, depth: int) -> bool:
        low, high = self.interval(poly)
        if low is not None and low >= 0:
            return True
        if (high is not None and high < 0) or depth > _DEPTH or self._left <= 0:
            return False
        if self._samples.refute(poly):
            return False
        self._left -= 1
        key = p.key_of(poly)
        known = self._now.proved.get(key)
        if known is None:
            known = self._by_fact(poly) or self._by_elimination(poly, depth)
            if known or self._left > 0:
                self._now.proved[key] = known
        return known

    def _by_fact(self, poly: Poly) -> bool:
        for fact in self._now.facts:
            for monomial, c in fact.items():
                mine = poly.get(monomial, 0)
                if monomial and mine * c > 0 and mine % c == 0:
                    low = self.interval(p.add(poly, fact, -(mine // c))).low
                    if low is not None and low >= 0:
                        return True
        return False

    def _by_elimination(self, poly: Poly, depth: int) -> bool:
        limits = self._now.limits
        compound: set[int] = set()
        variables: set[int] = set()
        for monomial in poly:
            for atom in monomial:
                row = self.atoms[atom]
                if row.kind in (DIV, MIN, MAX) or (row.kind == MOD and p.value_of(row.args[1]) is None):
                    compound.add(atom)
                elif atom in limits and (len(monomial) > 1 or limits[atom].lows or limits[atom].highs):
                    variables.add(atom)
        # a compound atom goes before what it is made of, an inner variable before an outer one
        first = sorted(compound, key=lambda a: (-len(self.atoms[a].needs), -a))
        then = sorted(variables, key=lambda a: -limits[a].order)
        for atom in (*first, *then):
            parts = p.split(poly, atom)
            if parts is None:
                continue
            sign = self._sign(parts[0])
            if sign and self._eliminated(atom, *parts, sign, depth + 1):
                return True
        return False

    def _sign(self, poly: Poly) -> int:
        low, high = self.interval(poly)
        return 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else 0

    def _eliminated(self, number: int, cofactor: Poly, rest: Poly, sign: int, depth: int) -> bool:
        """Whether ``cofactor * atom + rest >= 0`` with the atom's least (or greatest) value put in."""
        atom = self.atoms[number]

        def holds(value: Poly) -> bool:
            return self._nonnegative(p.add(rest, p.multiply(cofactor, value)), depth)

        if atom.kind in (MIN, MAX):
            either = (atom.kind == MIN) == (sign < 0)
            return any(map(holds, atom.args)) if either else all(map(holds, atom.args))
        if atom.kind == MOD:  # below its divisor, where that is positive
            low = self.interval(atom.args[1]).low
            return low is not None and low > 0 and sign < 0 and holds(p.add(atom.args[1], p.constant(-1)))
        if atom.kind == DIV:
            divisor = p.value_of(atom.args[1])
            if divisor is None or divisor <= 0:
                return False
            if self._by_finer_quotient(atom, divisor, cofactor, rest, sign, depth):
                return True
            near = atom.args[0] if sign < 0 else p.add(atom.args[0], p.constant(1 - divisor))
            return self._nonnegative(p.add(p.scale(rest, divisor), p.multiply(cofactor, near)), depth)
        limits = self._now.limits[number]
        number_limit = limits.interval.low if sign > 0 else limits.interval.high
        if any(map(holds, limits.lows if sign > 0 else limits.highs)):
            return True
        return number_limit is not None and holds(p.constant(number_limit))

    def _by_finer_quotient(
        self, atom: Atom, divisor: int, cofactor: Poly, rest: Poly, sign: int, depth: int
    ) -> bool:
        """``x // (k * d)`` is ``x // d // k``: tighter than its bound by x where ``x // d`` is near."""
        for number in {a for m in rest for a in m if self.atoms[a].kind == DIV}:
            finer = self.atoms[number]
            d = p.value_of(finer.args[1])
            if d and 0 < d < divisor and divisor % d == 0 and finer.args[0] == atom.args[0]:
                k = divisor // d
                near = {(number,): 1} if sign < 0 else p.add({(number,): 1}, p.constant(1 - k))
                if self._nonnegative(p.add(p.scale(rest, k), p.multiply(cofactor, near)), depth):
                    return True
        return False


def _opaque(expr: e.Expr | None) -> Interval:
    if isinstance(expr, e.Cast) and (expr.value.dtype == "bool" or dtypes.is_int(expr.value.dtype)):
        if dtypes.bits(expr.value.dtype) < dtypes.bits(expr.dtype):
            low, high = dtypes.limits(expr.value.dtype)
            return Interval(int(low), int(high))
    if isinstance(expr, e.Cast) and expr.dtype == "int32" and expr.value.dtype == "int64":
        return Interval(-(2**31), 2**31 - 1)
    return EVERYTHING
