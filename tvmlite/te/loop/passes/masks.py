"""Vectorization of statements under conditions, which become masks, and of Lets and local arrays, which get
one value per lane."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import mentions, same
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.loop.passes.lanes import CannotVectorize, Lanes
from tvmlite.te.loop.walk import buffers_written, loads


def statement(rewriter: Lanes, stmt: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
    """``stmt``, of a type that ``Lanes`` leaves to this module, in all lanes."""
    match stmt:
        case ir.If():
            return _branch(rewriter, stmt, mask)
        case ir.Let():
            return _let(rewriter, stmt, mask)
        case ir.Allocate():
            return _allocate(rewriter, stmt, mask)
        case ir.Evaluate(e.Call(name) as hint) if name in PREFETCHES:
            if any(one.buffer in rewriter.private for one in loads(hint)):
                return ir.Seq(())  # private copies are in cache
            return substitute(stmt, {rewriter.var: rewriter.begin})
        case _:
            raise CannotVectorize


def _branch(rewriter: Lanes, branch: ir.If, mask: e.Expr | None) -> ir.Stmt:
    condition = rewriter.expr(branch.condition, mask)
    if condition.lanes == 1:
        then = rewriter.stmt(branch.then, mask)
        otherwise = None if branch.otherwise is None else rewriter.stmt(branch.otherwise, mask)
        return ir.If(condition, then, otherwise)
    read = {one.buffer for one in loads(condition)}
    if read and (branch.otherwise is not None or read & buffers_written(branch.then)):
        raise CannotVectorize  # a store in the body could change the condition
    then = _masked(rewriter, branch.condition, condition, branch.then, mask)
    if branch.otherwise is None:
        return then
    opposite = e.Not(branch.condition)
    return ir.sequence(
        then, _masked(rewriter, opposite, rewriter.expr(opposite, mask), branch.otherwise, mask)
    )


def _masked(rewriter: Lanes, scalar: e.Expr, vector: e.Expr, body: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
    """``body`` in the lanes where the condition holds, given for one lane and for all (``vector``)."""
    if isinstance(vector, e.Const):
        return rewriter.stmt(body, mask) if vector.value else ir.Seq(())
    deciding = _deciding_lane(rewriter, vector)
    outer, rewriter.strict = rewriter.strict, rewriter.strict or deciding is None
    rewriter.conditions.append(scalar)
    try:
        with rewriter.analyzer.scope():
            result = rewriter.stmt(body, rewriter.both(vector, mask))
    finally:
        rewriter.conditions.pop()
        rewriter.strict = outer
    if deciding is None:
        return result
    at = e.fold(e.Add, rewriter.begin, e.const(deciding, rewriter.begin.dtype))
    some = rewriter.analyzer.simplify(substitute(scalar, {rewriter.var: at}))
    return result if e.is_const(some, 1) else ir.If(some, result)


def _deciding_lane(rewriter: Lanes, condition: e.Expr) -> int | None:
    """The first or last lane, if ``condition`` is monotone so that it is active whenever any lane is."""
    match condition:
        case e.And(a, b):
            first, second = _deciding_lane(rewriter, a), _deciding_lane(rewriter, b)
            return first if first == second else None
        case e.Const() | e.Broadcast():
            return 0
        case e.Less(a, b) | e.LessEqual(a, b):
            slopes = [_slope(a), _slope(b)]
            if slopes[0] is None or slopes[1] is None:
                return None
            return 0 if slopes[1] <= slopes[0] else rewriter.lanes - 1
    return None


def _let(rewriter: Lanes, let: ir.Let, mask: e.Expr | None) -> ir.Stmt:
    """A Let in lanes: its variable becomes a vector if its value does."""
    value = rewriter.expr(let.value, mask)
    var = let.var
    if value.lanes > 1:
        var = e.Var(let.var.name, let.var.dtype, value.lanes)
        rewriter.vectors[let.var] = var
    return ir.Let(var, value, _all_in_lanes(rewriter, let.body, mask))


def _all_in_lanes(rewriter: Lanes, body: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
    """``body`` entirely in lanes, else ``CannotVectorize``; memoized values of a rebound name are dropped."""
    rewriter.memo.clear()
    rewriter.whole += 1
    try:
        return rewriter.stmt(body, mask)
    finally:
        rewriter.whole -= 1


def _allocate(rewriter: Lanes, allocate: ir.Allocate, mask: e.Expr | None) -> ir.Stmt:
    """Give each lane a private copy of the buffer, interleaved as if along a new innermost axis."""
    buffer = allocate.buffer
    if buffer.strides or any(mentions(x, tuple(rewriter.vectors)) for x in buffer.shape):  # type: ignore[arg-type]
        raise CannotVectorize
    lanes = e.const(rewriter.lanes, e.INDEX)
    flat = len(buffer.shape) == 1
    wide = replace(buffer, shape=(buffer.shape[0] * lanes,) if flat else (*buffer.shape, lanes))
    rewriter.private[buffer] = wide
    return ir.Allocate(wide, _all_in_lanes(rewriter, allocate.body, mask))


def private_indices(rewriter: Lanes, indices: tuple[e.Expr, ...]) -> tuple[e.Expr, ...]:
    """The indices of all lanes' private copies of an element; a single index stays a flat one."""
    number = e.Ramp(e.const(0, e.INDEX), e.const(1, e.INDEX), rewriter.lanes)
    if len(indices) != 1:
        return (*indices, number)
    if indices[0].lanes == 1:
        return (
            rewriter.analyzer.simplify(
                e.Ramp(indices[0] * rewriter.lanes, e.const(1, e.INDEX), rewriter.lanes)
            ),
        )
    return (rewriter.analyzer.simplify(indices[0] * rewriter.lanes + number),)


def lazy(rewriter: Lanes, node: e.Call, mask: e.Expr | None) -> e.Expr:
    """``if_then_else``: a scalar condition stays lazy, a vector condition masks the loads of each side."""
    condition = rewriter.expr(node.args[0], mask)
    if isinstance(condition, e.Const):
        return rewriter.expr(node.args[1 if condition.value else 2], mask)
    if condition.lanes == 1:
        a, b = (rewriter.expr(arg, mask) for arg in node.args[1:])
        lanes = max(a.lanes, b.lanes)
        return e.Call("if_then_else", (condition, e.broadcast(a, lanes), e.broadcast(b, lanes)), node.dtype)
    opposite = rewriter.analyzer.simplify(e.Not(condition))
    strict, rewriter.strict = rewriter.strict, True
    a = rewriter.expr(node.args[1], chosen := rewriter.both(condition, mask))
    b = rewriter.expr(node.args[2], rewriter.both(opposite, mask))
    rewriter.strict = strict
    zero = isinstance(b, e.Const) and b.value == 0 and str(b.value)[0] != "-"
    if zero and isinstance(a, ir.Load) and a.predicate is not None and same(a.predicate, chosen):
        return a  # lanes that are not loaded are 0
    return e.Select(condition, e.broadcast(a, rewriter.lanes), e.broadcast(b, rewriter.lanes))


def _slope(expr: e.Expr) -> int | None:
    match expr:
        case e.Ramp(_, e.Const(value)):
            return int(value)
        case e.Broadcast() | e.Const():
            return 0
    return None
