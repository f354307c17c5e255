"""Expressions and conditions that are linear in a variable: its coefficient, and bounds of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer as Known
from tvmlite.te.arith import mentions
from tvmlite.tvm.arith.extremes import compared
from tvmlite.tvm.arith.int_set import NEG_INF, NOTHING, POS_INF, IntervalSet, evaluate, set_of
from tvmlite.tvm.written import plain


def detect_linear_equation(expr: Any, var_list: Sequence[Any]) -> list[e.Expr]:
    """Return the coefficients of the variables in ``expr``, then the remaining term; an empty list if
    ``expr`` is not linear in them."""
    rest = plain(e.scalar("detect_linear_equation: expr", expr))
    variables = [getattr(one, "var", one) for one in arguments.listed("var_list", var_list, "te.vars")]
    coefficients: list[e.Expr] = []
    for var in variables:
        arguments.instance("detect_linear_equation: var_list", var, e.Var, "a te.var")
        found = _linear(rest, var)
        if found is None:
            return []
        coefficients.append(found[0])
        rest = found[1]
    if any(mentions(one, variables) for one in coefficients):
        return []
    return [*coefficients, rest]


def _linear(expr: e.Expr, var: e.Var) -> tuple[e.Expr, e.Expr] | None:
    """``(c, rest)`` with ``expr = c * var + rest``, both free of ``var``."""
    zero = e.const(0, expr.dtype)
    if expr is var:
        return e.const(1, expr.dtype), zero
    if not mentions(expr, [var]):
        return zero, expr
    if not isinstance(expr, (e.Add, e.Sub, e.Mul)):
        return None
    left, right = _linear(expr.a, var), _linear(expr.b, var)
    if left is None or right is None:
        return None
    (a, x), (b, y) = left, right
    if isinstance(expr, e.Mul):
        if e.is_const(a, 0):
            return x * b, x * y
        return (a * y, x * y) if e.is_const(b, 0) else None
    return (a + b, x + y) if isinstance(expr, e.Add) else (a - b, x - y)


def deduce_bound(
    var: Any, cond: e.Expr, hint_map: Mapping[Any, Any], relax_map: Mapping[Any, Any]
) -> IntervalSet:
    """Return the values of ``var`` for which ``cond``, a comparison in which it occurs once, holds for all
    values of the variables in ``relax_map``. ``hint_map`` has ranges of other variables. The result is the
    empty set if no bound is found."""
    variable = getattr(var, "var", var)
    arguments.instance("deduce_bound: var", variable, e.Var, "a te.var")
    cond = plain(cond)
    known = Known()
    for one, given in hint_map.items():
        hint = set_of(given)
        known.bind(getattr(one, "var", one), hint.min_value, hint.max_value - hint.min_value + 1)
    match cond:
        case e.LessEqual(a, b):
            gap = b - a
        case e.Less(a, b):
            gap = b - a - 1
        case e.Equal(a, b):
            gap = b - a
        case _:
            return NOTHING
    if _count(cond, variable) != 1 or gap.dtype == "bool":
        return NOTHING
    found = _linear(gap, variable)
    if found is None:
        return NOTHING
    factor, rest = found
    relaxed = [getattr(one, "var", one) for one in relax_map]
    if mentions(factor, relaxed) or (isinstance(cond, e.Equal) and mentions(rest, relaxed)):
        return NOTHING
    worst = rest if isinstance(cond, e.Equal) else evaluate(rest, relax_map, known).min_value
    if worst is NEG_INF or not (known.prove(factor > 0) or known.prove(factor < 0)):
        return NOTHING
    # factor * var >= -worst, or == -worst
    quotient = e.fold(e.FloorDiv, *e.match(0 - worst, factor))
    divides = e.is_const(known.simplify(e.fold(e.FloorMod, *e.match(0 - worst, factor))), 0)
    if isinstance(cond, e.Equal):
        exact = divides and isinstance(factor, e.Const)  # TVM does not know that b // b is 1
        return IntervalSet(quotient, quotient) if exact else NOTHING
    if known.prove(factor < 0):
        return IntervalSet(NEG_INF, quotient)
    return IntervalSet(quotient if divides else quotient + 1, POS_INF)


def detect_clip_bound(expr: e.Expr, var_list: Sequence[Any]) -> list[Any]:
    """Return for each variable the least and the greatest value for which ``expr``, a conjunction of
    comparisons, holds, or None for no limit. Empty if a comparison is not linear in exactly one variable."""
    variables = [getattr(one, "var", one) for one in arguments.listed("var_list", var_list, "te.vars")]
    ends: dict[Any, list[Any]] = {one: [None, None] for one in variables}
    for one in _conditions(plain(e.scalar("detect_clip_bound: expr", expr))):
        within = [var for var in variables if mentions(one, [var])]
        if len(within) != 1:
            return []
        found = deduce_bound(within[0], one, {}, {})
        if found.is_nothing():
            return []
        known = ends[within[0]]
        for k, (end, keep) in enumerate(((found.min_value, e.Max), (found.max_value, e.Min))):
            if end not in (NEG_INF, POS_INF):
                known[k] = end if known[k] is None else e.fold(keep, *e.match(known[k], end))
    return [end for one in variables for end in ends[one]]


def _conditions(expr: e.Expr) -> list[e.Expr]:
    expr = compared(expr)  # min(a, b) > 3 is two conditions
    return [*_conditions(expr.a), *_conditions(expr.b)] if isinstance(expr, e.And) else [expr]


def _count(expr: e.Expr, var: e.Var) -> int:
    """The number of occurrences of ``var`` in ``expr``."""
    return 1 if expr is var else sum(_count(one, var) for one in expr.children() if isinstance(one, e.Expr))
