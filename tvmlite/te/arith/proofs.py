"""Proofs by more than intervals: facts, limits that contain other variables, quotients and minima.

Open extents and conditions need them. A float32 kernel with constant extents, whose guards intervals decide,
never loads this module.
"""

from __future__ import annotations

from collections.abc import Iterator

from tvmlite.te.arith import interval as iv
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import DIV, MAX, MIN, MOD, Atom
from tvmlite.te.arith.bounds import Bounds, Limits, is_compound
from tvmlite.te.arith.interval import Interval
from tvmlite.te.arith.polynomial import Poly
from tvmlite.te.arith.samples import Samples

# -- assumptions


def samples_of(bounds: Bounds) -> Samples:
    """The sample points at which everything that ``bounds`` knows holds."""
    if bounds.samples is None:
        bounds.samples = Samples(bounds.atoms, bounds.atom)
    return bounds.samples


def restrict_samples(bounds: Bounds, poly: Poly) -> None:
    """Restrict the samples to points where ``poly``, which is known by now, is not negative."""
    samples_of(bounds).assume(poly, lambda: _known(bounds))


def _known(bounds: Bounds) -> Iterator[Poly]:
    """All polynomials that are assumed never to be negative."""
    for atom, limits in bounds.knowledge.limits.items():
        value, (low, high) = {(atom,): 1}, limits.interval
        for limit in (*limits.lows, *(() if low is None else (p.constant(low),))):
            yield p.add(value, limit, -1)
        for limit in (*limits.highs, *(() if high is None else (p.constant(high),))):
            yield p.add(limit, value, -1)
    yield from bounds.knowledge.facts


def learn(bounds: Bounds, poly: Poly) -> None:
    """Assume that ``poly``, of more than one atom, is never negative."""
    bounds.knowledge.facts = (*bounds.knowledge.facts, poly)
    _limit_factors(bounds, poly)
    _limit_innermost(bounds, poly)
    restrict_samples(bounds, poly)


def _limit_factors(bounds: Bounds, poly: Poly) -> None:
    """If ``a * (...) >= 1`` and ``a >= 0``, then ``a`` is at least 1: an extent is not 0 inside its loop."""
    if poly.get((), 0) >= 0:
        return
    common = set.intersection(*(set(m) for m in poly if m))
    for atom in common:
        if bounds.atom(atom).low == 0:
            old = bounds.knowledge.limits.get(atom, Limits())
            bounds.knowledge.limits[atom] = old._replace(
                interval=iv.intersect(old.interval, Interval(1, None))
            )
            bounds.forget()


def _limit_innermost(bounds: Bounds, poly: Poly) -> None:
    """Turn ``v + rest >= 0`` into a limit of the variable that was bound last."""
    limits = bounds.knowledge.limits
    candidates = [m[0] for m, c in poly.items() if len(m) == 1 and abs(c) == 1 and m[0] in limits]
    if not candidates:
        return
    atom = max(candidates, key=lambda a: limits[a].order)
    parts = p.split(poly, atom)
    if parts is None or p.value_of(parts[0]) not in (1, -1):
        return
    factor, rest, old = p.value_of(parts[0]), parts[1], limits[atom]
    if any(atom in bounds.atoms[a].needs for m in rest for a in m):
        return
    if factor == 1:
        limits[atom] = old._replace(lows=(*old.lows, p.scale(rest, -1)))
    else:
        limits[atom] = old._replace(highs=(*old.highs, rest))


def substitute_least(bounds: Bounds, poly: Poly, atom: int) -> Poly | None:
    """A lower bound of ``poly`` without the variable ``atom``; None if there is none."""
    parts = p.split(poly, atom)
    if parts is None:
        return None
    if not parts[0]:
        return poly
    sign, limits = _sign(bounds, parts[0]), bounds.knowledge.limits.get(atom, Limits())
    symbolic = limits.lows if sign > 0 else limits.highs
    number = limits.interval.low if sign > 0 else limits.interval.high
    if not sign or (number is None and not symbolic):
        return None
    value = p.constant(number) if number is not None else symbolic[0]
    return p.add(parts[1], p.multiply(parts[0], value))


# -- search


