"""Assumptions, and the simplification of conditions, conversions, selections, calls and truncating division.

Indices of plain float32 loops contain none of these: the core loads this module when it finds the first.
"""

from __future__ import annotations

from math import gcd

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import interval as iv
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.division import without
from tvmlite.te.arith.polynomial import Poly
from tvmlite.te.arith.simplify import FALSE, INDEX_DTYPES, TRUE, Result, Simplifier, same
from tvmlite.te.loop import ir

_RANGES = {d: iv.Interval(*map(int, dtypes.limits(d))) for d in (*dtypes.SIGNED, *dtypes.UNSIGNED)}


def node(core: Simplifier, node: e.Expr) -> Result:
    """Simplify a scalar conversion, selection, call, ``not`` or masked load whose children are simplified."""
    match node:
        case e.Cast():
            return _cast(core, node)
        case e.Select(condition, a, b):
            return _select(core, node, condition, a, b)
        case e.Not(a):
            return negate(core, core.expr(a))
        case e.Call():
            return _call(core, node)
        case ir.Load() if node.predicate is not None:
            predicate = core.expr(node.predicate)
            if isinstance(predicate, e.Const):
                if not predicate.value:
                    return core.opaque(e.const(0, node.dtype))
                return ir.Load(node.buffer, tuple(map(core.expr, node.indices)))
    return core.opaque(node.map_children(core.expr))


def assume(core: Simplifier, condition: e.Expr) -> None:
    """Assume ``condition``, a bool, from now on."""
    condition = core.simplify(condition)
    match condition:
        case e.And(a, b):
            assume(core, a)
            assume(core, b)
        case e.Equal(a, b) if a.dtype in INDEX_DTYPES and a.lanes == 1:
            gap = p.add(core.poly(a), core.poly(b), -1)
            core.bounds.assume(gap)
            core.bounds.assume(p.scale(gap, -1))
        case e.NotEqual(a, b) if a.dtype in INDEX_DTYPES and a.lanes == 1:
            gap = p.add(core.poly(a), core.poly(b), -1)
            for side in (gap, p.scale(gap, -1)):
                if core.bounds.prove_nonnegative(side):
                    core.bounds.assume(p.add(side, p.constant(-1)))
        case e.Not(e.Or(a, b)):
            assume(core, e.Not(a))
            assume(core, e.Not(b))
        case _:
            gap = core.difference(condition)
            if gap is None and isinstance(condition, e.Less) and condition.a.dtype in INDEX_DTYPES:
                if condition.lanes == 1:
                    gap = p.add(core.poly(condition.b), core.poly(condition.a), -1)
            if gap is not None:
                core.bounds.assume(p.add(gap, p.constant(-1)))
    core.memo = {}


