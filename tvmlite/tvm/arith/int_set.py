"""Intervals of ints between two expressions, and the interval of an expression's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer as Known
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.absent import refusing


class Infinite:
    """An infinite end of an interval, or one of the ends of the empty set."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"{self.name}: handle"  # as TVM prints it

    __repr__ = __str__

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other


POS_INF, NEG_INF = Infinite("pos_inf"), Infinite("neg_inf")
End: TypeAlias = Any
"""An expression, ``POS_INF`` or ``NEG_INF``."""


def pos_inf() -> Infinite:
    """Return the upper end of an interval without a greatest element."""
    return POS_INF


def neg_inf() -> Infinite:
    """Return the lower end of an interval without a least element."""
    return NEG_INF


class IntSet:
    """A set of ints. The only kind is ``IntervalSet``."""

    @staticmethod
    def vector(vec: e.Expr) -> IntervalSet:
        """Return an interval that contains the lanes of a ramp with a positive stride, or a scalar."""
        if not isinstance(vec, e.Ramp):
            return IntervalSet(vec, vec)
        return IntervalSet(vec.base, vec.base + vec.stride * vec.lanes - 1)

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """Return the set with the single element ``point``."""
        return IntervalSet(point, point)

    def is_nothing(self) -> bool:
        """Whether the set is known to have no element."""
        return False

    def is_everything(self) -> bool:
        """Whether the set has all ints."""
        return False


@dataclass(frozen=True, init=False)
class IntervalSet(IntSet):
    """The ints from ``min_value`` to ``max_value``, inclusive."""

    min_value: End
    max_value: End

    def __init__(self, min_value: Any, max_value: Any) -> None:
        for name, value in (("min_value", min_value), ("max_value", max_value)):
            made = value if isinstance(value, Infinite) else e.scalar(f"IntervalSet: {name}", value)
            object.__setattr__(self, name, made)

    def is_nothing(self) -> bool:
        """Whether the set is known to have no element."""
        return self.min_value is POS_INF or self.max_value is NEG_INF

    def is_everything(self) -> bool:
        """Whether the set has all ints."""
        return self.min_value is NEG_INF and self.max_value is POS_INF


NOTHING, EVERYTHING = IntervalSet(POS_INF, NEG_INF), IntervalSet(NEG_INF, POS_INF)


def set_of(given: Any) -> IntervalSet:
    """``given``, a set, a range or a number, as an interval."""
    if isinstance(given, IntervalSet):
        return given
    if isinstance(given, t.Range):
        return IntervalSet(given.min, given.min + given.extent - 1)
    return IntSet.single_point(e.scalar("int_set: a domain", given))


def evaluate(expr: Any, domains: Mapping[Any, Any], known: Known) -> IntervalSet:
    """The interval of the values of ``expr`` for all values of the variables in ``domains``; other variables
    are constants. The interval has no limits if none are found."""
    at = {getattr(var, "var", var): set_of(one) for var, one in domains.items()}
    for var in at:
        arguments.instance("int_set: dom_map", var, e.Var, "a te.var")
    found = _Evaluation(at, known).of(e.convert(expr))
    ends = (found.min_value, found.max_value)
    return IntervalSet(*(one if isinstance(one, Infinite) else known.simplify(one) for one in ends))


@dataclass(frozen=True)
class _Evaluation:
    at: Mapping[e.Var, IntervalSet]
    known: Known

    def of(self, node: e.Expr) -> IntervalSet:
        """The set of ``node``."""
        if isinstance(node, e.Var):
            return self.at.get(node) or IntSet.single_point(node)
        if not isinstance(node, (e.Binary, e.Select, e.Cast)):
            return IntSet.single_point(node) if not node.children() else EVERYTHING
        if isinstance(node, e.Cast):
            inner = self.of(node.value)
            return self._map(inner, inner, lambda x, _: e.cast(node.dtype, x))
        a, b = self.of(node.a), self.of(node.b)
        if isinstance(node, e.Select):
            return self._union(a, b)
        if _is_point(a) and _is_point(b):
            return IntSet.single_point(_again(node, a.min_value, b.min_value))
        match node:
            case e.Add():
                return self._map(a, b, lambda x, y: x + y)
            case e.Sub():
                return self._map(a, IntervalSet(b.max_value, b.min_value), lambda x, y: x - y)
            case e.Min() | e.Max():
                return self._map(a, b, lambda x, y: _again(node, x, y))
            case e.Mul() if _is_point(a):
                return self._scaled(node, b, a.min_value)
            case e.Mul() | e.FloorDiv() | e.TruncDiv() if _is_point(b):
                return self._scaled(node, a, b.min_value)
            case e.FloorMod() | e.TruncMod() if _is_point(b) and self.known.prove(b.min_value > 0):
                return self._remainder(node, a, b.min_value)
        return EVERYTHING

    def _map(self, a: IntervalSet, b: IntervalSet, combine: Any) -> IntervalSet:
        """The interval whose ends are ``combine`` of the ends of ``a`` and ``b``, or infinite if one is."""

        def end(x: End, y: End, otherwise: Infinite) -> End:
            return otherwise if isinstance(x, Infinite) or isinstance(y, Infinite) else combine(x, y)

        return IntervalSet(end(a.min_value, b.min_value, NEG_INF), end(a.max_value, b.max_value, POS_INF))

    def _union(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        low = self._map(a, b, lambda x, y: self.known.simplify(e.Min(*e.match(x, y)))).min_value
        high = self._map(a, b, lambda x, y: self.known.simplify(e.Max(*e.match(x, y)))).max_value
        return IntervalSet(low, high)

    def _scaled(self, node: e.Binary, a: IntervalSet, by: e.Expr) -> IntervalSet:
        """``a`` multiplied or divided by ``by``; a negative ``by`` exchanges the ends."""
        made = self._map(a, a, lambda x, _: _again(node, x, by))
        if self.known.prove(by > 0):
            return made
        if self.known.prove(by < 0):
            turned = IntervalSet(a.max_value, a.min_value)
            return self._map(turned, turned, lambda x, _: _again(node, x, by))
        return EVERYTHING

    def _remainder(self, node: e.Binary, a: IntervalSet, by: e.Expr) -> IntervalSet:
        """``a`` modulo ``by``: the remainders of both ends if their quotients are equal, else all
        remainders."""
        least = e.const(0, by.dtype)
        ends = (a.min_value, a.max_value)
        if not any(isinstance(one, Infinite) for one in ends):
            first, last = (self.known.simplify(e.FloorDiv(*e.match(one, by))) for one in ends)
            if self.known.equal(first, last):
                return self._map(a, a, lambda x, _: x - first * by)
        below = isinstance(node, e.TruncMod) and not (
            not isinstance(ends[0], Infinite) and self.known.prove(ends[0] >= 0)
        )
        return IntervalSet(1 - by if below else least, by - 1)


def _is_point(a: IntervalSet) -> bool:
    return a.min_value is a.max_value


def _again(node: e.Binary, a: e.Expr, b: e.Expr) -> e.Expr:
    """The operation of ``node`` applied to ``a`` and ``b``."""
    return e.fold(type(node), *e.match(a, b))


__getattr__ = refusing(__name__)