def search(bounds: Bounds, poly: Poly, depth: int) -> bool:
    """Whether a proof of ``poly >= 0`` is found by facts or by substituting limits, at ``depth``."""
    if samples_of(bounds).refute(poly):
        return False
    bounds.steps_left -= 1
    key = p.key_of(poly)
    known = bounds.knowledge.proved.get(key)
    if known is None:
        known = _by_fact(bounds, poly) or _by_elimination(bounds, poly, depth)
        if known or bounds.steps_left > 0:
            bounds.knowledge.proved[key] = known
    return known


def _by_fact(bounds: Bounds, poly: Poly) -> bool:
    for fact in bounds.knowledge.facts:
        for monomial, c in fact.items():
            mine = poly.get(monomial, 0)
            if monomial and mine * c > 0 and mine % c == 0:
                low = bounds.interval(p.add(poly, fact, -(mine // c))).low
                if low is not None and low >= 0:
                    return True
    return False


def _by_elimination(bounds: Bounds, poly: Poly, depth: int) -> bool:
    limits = bounds.knowledge.limits
    compound: set[int] = set()
    variables: set[int] = set()
    for monomial in poly:
        for atom in monomial:
            row = bounds.atoms[atom]
            if is_compound(row):
                compound.add(atom)
            elif atom in limits and (len(monomial) > 1 or limits[atom].lows or limits[atom].highs):
                variables.add(atom)
    # eliminate compound atoms before their arguments, inner variables before outer ones
    first = sorted(compound, key=lambda a: (-len(bounds.atoms[a].needs), -a))
    then = sorted(variables, key=lambda a: -limits[a].order)
    for atom in (*first, *then):
        parts = p.split(poly, atom)
        if parts is None:
            continue
        sign = _sign(bounds, parts[0])
        if sign and _eliminated(bounds, atom, *parts, sign, depth + 1):
            return True
    return False


def _sign(bounds: Bounds, poly: Poly) -> int:
    low, high = bounds.interval(poly)
    return 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else 0


def _eliminated(bounds: Bounds, number: int, cofactor: Poly, rest: Poly, sign: int, depth: int) -> bool:
    """Whether ``cofactor * atom + rest >= 0`` with the least (or greatest) value substituted for the atom."""
    atom = bounds.atoms[number]

    def holds(value: Poly) -> bool:
        return bounds.nonnegative(p.add(rest, p.multiply(cofactor, value)), depth)

    if atom.kind in (MIN, MAX):
        either = (atom.kind == MIN) == (sign < 0)
        return any(map(holds, atom.args)) if either else all(map(holds, atom.args))
    if atom.kind == MOD:  # less than its divisor, if that is positive
        low = bounds.interval(atom.args[1]).low
        return low is not None and low > 0 and sign < 0 and holds(p.add(atom.args[1], p.constant(-1)))
    if atom.kind == DIV:
        divisor = p.value_of(atom.args[1])
        if divisor is None or divisor <= 0:
            return False
        if _by_finer_quotient(bounds, atom, divisor, cofactor, rest, sign, depth):
            return True
        near = atom.args[0] if sign < 0 else p.add(atom.args[0], p.constant(1 - divisor))
        return bounds.nonnegative(p.add(p.scale(rest, divisor), p.multiply(cofactor, near)), depth)
    limits = bounds.knowledge.limits[number]
    number_limit = limits.interval.low if sign > 0 else limits.interval.high
    if any(map(holds, limits.lows if sign > 0 else limits.highs)):
        return True
    return number_limit is not None and holds(p.constant(number_limit))


def _by_finer_quotient(
    bounds: Bounds, atom: Atom, divisor: int, cofactor: Poly, rest: Poly, sign: int, depth: int
) -> bool:
    """Use ``x // (k * d) = x // d // k``: tighter than the bound in x if ``x // d`` occurs in ``rest``."""
    for number in {a for m in rest for a in m if bounds.atoms[a].kind == DIV}:
        finer = bounds.atoms[number]
        d = p.value_of(finer.args[1])
        if d and 0 < d < divisor and divisor % d == 0 and finer.args[0] == atom.args[0]:
            k = divisor // d
            near = {(number,): 1} if sign < 0 else p.add({(number,): 1}, p.constant(1 - k))
            if bounds.nonnegative(p.add(p.scale(rest, k), p.multiply(cofactor, near)), depth):
                return True
    return False
