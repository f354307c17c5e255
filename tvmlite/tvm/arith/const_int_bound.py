"""Constant bounds of int expressions, computed from bounds of their variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder_from
from tvmlite.te import expr as e

_INF = math.inf
_FAR = 1 << 64
"""A bound farther from 0 than this is treated as infinite, since no int is that large."""

Bound: TypeAlias = tuple[float, float]
"""The least and the greatest value, ints or infinite."""


_DO_NOT_WRAP = ("int32", "int64")
"""Dtypes assumed not to overflow. If a value of another int dtype may overflow, it may be any value."""


@dataclass(frozen=True)
class ConstIntBound:
    """The ints from ``min_value`` to ``max_value``, inclusive; ``NEG_INF`` and ``POS_INF`` mean no limit."""

    POS_INF: ClassVar[int] = (1 << 63) - 1
    NEG_INF: ClassVar[int] = -POS_INF
    min_value: int
    max_value: int

    @classmethod
    def of(cls, bound: Bound) -> ConstIntBound:
        """``bound`` with infinite ends as ``NEG_INF`` and ``POS_INF``."""
        low, high = bound
        return cls(cls.NEG_INF if low == -_INF else int(low), cls.POS_INF if high == _INF else int(high))

    @property
    def bound(self) -> Bound:
        """The bound as two numbers, which may be infinite."""
        low, high = self.min_value, self.max_value
        return (-_INF if low <= self.NEG_INF else low), (_INF if high >= self.POS_INF else high)


@dataclass
class Bounds:
    """The known bounds of variables, and of expressions in conditions that hold."""

    variables: dict[e.Var, Bound] = field(default_factory=dict)
    conditions: list[tuple[e.Expr, Bound]] = field(default_factory=list)
    _found: dict[Any, Bound] = field(default_factory=dict)
    """Bounds computed from the current facts, by node, so that shared nodes are evaluated once."""

    def update(self, var: e.Var, bound: Bound) -> None:
        """Set the bound of ``var``."""
        self.variables[var] = bound
        self._found = {}

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Return a context manager that drops the assumptions made inside it."""
        kept = list(self.conditions), self._found
        try:
            yield
        finally:
            self.conditions, self._found = kept

    def of(self, expr: Any) -> Bound:
        """The bound of ``expr``."""
        root = e.convert(expr)
        for node in postorder_from(
            [root], lambda one: [part for part in one.children() if part not in self._found]
        ):
            if isinstance(node, e.Expr) and node not in self._found:
                self._found[node] = self._of(node)
        return self._found[root]

    def _of(self, node: e.Expr) -> Bound:
        """The bound of ``node``; those of its children are in ``_found``."""
        low, high = self._of_parts(node)
        least, most = everything(node.dtype)
        if (low < least or high > most) and node.dtype not in _DO_NOT_WRAP:
            low, high = least, most
        for other, bound in self.conditions:
            if alike(node, other):
                low, high = max(low, bound[0]), min(high, bound[1])
        return (-_INF if low < -_FAR else low), (_INF if high > _FAR else high)

    def _of_parts(self, node: e.Expr) -> Bound:
        known = self._found
        match node:
            case e.Const(value):
                return value, value
            case e.Var():
                return self.variables.get(node) or _of_variable(node)
            case e.Cast(dtype, value):
                low, high = known[value]
                least, most = everything(dtype)
                return max(low, least), min(high, most)
            case e.Select(_, a, b) | e.Call("if_then_else", (_, a, b)):
                return _union(known[a], known[b])
            case e.Broadcast(value):
                return known[value]
            case e.Ramp(base, stride, lanes):
                (low, high), (least, most) = known[base], known[stride]
                return low + min(0, least * (lanes - 1)), high + max(0, most * (lanes - 1))
        rule = _RULES.get(node.name if isinstance(node, e.Call) else type(node))
        if rule is None:
            return everything(node.dtype)
        left, right = (known[one] for one in node.children())
        return rule(left, right) or everything(node.dtype)

    def assume(self, condition: e.Expr) -> None:
        """Assume that ``condition`` holds until the end of the scope."""
        self._found = {}
        match condition:
            case e.And(a, b):
                self.assume(a)
                self.assume(b)
            case e.Less(a, b) | e.LessEqual(a, b):
                gap = 1 if isinstance(condition, e.Less) else 0
                self.conditions.append((a, (-_INF, self.of(b)[1] - gap)))
                self.conditions.append((b, (self.of(a)[0] + gap, _INF)))
            case e.Equal(a, b):
                self.conditions += [(a, self.of(b)), (b, self.of(a))]