def truncated(core: Simplifier, make: type[e.Binary], a: Poly, b: Poly, dtype: str) -> Result:
    """``make(a, b)``, a quotient rounded towards zero or its remainder, in index arithmetic."""
    x, y = p.value_of(a), p.value_of(b)
    if x is not None and y is not None:
        folded = e.fold(make, e.const(x, dtype), e.const(y, dtype))
        assert isinstance(folded, e.Const)
        return p.constant(int(folded.value))
    if y and all(c % y == 0 for c in a.values()):
        return {m: c // y for m, c in a.items()} if make is e.TruncDiv else {}
    if core.bounds.prove_nonnegative(a) and core.bounds.prove_positive(b):
        rule = core.quotients.floordiv if make is e.TruncDiv else core.quotients.floormod
        return rule(a, b, dtype)
    return core.opaque_binary(make, a, b, dtype)


def equality(core: Simplifier, d: Poly, equal: bool, dtype: str) -> e.Expr:
    """The condition ``d == 0``, or ``d != 0`` if not ``equal``, decided if possible."""
    low, high = core.bounds.interval(d)
    if low == high == 0:
        return TRUE if equal else FALSE
    factor = gcd(*(c for m, c in d.items() if m))
    never_zero = (low is not None and low > 0) or (high is not None and high < 0)
    if never_zero or (factor and d.get((), 0) % factor):
        return FALSE if equal else TRUE
    if core.bounds.prove_positive(d) or core.bounds.prove_positive(p.scale(d, -1)):
        return FALSE if equal else TRUE
    if factor > 1:
        d = {m: c // factor for m, c in d.items()}
    if next(iter(core.atoms._ordered(d)))[1] > 0:
        d = p.scale(d, -1)
    if sum(abs(c) for m, c in d.items() if m) == 1 and not _RANGES[dtype].contains(d.get((), 0)):
        return FALSE if equal else TRUE  # a value outside the range of its dtype
    return core.ordered(e.Equal if equal else e.NotEqual, d, dtype)


def negate(core: Simplifier, a: e.Expr) -> e.Expr:
    """``not a``, pushed inwards where that costs nothing."""
    d = core.difference(a)
    if d is not None:
        return core.positive(p.add(p.constant(1), d, -1), a.a.dtype)  # type: ignore[attr-defined]
    match a:
        case e.Const(value, _, lanes):
            return e.const(not value, "bool", lanes)
        case e.Not(inner):
            return inner
        case e.Equal(x, y):
            return e.NotEqual(x, y)
        case e.NotEqual(x, y):
            return e.Equal(x, y)
        case _:
            return e.Not(a)


def junction(core: Simplifier, make: type[e.Binary], a: e.Expr, b: e.Expr) -> e.Expr:
    """``a and b`` (or ``a or b``), without constants and parts that are implied by others."""
    neutral = make is e.And
    for x, y in ((a, b), (b, a)):
        if isinstance(x, e.Const):
            return y if bool(x.value) == neutral else x
    kept: list[e.Expr] = []
    for part in (*_parts(make, a), *_parts(make, b)):
        if any(_implies(core, k, part, neutral) for k in kept):
            continue
        kept = [k for k in kept if not _implies(core, part, k, neutral)]
        kept.append(part)
    result = kept[0]
    for part in kept[1:]:
        result = make(result, part)
    return result


def _implies(core: Simplifier, a: e.Expr, b: e.Expr, neutral: bool) -> bool:
    """Whether ``b`` is redundant beside ``a`` in a conjunction (``neutral``) or disjunction."""
    if same(a, b):
        return True
    x, y = core.difference(a), core.difference(b)
    if x is None or y is None:
        return False
    gap = p.value_of(p.add(y, x, -1))
    return gap is not None and (gap >= 0 if neutral else gap <= 0)


def _cast(core: Simplifier, node: e.Cast) -> Result:
    result = core.memo[node.value]
    if isinstance(result, e.Expr):
        return core.opaque(node if result is node.value else e.cast(node.dtype, result))
    number = p.value_of(result)
    if number is not None:
        return core.visit(e.const(number, node.dtype))
    if node.dtype == "int64" or node.dtype == node.value.dtype:
        return _without_casts(core, result)
    if node.dtype in INDEX_DTYPES:
        low, high = core.bounds.interval(result)
        limits = _RANGES[node.dtype]
        if low is not None and high is not None and limits.contains(low) and limits.contains(high):
            return result
    value = core.expr(node.value)
    return core.opaque(node if same(value, node.value) else e.Cast(node.dtype, value))


def _without_casts(core: Simplifier, poly: Poly) -> Poly:
    """``poly`` without casts to int32 of values that are now known to be in range."""
    for monomial, c in poly.items():
        for atom in monomial:
            match core.atoms[atom].expr:
                case e.Cast("int32", value) if value.dtype == "int64":
                    inner = core.poly(value)
                    low, high = core.bounds.interval(inner)
                    fits = low is not None and high is not None
                    if fits and _RANGES["int32"].contains(low) and _RANGES["int32"].contains(high):  # type: ignore[arg-type]
                        rest = {m: k for m, k in poly.items() if m != monomial}
                        others = without(monomial, (atom,)) or ()
                        return _without_casts(core, p.add(rest, p.multiply({others: c}, inner)))
    return poly


def _select(core: Simplifier, node: e.Expr, condition: e.Expr, a: e.Expr, b: e.Expr) -> Result:
    """Simplify a ``Select`` or ``if_then_else`` with these children."""
    test = core.expr(condition)
    if isinstance(test, e.Const):
        return core.memo[a if test.value else b]
    left, right = core.memo[a], core.memo[b]
    if left is right or (isinstance(left, dict) and left == right):
        return left
    return core.opaque(node.map_children(core.expr))


def _call(core: Simplifier, node: e.Call) -> Result:
    if node.name == "likely":
        return core.expr(node.args[0])
    if node.name == "if_then_else":
        return _select(core, node, *node.args)
    return core.opaque(node.map_children(core.expr))


def _parts(make: type[e.Binary], root: e.Expr) -> list[e.Expr]:
    parts: list[e.Expr] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if type(node) is make:
            stack += [node.b, node.a]  # type: ignore[attr-defined]
        else:
            parts.append(node)
    return parts
