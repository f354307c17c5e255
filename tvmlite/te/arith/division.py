"""Canonical quotients, remainders, minima and maxima of polynomials with known ranges.

Loops with exact splits contain none of these: the core loads this module when it finds the first.
"""

from __future__ import annotations

from math import gcd

from tvmlite.core import dtype as dtypes
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import DIV, MAX, MIN, MOD, Atoms
from tvmlite.te.arith.bounds import Bounds
from tvmlite.te.arith.polynomial import Monomial, Poly, Sums


class Quotients(Sums):
    """Operations on polynomials; every result is canonical given the knowledge in ``bounds``."""

    def __init__(self, atoms: Atoms, bounds: Bounds) -> None:
        self.atoms, self.bounds = atoms, bounds
        self._matching_quotients: dict[int, int | None] = {}

    def normalize(self, poly: Poly) -> Poly:
        """``poly`` with ``x // d * d + x % d`` merged to ``x``, and minima and maxima merged with their
        arguments."""
        if len(poly) < 2 or not self.atoms.may_cancel:
            return poly
        rows = self.atoms.rows
        for monomial in poly:
            for atom in monomial:
                kind = rows[atom].kind
                if kind == MOD:
                    merged = self._merge_quotient(poly, monomial, atom)
                elif kind in (MIN, MAX) and len(monomial) == 1:
                    merged = self._merge_argument(poly, atom)
                else:
                    continue
                if merged is not None:
                    return self.normalize(merged)
        return poly

    def _merge_quotient(self, poly: Poly, monomial: Monomial, atom: int) -> Poly | None:
        value, divisor = self.atoms[atom].args
        quotient = self._matching_quotient(atom, value, divisor)
        if quotient is None:
            return None
        others = without(monomial, (atom,)) or ()
        coefficient = poly[monomial]
        whole = p.multiply({p.times(others, (quotient,)): coefficient}, divisor)
        if any(poly.get(partner) != factor for partner, factor in whole.items()):
            return None
        rest = {m: c for m, c in poly.items() if m != monomial and m not in whole}
        return p.add(rest, p.multiply({others: coefficient}, value))

    def _matching_quotient(self, atom: int, value: Poly, divisor: Poly) -> int | None:
        """The atom ``value // divisor`` that belongs to the remainder ``atom``, if there is one."""
        if atom not in self._matching_quotients:
            number = p.value_of(divisor)
            if number is None:
                return self.atoms.find(DIV, (value, divisor))
            quotient = self._quotient(value, number, self.atoms[atom].dtype)
            self._matching_quotients[atom] = self._single(quotient)
        return self._matching_quotients[atom]

    def _merge_argument(self, poly: Poly, atom: int) -> Poly | None:
        coefficient = poly[(atom,)]
        if coefficient not in (1, -1):
            return None
        rest = {m: c for m, c in poly.items() if m != (atom,)}
        row = self.atoms[atom]
        sums = [p.add(rest, arg, coefficient) for arg in row.args]
        if not any(p.value_of(s) is not None and len(rest) - (() in rest) > 0 for s in sums):
            return None
        return self.extreme((row.kind == MIN) == (coefficient == 1), sums, row.dtype)

    # -- quotients and remainders

    def floordiv(self, a: Poly, b: Poly, dtype: str) -> Poly:
        """``a // b``"""
        divisor = p.value_of(b)
        if divisor == 0:
            return {}
        if divisor is None:
            return self._symbolic(DIV, a, b, dtype)
        if divisor < 0:
            if divisor == dtypes.limits(dtype)[0]:
                return self._by_least_value(DIV, a, divisor, dtype)
            a, divisor = p.scale(a, -1), -divisor
        return self._quotient(a, divisor, dtype)

    def floormod(self, a: Poly, b: Poly, dtype: str) -> Poly:
        """``a % b``"""
        divisor = p.value_of(b)
        if divisor == 0:
            return {}
        if divisor is None:
            return self._symbolic(MOD, a, b, dtype)
        if divisor < 0:
            if divisor == dtypes.limits(dtype)[0]:
                return self._by_least_value(MOD, a, divisor, dtype)
            return p.scale(self._remainder(p.scale(a, -1), -divisor, dtype), -1)
        return self._remainder(a, divisor, dtype)

    def _by_least_value(self, kind: str, a: Poly, divisor: int, dtype: str) -> Poly:
        """The quotient or remainder by the least number of ``dtype``, whose negation overflows."""
        value = p.value_of(a)
        if value is not None:
            return p.constant(value // divisor if kind == DIV else value % divisor)
        return {(self.atoms.compound(kind, (a, p.constant(divisor)), dtype),): 1}

    def _quotient(self, a: Poly, d: int, dtype: str) -> Poly:
        whole, rest = _parts(a, d)
        if not rest:
            return whole
        at = self._multiple(rest, d)
        if at is not None:
            return p.add(whole, p.constant(at))
        for g, big, small in _groups(rest, d):
            at = self._multiple(small, g)
            if at is not None:
                inner = p.add({m: c // g for m, c in big.items()}, p.constant(at))
                return self.add(whole, self._quotient(inner, d // g, dtype))
        nested = self._nested_quotient(rest, d, dtype)
        if nested is None:
            nested = {(self.atoms.compound(DIV, (rest, p.constant(d)), dtype),): 1}
        return self.add(whole, nested)

    def _nested_quotient(self, rest: Poly, d: int, dtype: str) -> Poly | None:
        """Simplify ``(x // c + k) // d`` and ``x % (c * d) // d``."""
        terms = [(m, c) for m, c in rest.items() if m]
        if len(terms) != 1 or len(terms[0][0]) != 1 or terms[0][1] != 1:
            return None
        atom, shift = self.atoms[terms[0][0][0]], rest.get((), 0)
        if atom.kind not in (DIV, MOD):
            return None
        value, c = atom.args[0], p.value_of(atom.args[1])
        if c is None or c <= 0:
            return None
        if atom.kind == DIV:
            return self._quotient(p.add(value, p.constant(shift * c)), c * d, dtype)
        if c % d == 0 and shift == 0:
            return self._remainder(self._quotient(value, d, dtype), c // d, dtype)
        return None

    def _remainder(self, a: Poly, d: int, dtype: str) -> Poly:
        _, rest = _parts(a, d)
        if not rest:
            return {}
        for monomial, c in rest.items():  # (x % (k * d) + y) % d is (x + y) % d
            if len(monomial) == 1 and self.atoms[monomial[0]].kind == MOD:
                value, inner = self.atoms[monomial[0]].args
                number = p.value_of(inner)
                if number and (c * number) % d == 0:
                    others = {m: k for m, k in rest.items() if m != monomial}
                    return self._remainder(p.add(others, value, c), d, dtype)
        at = self._multiple(rest, d)
        if at is not None:
            return p.add(rest, p.constant(-at * d))
        for g, big, small in _groups(rest, d):
            at = self._multiple(small, g)
            if at is not None:
                inner = p.add({m: c // g for m, c in big.items()}, p.constant(at))
                outer = p.scale(self._remainder(inner, d // g, dtype), g)
                return self.add(outer, p.add(small, p.constant(-at * g)))
        return {(self.atoms.compound(MOD, (rest, p.constant(d)), dtype),): 1}

    def _multiple(self, poly: Poly, d: int) -> int | None:
        """The k with ``k * d <= poly < (k + 1) * d`` for all values, if there is one."""
        low, high = self.bounds.interval(poly)
        if low is not None and high is not None:
            return low // d if low // d == high // d else None
        return 0 if self.bounds.prove_within(poly, p.constant(d)) else None

    def _symbolic(self, kind: str, a: Poly, b: Poly, dtype: str) -> Poly:
        if not a:
            return {}
        whole, rest = _divide(a, b)
        if not rest:
            if self.bounds.prove_positive(b) or self.bounds.prove_positive(p.scale(b, -1)):
                return whole if kind == DIV else {}
        elif self.bounds.prove_within(rest, b):
            return whole if kind == DIV else rest
        elif whole and self.bounds.prove_positive(b):
            atom = {(self.atoms.compound(kind, (rest, b), dtype),): 1}
            return self.add(whole, atom) if kind == DIV else atom
        return {(self.atoms.compound(kind, (a, b), dtype),): 1}

    # -- minima and maxima

    def extreme(self, least: bool, args: list[Poly], dtype: str) -> Poly:
        """The minimum (or maximum) of ``args``."""
        kind = MIN if least else MAX
        flat: list[Poly] = []
        for arg in args:
            atom = self._single(arg)
            parts = self.atoms[atom].args if atom is not None and self.atoms[atom].kind == kind else (arg,)
            flat.extend(parts)
        if len(flat) > _MOST:  # all pairs are compared: chains of shared minima would take too long
            flat = args
        kept: list[Poly] = []
        for arg in flat:
            if any(self._dominates(other, arg, least) for other in kept):
                continue
            kept = [other for other in kept if not self._dominates(arg, other, least)]
            kept.append(arg)
        if len(kept) == 1:
            return kept[0]
        kept.sort(key=lambda arg: (p.value_of(arg) is not None, self.atoms.poly_text(arg)))
        return {(self.atoms.compound(kind, tuple(kept), dtype),): 1}

    def _dominates(self, a: Poly, b: Poly, least: bool) -> bool:
        return self.bounds.prove_nonnegative(p.add(b, a, -1) if least else p.add(a, b, -1))

    def _single(self, poly: Poly) -> int | None:
        if len(poly) == 1:
            ((monomial, coefficient),) = poly.items()
            if coefficient == 1 and len(monomial) == 1:
                return monomial[0]
        return None


_MOST = 12
"""The most arguments of a minimum or maximum that are flattened into one."""


def _parts(a: Poly, d: int) -> tuple[Poly, Poly]:
    """``(q, r)`` with ``a = q * d + r``, the coefficients of ``r`` below ``d``, its constant in [0, d)."""
    whole: Poly = {}
    rest: Poly = {}
    for monomial, c in a.items():
        q = c // d if c >= 0 or not monomial else -(-c // d)
        if q:
            whole[monomial] = q
        if c - q * d:
            rest[monomial] = c - q * d
    return whole, rest


def _groups(rest: Poly, d: int) -> list[tuple[int, Poly, Poly]]:
    """Ways to write ``rest`` as ``g * big + small``, where ``g`` divides ``d``; large ones first."""
    divisors = {gcd(c, d) for m, c in rest.items() if m} - {1}
    groups = []
    for g in sorted(divisors, reverse=True):
        big = {m: c for m, c in rest.items() if m and c % g == 0}
        groups.append((g, big, {m: c for m, c in rest.items() if m not in big}))
    return groups


def without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """``monomial`` divided by ``part``, or None if ``part`` does not divide it."""
    rest = list(monomial)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _divide(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """``(q, r)`` with ``a = q * b + r`` and ``q`` as large as possible: exact if ``b`` divides ``a``."""
    lead = max(b, key=lambda m: (len(m), m))
    unit = b[lead]
    quotient: Poly = {}
    rest = a
    for _ in range(32):
        for monomial, coefficient in rest.items():
            part = without(monomial, lead)
            if part is not None and coefficient % unit == 0:
                term = {part: coefficient // unit}
                break
        else:
            break
        quotient = p.add(quotient, term)
        rest = p.add(rest, p.multiply(term, b), -1)
    return quotient, rest
