"""Polynomials with integer coefficients over numbered atoms: the canonical form of index arithmetic."""

from __future__ import annotations

from typing import TypeAlias

Monomial: TypeAlias = tuple[int, ...]
"""A product of atoms: their numbers, ascending, repeated for powers; empty for the number 1."""

Poly: TypeAlias = dict[Monomial, int]
"""Coefficients by monomial, none of them 0. A Poly is never modified once created."""

Key: TypeAlias = tuple[tuple[Monomial, int], ...]

_TERMS = 48
"""Products with more terms than this are not expanded."""


def constant(value: int) -> Poly:
    """The constant polynomial ``value``."""
    return {(): value} if value else {}


def value_of(poly: Poly) -> int | None:
    """The value of a constant ``poly``, else None."""
    if not poly:
        return 0
    return poly.get(()) if len(poly) == 1 else None


def key_of(poly: Poly) -> Key:
    """A key that equal polynomials share."""
    return tuple(sorted(poly.items()))


def add(a: Poly, b: Poly, factor: int = 1) -> Poly:
    """``a + factor * b``"""
    if not b or not factor:
        return a
    out = dict(a)
    for monomial, coefficient in b.items():
        total = out.get(monomial, 0) + factor * coefficient
        if total:
            out[monomial] = total
        else:
            del out[monomial]
    return out


def scale(a: Poly, factor: int) -> Poly:
    """``factor * a``"""
    if factor == 1:
        return a
    return {m: c * factor for m, c in a.items()} if factor else {}


def times(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    return tuple(sorted(a + b)) if a and b else a or b


def multiply(a: Poly, b: Poly) -> Poly:
    """``a * b``, expanded."""
    out: Poly = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = times(left, right)
            total = out.get(monomial, 0) + x * y
            if total:
                out[monomial] = total
            else:
                del out[monomial]
    return out


def split(poly: Poly, atom: int) -> tuple[Poly, Poly] | None:
    """``(c, r)`` with ``poly = c * atom + r``, both without ``atom``; None if it occurs in a power."""
    cofactor: Poly = {}
    rest: Poly = {}
    for monomial, coefficient in poly.items():
        count = monomial.count(atom)
        if count > 1:
            return None
        if count:
            cofactor[tuple(a for a in monomial if a != atom)] = coefficient
        else:
            rest[monomial] = coefficient
    return cofactor, rest


class Sums:
    """Sums and products of polynomials, in canonical form."""

    def add(self, a: Poly, b: Poly, factor: int = 1) -> Poly:
        """``a + factor * b``"""
        return self.normalize(add(a, b, factor))

    def multiply(self, a: Poly, b: Poly) -> Poly | None:
        """``a * b``, or None if that has too many terms."""
        return None if len(a) * len(b) > _TERMS else self.normalize(multiply(a, b))

    def normalize(self, poly: Poly) -> Poly:
        """``poly`` as it is: sums alone are canonical. ``Quotients`` overrides this."""
        return poly
