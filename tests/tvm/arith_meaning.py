"""The value of integer expressions in Python's numbers: a reference for simplified ones."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvmlite.te import expr as e


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


MEANING: dict[Any, Callable[[Any, Any], Any]] = {
    e.Add: operator.add,
    e.Sub: operator.sub,
    e.Mul: operator.mul,
    e.Min: min,
    e.Max: max,
    e.FloorDiv: operator.floordiv,
    e.FloorMod: operator.mod,
    e.TruncDiv: truncated,
    e.TruncMod: lambda a, b: a - truncated(a, b) * b,
    e.Less: operator.lt,
    e.LessEqual: operator.le,
    e.Equal: operator.eq,
    e.NotEqual: operator.ne,
    e.And: lambda a, b: a and b,
    e.Or: lambda a, b: a or b,
}


def value(node: Any, at: dict[Any, int]) -> Any:
    """The value of ``node`` in Python's numbers."""
    match node:
        case e.Const():
            return node.value
        case e.Var():
            return at[node]
        case e.Not(a):
            return not value(a, at)
        case e.Select(condition, a, b) | e.Call(_, (condition, a, b)):
            return value(a if value(condition, at) else b, at)
    return MEANING[type(node)](value(node.a, at), value(node.b, at))
