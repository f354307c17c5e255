"""Cancels common factors in quotients and remainders of products."""

from __future__ import annotations

import math
from typing import Any

from tvmlite.core.alike import alike
from tvmlite.te import expr as e
from tvmlite.tvm.arith.pattern import DTYPES

_DIVISIONS = (e.FloorDiv, e.TruncDiv)
_REMAINDERS = (e.FloorMod, e.TruncMod)


def reduced(node: Any) -> Any:
    """Rewrite ``x * g / (y * g)`` to ``x / y``, and ``x * g % (y * g)`` to ``x % y * g``; else return
    ``node``. Divisors are assumed not to be 0."""
    if not isinstance(node, _DIVISIONS + _REMAINDERS) or node.lanes != 1 or node.dtype not in DTYPES:
        return node
    above, dividends = _factors(node.a)
    below, divisors = _factors(node.b)
    common: list[e.Expr] = []
    for one in divisors[:]:
        same = next((k for k, other in enumerate(dividends) if alike(one, other)), None)
        if same is not None:
            common.append(dividends.pop(same))
            divisors.remove(one)
    shared = math.gcd(above, below) if above and below else 1
    if not common and shared == 1:
        return node
    a = _product(above // shared, dividends, node.dtype)
    b = _product(below // shared, divisors, node.dtype)
    if isinstance(node, _DIVISIONS):
        return a if e.is_const(b, 1) else e.fold(type(node), a, b)
    if e.is_const(b, 1):
        return e.const(0, node.dtype)
    rest = e.fold(type(node), a, b)
    return rest * _product(shared, common, node.dtype)


def _factors(expr: e.Expr) -> tuple[int, list[e.Expr]]:
    """The constant and the other factors of a product."""
    constant, others, stack = 1, [], [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, e.Mul):
            stack += (one.b, one.a)
        elif isinstance(one, e.Const):
            constant *= int(one.value)
        else:
            others.append(one)
    return constant, others


def _product(constant: int, others: list[e.Expr], dtype: str) -> e.Expr:
    made: e.Expr | None = None
    for one in others:
        made = one if made is None else made * one
    if made is None:
        return e.const(constant, dtype)
    return made if constant == 1 else made * constant
