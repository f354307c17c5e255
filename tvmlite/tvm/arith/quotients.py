"""Shorter forms of quotients and remainders of ints: by bounds, and by factors that both sides have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.te import expr as e
from tvmlite.tvm.arith.const_int_bound import Bound

_DIVISIONS = (e.FloorDiv, e.TruncDiv)
_REMAINDERS = (e.FloorMod, e.TruncMod)


def shorter(node: Any, bound: Callable[[e.Expr], Bound]) -> Any:
    """``node``, a quotient or a remainder, as less than that where one of the rules holds; else itself.
    Divisors are taken not to be 0."""
    if not isinstance(node, _DIVISIONS + _REMAINDERS) or node.lanes != 1 or not dtypes.is_int(node.dtype):
        return node
    if isinstance(node, e.TruncMod) and isinstance(node.b, e.Const) and node.b.value < 0:
        node = e.TruncMod(node.a, e.const(-int(node.b.value), node.dtype))  # it has the sign of the dividend
    if isinstance(node, e.TruncMod) and isinstance(node.a, e.Mul) and e.is_const(node.a.b, -1):
        return e.fold(e.TruncMod, node.a.a, node.b) * -1
    if isinstance(node.b, e.Const) and node.b.value > 0:
        made = _by_constant(node, int(node.b.value), bound)
        if made is not node:
            return made
    return _without_common_factors(node)


def _by_constant(node: e.Binary, by: int, bound: Callable[[e.Expr], Bound]) -> e.Expr:
    low, high = bound(node.a)
    if isinstance(node, (e.TruncDiv, e.TruncMod)) and -by < low and high < by:
        return e.const(0, node.dtype) if isinstance(node, e.TruncDiv) else node.a
    match node:
        case e.TruncDiv(e.TruncDiv(a, e.Const(inner)), _) if inner > 0:
            return e.fold(e.TruncDiv, a, e.const(int(inner) * by, node.dtype))
        case e.TruncDiv(e.Mul(e.TruncDiv(a, e.Const(inner)), e.Const(times)), _) | e.FloorDiv(
            e.Mul(e.FloorDiv(a, e.Const(inner)), e.Const(times)), _
        ) if inner == times and inner > 0 and by % times == 0:
            return e.fold(type(node), a, node.b)  # a / 2 * 2 / 4: what a / 2 drops, / 4 drops too
        case e.FloorDiv(e.FloorMod(e.FloorDiv(a, e.Const(inner)), e.Const(m)), _) if inner > 0 and m > 0:
            whole = e.fold(e.FloorMod, a, e.const(int(inner) * int(m), node.dtype))
            return e.fold(e.FloorDiv, whole, e.const(int(inner) * by, node.dtype))
        case e.TruncMod(e.Mul(e.TruncDiv(e.TruncMod(a, e.Const(m)), e.Const(inner)), e.Const(times)), _) if (
            inner == times and inner > 0 and by % times == 0 and m % by == 0
        ):
            return e.fold(e.TruncDiv, e.fold(e.TruncMod, a, node.b), e.const(inner, node.dtype)) * times
    return node


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


def _without_common_factors(node: e.Binary) -> e.Expr:
    """``x * g / (y * g)`` is ``x / y``, and ``x * g % (y * g)`` is ``x % y * g``."""
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
