"""Other vector rules: conversions, conditions and masks, and quotients and comparisons linear in the lane."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.conditions import negate
from tvmlite.te.arith.vector import Lanes
from tvmlite.te.loop import ir

Linear = tuple[e.Expr, e.Expr]
"""Base and stride of a vector that is linear in the lane."""


def node(vectors: Lanes, node: e.Expr) -> e.Expr:
    """The canonical form of a conversion, condition, call or masked load whose children are simplified."""
    get = vectors.scalars.expr
    match node:
        case e.Cast(dtype, value):
            return _cast(vectors, node, dtype, get(value))
        case e.Not(a):
            return _not(vectors, node, get(a))
        case e.Select(condition, a, b) | e.Call("if_then_else", (condition, a, b)):
            test = get(condition)
            if isinstance(test, e.Const):
                return get(a if test.value else b)
        case e.Call("likely", (a,)):
            return get(a)
        case ir.Load(buffer, indices, predicate) if predicate is not None:
            test = get(predicate)
            if isinstance(test, e.Const):
                loaded = ir.Load(buffer, tuple(map(get, indices)))
                return loaded if test.value else e.const(0, node.dtype, node.lanes)
    return node.map_children(get)


def linear_binary(vectors: Lanes, node: e.Binary, x: Linear, y: Linear) -> e.Expr | None:
    """Simplify a quotient or comparison of vectors that are linear in the lane; None if impossible."""
    make = type(node)
    if make in (e.FloorDiv, e.FloorMod) or (
        make in (e.TruncDiv, e.TruncMod) and _rounds_down(vectors, x, y, node.lanes)
    ):
        return _division(vectors, make, x, y, node.lanes)
    if make in (e.Less, e.LessEqual, e.Min, e.Max):
        return _comparison(vectors, node, x, y)
    return None


def _rounds_down(vectors: Lanes, x: Linear, y: Linear, lanes: int) -> bool:
    """Whether truncating division of the vectors equals floored division, as nothing is negative."""
    (base, stride), (divisor, step) = x, y
    bounds, poly = vectors.scalars.bounds, vectors.scalars.poly
    first, last = poly(base), p.add(poly(base), poly(stride), lanes - 1)
    if not e.is_const(step, 0) or not bounds.prove_positive(poly(divisor)):
        return False
    return bounds.prove_nonnegative(first) and bounds.prove_nonnegative(last)


def _division(vectors: Lanes, make: type[e.Binary], x: Linear, y: Linear, lanes: int) -> e.Expr | None:
    """``ramp(b, s) // d`` and ``% d`` if ``d`` divides ``s``, or no multiple of ``d`` is crossed; otherwise
    ``% d`` with ``b`` reduced."""
    (base, stride), (divisor, step) = x, y
    if not e.is_const(step, 0) or not isinstance(stride, e.Const):
        return None
    zero, is_quotient = e.const(0, base.dtype), make in (e.FloorDiv, e.TruncDiv)
    whole, rest = vectors.scalar(e.FloorDiv, base, divisor), vectors.scalar(e.FloorMod, base, divisor)
    s = int(stride.value)
    if isinstance(divisor, e.Const) and divisor.value and s % int(divisor.value) == 0:
        if not is_quotient:
            return vectors.make(rest, zero, lanes)
        return vectors.make(whole, e.const(s // int(divisor.value), base.dtype), lanes)
    first = vectors.scalars.poly(rest)
    last = p.add(first, p.constant(s * (lanes - 1)))
    end, prove = vectors.scalars.poly(divisor), vectors.scalars.bounds.prove_within
    if prove(last, end) and prove(first, end):
        return vectors.make(whole, zero, lanes) if is_quotient else vectors.make(rest, stride, lanes)
    if not is_quotient and isinstance(rest, e.Const) and not isinstance(base, e.Const):
        return make(vectors.make(rest, stride, lanes), vectors.broadcast(divisor, divisor, lanes))
    return None


def _comparison(vectors: Lanes, node: e.Binary, x: Linear, y: Linear) -> e.Expr | None:
    """Decide a comparison, minimum or maximum on which the first and the last lane agree."""
    gap = vectors.scalars.poly(vectors.scalar(e.Sub, y[0], x[0]))
    slope = vectors.scalars.poly(vectors.scalar(e.Sub, y[1], x[1]))
    ends = (gap, p.add(gap, slope, node.lanes - 1))
    prove = vectors.scalars.bounds.prove_nonnegative
    strict = p.constant(1 if isinstance(node, e.Less) else 0)
    if all(prove(p.add(end, strict, -1)) for end in ends):
        sure = True
    elif all(prove(p.add(p.add(strict, end, -1), p.constant(-1))) for end in ends):
        sure = False
    else:
        return None
    if isinstance(node, e.Compare):
        return e.const(sure, "bool", node.lanes)
    taken = x if sure == isinstance(node, e.Min) else y
    return vectors.make(*taken, node.lanes)


def _cast(vectors: Lanes, node: e.Expr, dtype: str, value: e.Expr) -> e.Expr:
    parts = vectors.linear(value)
    if parts is not None and e.is_const(parts[1], 0):
        return vectors.broadcast(node, vectors.scalars.simplify(e.cast(dtype, parts[0])), node.lanes)
    if parts is not None and value.dtype in ("int32", "int64") and dtype in ("int32", "int64"):
        base, stride = (vectors.scalars.simplify(e.cast(dtype, part)) for part in parts)
        return vectors.make(base, stride, node.lanes)
    assert isinstance(node, e.Cast)
    return node if value is node.value else e.Cast(dtype, value)


def _not(vectors: Lanes, node: e.Expr, a: e.Expr) -> e.Expr:
    match a:
        case e.Const() | e.Not():
            return negate(vectors.scalars, a)
        case e.Less(x, y) if dtypes.is_int(x.dtype):
            return e.LessEqual(y, x)
        case e.LessEqual(x, y) if dtypes.is_int(x.dtype):
            return e.Less(y, x)
    return node.map_children(vectors.scalars.expr)
