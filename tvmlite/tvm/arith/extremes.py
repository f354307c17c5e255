"""Minima and maxima of ints: their normal form, and comparisons with them.

Any expression of ``min``, ``max``, sums and multiples can be written as the minimum of several maxima. 32-bit
and 64-bit ints are assumed not to overflow, as everywhere in index arithmetic.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.te import expr as e

Maxima: TypeAlias = list[list[e.Expr]]
"""A normal form: the minimum of several maxima, each given by its terms."""

_DTYPES = ("int32", "int64")
_MOST = 24
"""The most terms of a normal form; expressions that need more have none."""


def has_extremes(node: e.Expr) -> bool:
    """Whether ``node`` is a scalar of a supported dtype and contains a minimum or a maximum."""
    there = node.lanes == 1 and node.dtype in (*_DTYPES, "bool")
    return there and any(isinstance(one, (e.Min, e.Max)) for one in postorder(node))


def compared(node: Any) -> Any:
    """A comparison with a minimum or a maximum, rewritten as comparisons with its operands; else ``node``."""
    if not isinstance(node, (e.Less, e.LessEqual)) or node.lanes != 1 or node.a.dtype not in _DTYPES:
        return node
    kind = type(node)
    match node:
        case e.Compare(e.Min(a, b), c):
            return e.Or(compared(kind(a, c)), compared(kind(b, c)))
        case e.Compare(e.Max(a, b), c):
            return e.And(compared(kind(a, c)), compared(kind(b, c)))
        case e.Compare(c, e.Min(a, b)):
            return e.And(compared(kind(c, a)), compared(kind(c, b)))
        case e.Compare(c, e.Max(a, b)):
            return e.Or(compared(kind(c, a)), compared(kind(c, b)))
    return node


def normal(node: e.Expr, simplify: Callable[[e.Expr], e.Expr]) -> Maxima | None:
    """The normal form of ``node`` with simplified terms; None if ``node`` has no minimum or maximum, or the
    form has too many terms."""
    if not has_extremes(node) or node.dtype == "bool":
        return None
    found = _maxima(node)
    if found is None:
        return None

    @functools.cache
    def least(a: e.Expr, b: e.Expr) -> bool:
        return e.is_const(simplify(e.LessEqual(a, b)), 1)

    maxima = [_kept([simplify(one) for one in terms], lambda a, b: least(b, a)) for terms in found]
    return _kept(maxima, lambda a, b: all(any(least(x, y) for y in b) for x in a))


def difference(node: e.Expr, simplify: Callable[[e.Expr], e.Expr]) -> e.Expr | None:
    """The constant value of ``node``, a difference of two minima or maxima; None if none is found."""
    if not isinstance(node, e.Sub):
        return None
    left, right = normal(node.a, simplify), normal(node.b, simplify)
    if left is None or right is None or len(left) != len(right):
        return None
    for one in itertools.chain(*right):
        gap = simplify(left[0][0] - one)
        if isinstance(gap, e.Const):
            moved = [[simplify(term + gap) for term in terms] for terms in right]
            if same(left, moved):
                return gap
    return None


def made(maxima: Maxima) -> e.Expr:
    """The expression of a normal form."""
    tops = [functools.reduce(functools.partial(_of, e.Max), terms) for terms in maxima]
    return functools.reduce(functools.partial(_of, e.Min), tops)


def same(a: Maxima, b: Maxima) -> bool:
    """Whether two normal forms have the same terms, in any order."""
    return _matched(a, b, lambda x, y: _matched(x, y, alike))


def _matched(a: list[Any], b: list[Any], equal: Callable[[Any, Any], bool]) -> bool:
    return len(a) == len(b) and all(any(equal(x, y) for y in b) for x in a)


def _of(make: type[e.Binary], a: e.Expr, b: e.Expr) -> e.Expr:
    return e.fold(make, a, b)


def _kept(items: list[Any], covers: Callable[[Any, Any], bool]) -> list[Any]:
    """``items`` without those that are covered by another one."""
    kept: list[Any] = []
    for k, one in enumerate(items):
        others = itertools.chain(kept, items[k + 1 :])
        if not any(covers(other, one) for other in others):
            kept.append(one)
    return kept


def _maxima(root: e.Expr) -> Maxima | None:
    found: dict[e.Expr, Maxima] = {}
    for node in postorder(root):
        if not isinstance(node, e.Expr):
            continue
        made = _of_node(node, found)
        if made is None or sum(map(len, made)) > _MOST:
            return None
        found[node] = made
    return found[root]


def _of_node(node: e.Expr, found: dict[e.Expr, Maxima]) -> Maxima | None:
    match node:
        case e.Min(a, b):
            return [*found[a], *found[b]]
        case e.Max(a, b):
            return _each(found[a], found[b], lambda x, y: [*x, *y])
        case e.Add(a, b) if _compound(found, a, b):
            return _sum(found[a], found[b])
        case e.Sub(a, b) if _compound(found, a, b):
            negative = _negative(found[b])
            return None if negative is None else _sum(found[a], negative)
        case e.Mul(a, e.Const(by)) | e.Mul(e.Const(by), a) if _compound(found, a):
            return _mapped(found[a], lambda x: x * int(by), rises=by >= 0)
        case e.FloorDiv(a, e.Const(by)) | e.TruncDiv(a, e.Const(by)) if by and _compound(found, a):
            kind = type(node)
            return _mapped(found[a], lambda x: e.fold(kind, x, e.const(by, x.dtype)), rises=by > 0)
    return [[node]]


def _compound(found: dict[e.Expr, Maxima], *nodes: e.Expr) -> bool:
    return any(len(found[one]) > 1 or len(found[one][0]) > 1 for one in nodes)


def _each(a: Maxima, b: Maxima, combine: Callable[[list[e.Expr], list[e.Expr]], list[e.Expr]]) -> Maxima:
    return [combine(x, y) for x in a for y in b]


def _sum(a: Maxima, b: Maxima) -> Maxima:
    return _each(a, b, lambda x, y: [one + other for one in x for other in y])


def _mapped(a: Maxima, function: Callable[[e.Expr], e.Expr], rises: bool) -> Maxima | None:
    """The normal form of ``function`` of a value, where ``function`` is increasing if ``rises``, else
    decreasing."""
    if rises:
        return [[function(one) for one in terms] for terms in a]
    negative = _negative(a)
    return None if negative is None else [[function(0 - one) for one in terms] for terms in negative]


def _negative(a: Maxima) -> Maxima | None:
    """The normal form of the negated value: one maximum for each way to pick a term from each maximum."""
    count = 1
    for terms in a:
        count *= len(terms)
    if count * len(a) > _MOST:
        return None
    ways: Iterable[tuple[e.Expr, ...]] = itertools.product(*a)
    return [[0 - one for one in way] for way in ways]
