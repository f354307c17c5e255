"""The partial derivatives of a scalar expression with respect to the elements that it reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e

_UNARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "exp": lambda x, y: y,
    "log": lambda x, y: e.const(1.0, x.dtype) / x,
    "tanh": lambda x, y: e.const(1.0, x.dtype) - y * y,
    "sigmoid": lambda x, y: y * (e.const(1.0, x.dtype) - y),
    "sqrt": lambda x, y: e.const(0.5, x.dtype) / y,
    "rsqrt": lambda x, y: e.const(-0.5, x.dtype) * y / x,
    "sin": lambda x, y: te.cos(x),
    "cos": lambda x, y: -te.sin(x),
    "erf": lambda x, y: e.const(2 / math.sqrt(math.pi), x.dtype) * te.exp(-x * x),
    "fabs": lambda x, y: te.select(x >= 0, e.const(1.0, x.dtype), e.const(-1.0, x.dtype)),
}
"""The derivative of each function ``y = f(x)``, given ``x`` and ``y``."""
_STEPS = ("floor", "ceil", "round", "trunc", "nearbyint")
"""Functions whose derivative is 0 wherever it exists."""


@dataclass(frozen=True)
class Partial:
    """The derivative with respect to ``leaf``: ``value`` where all ``conditions`` hold, else 0."""

    leaf: Any
    value: e.Expr
    conditions: tuple[e.Expr, ...] = ()


def partials(expr: e.Expr, is_leaf: Callable[[e.Expr], bool]) -> list[Partial]:
    """The derivatives of ``expr`` with respect to the float nodes for which ``is_leaf`` holds, one for each
    occurrence in ``expr``. Raises an UnsupportedError for an expression that cannot be differentiated."""
    found: list[Partial] = []
    stack: list[tuple[e.Expr, e.Expr, tuple[e.Expr, ...]]] = [(expr, e.const(1.0, expr.dtype), ())]
    while stack:
        node, outer, conditions = stack.pop()
        if is_leaf(node):
            found.append(Partial(node, outer, conditions))
        elif dtypes.is_float(node.dtype) and any(is_leaf(one) for one in _below(node)):
            stack += [(a, b, (*conditions, *more)) for a, b, more in reversed(_steps(node, outer))]
    return found


def times(a: e.Expr, b: e.Expr) -> e.Expr:
    """``a * b``, without a factor of constant 1."""
    return b if e.is_const(a, 1) else a if e.is_const(b, 1) else a * b


def _below(node: e.Expr) -> Any:
    """``node`` and the nodes below it, except those below conditions and indices."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        if dtypes.is_float(one.dtype):
            stack += [child for child in one.children() if isinstance(child, e.Expr)]


def _steps(node: Any, outer: e.Expr) -> list[tuple[e.Expr, e.Expr, tuple[e.Expr, ...]]]:
    """For each operand of ``node`` to follow: the operand, ``outer`` times the derivative of ``node`` with
    respect to it, and the conditions under which it counts."""
    zero = e.const(0.0, outer.dtype)
    match node:
        case e.Add(a, b):
            return [(a, outer, ()), (b, outer, ())]
        case e.Sub(a, b):
            return [(a, outer, ()), (b, -outer, ())]
        case e.Mul(a, b):
            return [(a, times(outer, b), ()), (b, times(outer, a), ())]
        case e.Div(a, b):
            return [(a, outer / b, ()), (b, -outer * a / (b * b), ())]
        case e.Min(a, b):
            return _either(a <= b, a, b, outer, zero)
        case e.Max(a, b):
            return _either(a >= b, a, b, outer, zero)
        case e.Select(condition, a, b):
            return _either(condition, a, b, outer, zero)
        case e.Call("if_then_else", (condition, a, b)):
            return [(a, outer, (condition,)), (b, outer, (e.Not(condition),))]
        case e.Cast(_, value):
            return [(value, e.cast(value.dtype, outer), ())] if dtypes.is_float(value.dtype) else []
        case e.Call(name, (x,)) if name in _UNARY:
            return [(x, times(outer, _UNARY[name](x, node)), ())]
        case e.Call("pow", (x, y)):
            one = e.const(1.0, y.dtype)
            return [(x, outer * y * te.power(x, y - one), ()), (y, outer * te.log(x) * node, ())]
        case e.Call(name) if name in _STEPS:
            return []
    name = getattr(node, "name", type(node).__name__)
    raise UnsupportedError(f"te.gradient: {name} is not differentiated", Span.of_caller())


def _either(condition: Any, a: Any, b: Any, outer: Any, zero: Any) -> list[Any]:
    """The steps into ``a``, chosen where ``condition`` holds, and ``b``; both are always computed."""
    return [(a, te.select(condition, outer, zero), ()), (b, te.select(condition, zero, outer), ())]
