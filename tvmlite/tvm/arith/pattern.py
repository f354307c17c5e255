"""Algebraic rewrite rules as pairs of expressions, and their matching.

A pattern is an expression in which a variable matches any expression and a ``Number`` any constant. Terms of
a sum match in any order, and terms without a counterpart in the rule are kept; the same holds for operands of
``and`` and ``or``. In a nested sum, the last variable that is a term by itself matches all remaining terms.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.te import expr as e

Bound: TypeAlias = dict[e.Expr, e.Expr]
"""The expressions that the variables of a pattern match."""

Term: TypeAlias = tuple[Any, e.Expr | None]
"""A term of a sum: its coefficient (an int or a Number) and the other factor, None for a constant."""

Holds: TypeAlias = Callable[[e.Expr], bool]
"""Whether a condition is known to hold."""

DTYPES = ("int32", "int64")
"""The dtypes of index arithmetic, to which the rules apply."""
_PARTS = 8
"""The most terms of a sum, or operands of ``and`` and ``or``, that are matched: more have too many orders."""


class Number(e.Var):
    """A variable of a pattern that matches a constant."""


@dataclass(frozen=True)
class Rule:
    """Rewrites ``before`` to ``after`` if all conditions ``where`` hold."""

    before: e.Expr
    after: e.Expr
    where: tuple[e.Expr, ...] = ()

    def apply(self, node: e.Expr, holds: Holds) -> e.Expr | None:
        """The scalar ``node`` rewritten by the rule; None if the rule does not apply."""
        for bound, rest in _with_rest(self.before, node):
            dtype = _dtype_of(node)
            try:
                if all(_true(_built(one, bound, dtype), holds) for one in self.where):
                    made = _built(self.after, bound, dtype)
                    return made if rest is None else _joined(type(self.before), made, rest)
            except OverflowError:  # a constant of the result does not fit the dtype
                continue
        return None


def _true(condition: e.Expr, holds: Holds) -> bool:
    return e.is_const(condition, 1) or (not isinstance(condition, e.Const) and holds(condition))


def _dtype_of(node: e.Expr) -> str:
    """The dtype of the ints in ``node``."""
    while node.dtype == "bool" and node.children():
        node = next(one for one in node.children() if isinstance(one, e.Expr))
    return node.dtype


# -- matching


def _with_rest(pattern: e.Expr, node: e.Expr) -> Iterator[tuple[Bound, Any]]:
    """The matches of ``pattern`` at the root of ``node``, each with the terms or conditions that remain."""
    if isinstance(pattern, (e.Add, e.Sub)):
        wanted, given = _wanted(pattern), _terms(node)
        if node.dtype in DTYPES and len(given) <= _PARTS and _kinds(wanted) <= _kinds(given):
            yield from _Sum(node.dtype).matches(wanted, given, {}, rest_may_stay=True)
    elif isinstance(pattern, (e.And, e.Or)):
        parts = _parts(type(pattern), node)
        if len(parts) <= _PARTS:
            yield from _of_parts(_parts(type(pattern), pattern), parts, {})
    else:
        yield from ((bound, None) for bound in _matches(pattern, node, {}))


def _matches(pattern: e.Expr, node: e.Expr, bound: Bound) -> Iterator[Bound]:
    """The matches of ``pattern`` with ``node`` that extend the bindings ``bound``."""
    if isinstance(pattern, e.Var):
        known = bound.get(pattern)
        if known is not None:
            if alike(known, node):
                yield bound
        elif node.dtype == "bool" if pattern.dtype == "bool" else node.dtype in DTYPES:
            if isinstance(node, e.Const) or not isinstance(pattern, Number):
                yield {**bound, pattern: node}
    elif isinstance(pattern, e.Const):
        if isinstance(node, e.Const) and node.value == pattern.value:
            yield bound
    elif isinstance(pattern, (e.Add, e.Sub)):
        if isinstance(node, (e.Add, e.Sub)) and node.dtype in DTYPES:
            terms = _terms(node)
            if len(terms) <= _PARTS:
                found = _Sum(node.dtype).matches(_wanted(pattern), terms, bound, rest_may_stay=False)
                yield from (one for one, _ in found)
    elif type(pattern) is type(node) and _same_call(pattern, node):
        wanted, given = pattern.children(), node.children()
        yield from _in_order(wanted, given, bound)
        if isinstance(pattern, _COMMUTATIVE):
            yield from _in_order(wanted, given[::-1], bound)


_COMMUTATIVE = (e.Mul, e.Min, e.Max, e.And, e.Or, e.Equal, e.NotEqual)


def _same_call(pattern: e.Expr, node: e.Expr) -> bool:
    return not isinstance(pattern, e.Call) or pattern.name == node.name  # type: ignore[attr-defined]


def _in_order(wanted: Sequence[Any], given: Sequence[Any], bound: Bound) -> Iterator[Bound]:
    if not wanted:
        yield bound
        return
    for found in _matches(wanted[0], given[0], bound):
        yield from _in_order(wanted[1:], given[1:], found)


def _of_parts(
    wanted: list[e.Expr], given: list[e.Expr], bound: Bound
) -> Iterator[tuple[Bound, list[e.Expr]]]:
    if not wanted:
        yield bound, given
    for k, one in enumerate(given if wanted else ()):
        for found in _matches(wanted[0], one, bound):
            yield from _of_parts(wanted[1:], given[:k] + given[k + 1 :], found)


@dataclass(frozen=True)
class _Sum:
    """Matches sums of ``dtype``, given as lists of terms."""

    dtype: str

    def matches(
        self, wanted: list[Term], given: list[Term], bound: Bound, rest_may_stay: bool
    ) -> Iterator[tuple[Bound, list[Term]]]:
        """The matches of the terms ``wanted`` with some of those ``given``, each with the remaining terms."""
        if not wanted:
            if rest_may_stay or not given:
                yield bound, given
            return
        (factor, value), others = wanted[0], wanted[1:]
        is_last = not any(_stands_alone(other, bound) for other in others)
        if not rest_may_stay and is_last and _stands_alone(wanted[0], bound):
            for found, left in self.matches(others, given, bound, rest_may_stay=True):
                if left:
                    yield {**found, value: total(left, self.dtype)}, []  # type: ignore[dict-item]
            return
        for k, (amount, term) in enumerate(given):
            for with_factor in self._factors(factor, amount, bound):
                for found in _of_terms(value, term, with_factor):
                    yield from self.matches(others, given[:k] + given[k + 1 :], found, rest_may_stay)

    def _factors(self, factor: Any, amount: int, bound: Bound) -> Iterator[Bound]:
        known = bound.get(factor) if isinstance(factor, Number) else e.const(factor, self.dtype)
        if known is None:
            yield {**bound, factor: e.const(amount, self.dtype)}
        elif isinstance(known, e.Const) and known.value == amount:
            yield bound


def _stands_alone(term: Term, bound: Bound) -> bool:
    factor, value = term
    return type(factor) is int and factor == 1 and isinstance(value, e.Var) and value not in bound


def _of_terms(wanted: e.Expr | None, given: e.Expr | None, bound: Bound) -> Iterator[Bound]:
    if wanted is None or given is None:
        return iter((bound,) if wanted is given else ())
    return _matches(wanted, given, bound)


# -- sums and conjunctions as lists, and back


def _parts(make: type[e.Expr], root: e.Expr) -> list[e.Expr]:
    if type(root) is not make:
        return [root]
    return [part for side in root.children() for part in _parts(make, side)]  # type: ignore[arg-type]


@functools.cache
def _wanted(pattern: e.Expr) -> list[Term]:
    """The terms of a pattern, cached: patterns are those of the rules, so there are few."""
    return _terms(pattern)


def _kinds(terms: list[Term]) -> set[type]:
    """The classes of the operations in ``terms``, without variables."""
    return {type(value) for _, value in terms if value is not None and not isinstance(value, e.Var)}


def _terms(root: e.Expr, sign: int = 1) -> list[Term]:
    match root:
        case e.Add(a, b):
            return [*_terms(a, sign), *_terms(b, sign)]
        case e.Sub(a, b):
            return [*_terms(a, sign), *_terms(b, -sign)]
        case Number():
            return [(root, None)]
        case e.Mul(a, Number() as factor):
            return [(factor, a)]
        case e.Const(value):
            return [(sign * int(value), None)]
        case e.Mul(a, e.Const(value)):
            return [(sign * int(value), a)]
    return [(sign, root)]


def total(terms: list[Term], dtype: str) -> e.Expr:
    """The sum of ``terms``."""
    found: e.Expr = e.const(0, dtype)
    for factor, term in terms:
        amount = e.const(factor, dtype)
        found = e.fold(e.Add, found, amount if term is None else e.fold(e.Mul, term, amount))
    return found


def _joined(make: type[e.Expr], made: e.Expr, rest: list[Any]) -> e.Expr:
    if make in (e.And, e.Or):
        for one in rest:
            made = make(made, one)  # type: ignore[call-arg]
        return made
    return e.fold(e.Add, made, total(rest, made.dtype)) if rest else made


# -- results


def _built(pattern: e.Expr, bound: Bound, dtype: str) -> e.Expr:
    """``pattern`` with the bindings ``bound`` substituted and constants folded. Raises an OverflowError if a
    constant does not fit ``dtype``."""
    if isinstance(pattern, e.Var):
        return bound[pattern]
    if isinstance(pattern, e.Const):
        return pattern if pattern.dtype == "bool" else e.const(pattern.value, dtype)
    done = iter([_built(one, bound, dtype) for one in pattern.children()])  # type: ignore[arg-type]
    if not isinstance(pattern, e.Binary):
        return pattern.map_children(lambda _: next(done))
    a, b = e.match(*done)
    compute = _OF_INTS.get(type(pattern))
    if compute is not None and isinstance(a, e.Const) and isinstance(b, e.Const):
        value = compute(int(a.value), int(b.value))
        if isinstance(value, bool):
            return e.const(value)
        low, high = dtypes.limits(dtype)
        if not low <= value <= high:
            raise OverflowError
        return e.const(value, dtype)
    return e.fold(type(pattern), a, b)


_OF_INTS: dict[type[e.Expr], Callable[[int, int], int | bool]] = {
    e.Add: operator.add,
    e.Sub: operator.sub,
    e.Mul: operator.mul,
    e.FloorDiv: operator.floordiv,
    e.FloorMod: operator.mod,
    e.Min: min,
    e.Max: max,
    e.Less: operator.lt,
    e.LessEqual: operator.le,
    e.Equal: operator.eq,
    e.NotEqual: operator.ne,
}