def everything(dtype: str) -> Bound:
    """The range of ``dtype``. Floats and 64-bit ints have no limits, except that a uint64 is at least 0."""
    if dtype == "bool":
        return 0, 1
    if dtypes.is_float(dtype) or dtype not in {*dtypes.SIGNED, *dtypes.UNSIGNED}:
        return -_INF, _INF
    low, high = dtypes.limits(dtype)
    wide = dtypes.width(dtype) == 64
    return (-_INF if wide and low else low), (_INF if wide else high)


def _of_variable(var: e.Var) -> Bound:
    low, high = everything(var.dtype)
    return (0, _INF) if isinstance(var, e.SizeVar) else (low, high)


def _union(a: Bound, b: Bound) -> Bound:
    return min(a[0], b[0]), max(a[1], b[1])


def _corners(combine: Callable[[float, float], float], a: Bound, b: Bound) -> Bound:
    found = [combine(x, y) for x in a for y in b]
    return min(found), max(found)


def _product(x: float, y: float) -> float:
    return 0 if 0 in (x, y) else x * y


def _quotient(down: bool) -> Callable[[float, float], float]:
    """Integer division, rounding ``down`` or towards zero; for infinite operands, its limit."""

    def divide(x: float, y: float) -> float:
        if math.isinf(x):
            return x if y > 0 else -x
        if math.isinf(y):
            return -1 if down and x and (x < 0) != (y < 0) else 0
        whole = int(x) // int(y)
        return whole if down or whole >= 0 or whole * y == x else whole + 1

    return divide


def _division(down: bool) -> Callable[[Bound, Bound], Bound | None]:
    """The rule for the bound of a quotient, whose divisor is assumed not to be 0."""
    divide = _quotient(down)

    def rule(a: Bound, b: Bound) -> Bound | None:
        parts = [part for part in ((b[0], min(b[1], -1)), (max(b[0], 1), b[1])) if part[0] <= part[1]]
        bounds = [_corners(divide, a, part) for part in parts]
        return (min(x for x, _ in bounds), max(x for _, x in bounds)) if bounds else None

    return rule


def _floormod(a: Bound, b: Bound) -> Bound | None:
    if b[0] == 0:
        b = (1, b[1])  # a divisor is not 0
    if b[0] <= 0:
        return min(0, b[0] + 1), max(0, b[1] - 1)
    if a[0] >= 0:
        return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))
    return 0, b[1] - 1


def _truncmod(a: Bound, b: Bound) -> Bound | None:
    if b[0] <= 0 and a[0] < 0:
        most = max(abs(b[0]), abs(b[1])) - 1
        return max(a[0], -most), min(max(a[1], 0), most)
    if b[0] < 0:
        return 0, min(a[1], max(abs(b[0]), abs(b[1])) - 1)
    if a[0] >= 0:
        return _floormod(a, b)
    return max(a[0], 1 - b[1]), min(max(a[1], 0), b[1] - 1)


def _bitwise_and(a: Bound, b: Bound) -> Bound | None:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else None


def _shift_right(a: Bound, b: Bound) -> Bound | None:
    if b[0] < 0:
        return None
    return _corners(lambda x, y: x if math.isinf(x) else int(x) >> int(min(y, 64)), a, b)


_RULES: dict[Any, Callable[[Bound, Bound], Bound | None]] = {
    e.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    e.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    e.Mul: lambda a, b: _corners(_product, a, b),
    e.Min: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    e.Max: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    e.FloorDiv: _division(down=True),
    e.TruncDiv: _division(down=False),
    e.FloorMod: _floormod,
    e.TruncMod: _truncmod,
    "bitwise_and": _bitwise_and,
    "shift_right": _shift_right,
}
"""Rules that compute the bound of an operation from those of its two operands; None if nothing is known."""
