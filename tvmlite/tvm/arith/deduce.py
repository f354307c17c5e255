"""Conditions and expressions that are linear in a variable: its coefficients, and what it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer as Known
from tvmlite.te.arith import mentions
from tvmlite.tvm.arith.int_set import NEG_INF, NOTHING, POS_INF, IntervalSet, evaluate, set_of


def detect_linear_equation(expr: Any, var_list: Sequence[Any]) -> list[e.Expr]:
    """The coefficients of the variables in ``expr``, then what is added to them; empty if ``expr`` is not
    linear in them."""
    rest = e.scalar("detect_linear_equation: expr", expr)
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
    """What ``var`` may be, so that ``cond``, a comparison that has it once, holds, for all values in
    ``relax_map`` of the variables there; ``hint_map`` has what others are. Nothing if that is not found."""
    variable = getattr(var, "var", var)
    arguments.instance("deduce_bound: var", variable, e.Var, "a te.var")
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
    if isinstance(cond, e.Equal):
        exact = known.simplify(e.FloorMod(*e.match(rest, factor)))
        value = known.simplify(e.FloorDiv(*e.match(0 - rest, factor)))
        return IntervalSet(value, value) if e.is_const(exact, 0) else NOTHING
    worst = evaluate(rest, relax_map, known).min_value
    if worst is NEG_INF or mentions(factor, [getattr(one, "var", one) for one in relax_map]):
        return NOTHING
    # factor * var + worst >= 0
    if known.prove(factor > 0):
        return IntervalSet(known.simplify(e.FloorDiv(*e.match(factor - worst - 1, factor))), POS_INF)
    if known.prove(factor < 0):
        return IntervalSet(NEG_INF, e.fold(e.FloorDiv, *e.match(0 - worst, factor)))
    return NOTHING


def _count(expr: e.Expr, var: e.Var) -> int:
    """How often ``var`` stands in ``expr``."""
    return 1 if expr is var else sum(_count(one, var) for one in expr.children() if isinstance(one, e.Expr))
