"""One loop's body carried out for all its turns at once, a lane each."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions, same
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.loop.walk import buffers_written, loads

_LAZY = "if_then_else"


class _Serial(Exception):
    """A statement cannot be carried out in lanes."""


class Lanes:
    """Rewrites the body of the loop ``for var in range(begin, begin + lanes)``.

    Every statement is done in all lanes before the next: that is what "vectorize" permits. ``mask`` is the
    condition, a vector, under which a lane is active; None when all are. A load that is the same in all
    lanes stays scalar under a statement's mask, as that statement runs only when its first (or last) lane
    is active; where that is not known, ``strict`` makes such loads masked vectors too.
    """

    def __init__(self, analyzer: Analyzer, var: e.Var, begin: e.Expr, lanes: int) -> None:
        self.analyzer, self.var, self.begin, self.lanes = analyzer, var, begin, lanes
        self.vectors: dict[e.Expr, e.Expr] = {var: e.Ramp(begin, e.const(1, begin.dtype), lanes)}
        self.private: dict[ir.Buffer, ir.Buffer] = {}
        self.conditions: list[e.Expr] = []
        self.whole = 0
        self.memo: dict[tuple[e.Expr | None, bool], dict[e.Expr, e.Expr]] = {}
        self.strict = False

    def run(self, body: ir.Stmt) -> ir.Stmt:
        return self.stmt(body, None)

    # -- statements

    def stmt(self, stmt: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
        try:
            return self.in_lanes(stmt, mask)
        except _Serial:
            if self.whole:  # an outer statement has to be serial with this one
                raise
            return self.serial(stmt)

    def serial(self, stmt: ir.Stmt) -> ir.Stmt:
        """One lane after the other, those that are active."""
        if self.conditions:
            stmt = ir.If(e.all_of(self.conditions), stmt)
        var = e.Var(self.var.name, self.var.dtype)
        extent = e.const(self.lanes, self.var.dtype)
        return ir.For(var, self.begin, extent, substitute(stmt, {self.var: var}))

    def in_lanes(self, stmt: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
        match stmt:
            case ir.Store():
                return self.store(stmt, mask)
            case ir.Seq(body):
                return ir.sequence(*(self.stmt(one, mask) for one in body))
            case ir.For(_, begin, extent, body):
                begin, extent = self.scalar(begin), self.scalar(extent)
                with self.analyzer.scope():
                    self.analyzer.bind(stmt.var, begin, extent)
                    return replace(stmt, min=begin, extent=extent, body=self.stmt(body, mask))
            case ir.If():
                return self.branch(stmt, mask)
            case ir.Let():
                return self.let(stmt, mask)
            case ir.Allocate():
                return self.allocate(stmt, mask)
            case ir.Evaluate(e.Call(name) as hint) if name in PREFETCHES:
                if any(one.buffer in self.private for one in loads(hint)):
                    return ir.Seq(())  # the lanes' own copies are near
                return substitute(stmt, {self.var: self.begin})
            case _:
                raise _Serial

    def store(self, store: ir.Store, mask: e.Expr | None) -> ir.Stmt:
        indices = tuple(self.expr(i, mask) for i in store.indices)
        value = self.expr(store.value, mask)
        if store.buffer in self.private:
            indices = self.own_place(indices)
        predicate = mask
        if store.predicate is not None:
            predicate = self.both(self.expr(store.predicate, mask), mask)
        if all(i.lanes == 1 for i in indices):
            plain = value.lanes == 1 and (predicate is None or predicate.lanes == 1)
            if not plain or any(one.buffer is store.buffer for one in loads(value)):
                raise _Serial
        else:
            value = e.broadcast(value, self.lanes)
            predicate = predicate if predicate is None else e.broadcast(predicate, self.lanes)
        buffer = self.private.get(store.buffer, store.buffer)
        return ir.Store(buffer, indices, value, predicate)

    def branch(self, branch: ir.If, mask: e.Expr | None) -> ir.Stmt:
        condition = self.expr(branch.condition, mask)
        if condition.lanes == 1:
            then = self.stmt(branch.then, mask)
            otherwise = None if branch.otherwise is None else self.stmt(branch.otherwise, mask)
            return ir.If(condition, then, otherwise)
        read = {one.buffer for one in loads(condition)}
        if read and (branch.otherwise is not None or read & buffers_written(branch.then)):
            raise _Serial  # the condition could change on the way
        then = self.masked(branch.condition, condition, branch.then, mask)
        if branch.otherwise is None:
            return then
        opposite = e.Not(branch.condition)
        return ir.sequence(then, self.masked(opposite, self.expr(opposite, mask), branch.otherwise, mask))

    def masked(self, scalar: e.Expr, vector: e.Expr, body: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
        """``body`` in the lanes where the condition, given for one lane and for all, holds."""
        if isinstance(vector, e.Const):
            return self.stmt(body, mask) if vector.value else ir.Seq(())
        deciding = self.deciding_lane(vector)
        outer, self.strict = self.strict, self.strict or deciding is None
        self.conditions.append(scalar)
        try:
            with self.analyzer.scope():
                result = self.stmt(body, self.both(vector, mask))
        finally:
            self.conditions.pop()
            self.strict = outer
        if deciding is None:
            return result
        at = e.fold(e.Add, self.begin, e.const(deciding, self.begin.dtype))
        some = self.analyzer.simplify(substitute(scalar, {self.var: at}))
        return result if e.is_const(some, 1) else ir.If(some, result)

    def deciding_lane(self, condition: e.Expr) -> int | None:
        """The lane that is active whenever any is, if the condition is monotone in the lane."""
        match condition:
            case e.And(a, b):
                first, second = self.deciding_lane(a), self.deciding_lane(b)
                return first if first == second else None
            case e.Const() | e.Broadcast():
                return 0
            case e.Less(a, b) | e.LessEqual(a, b):
                slopes = [_slope(a), _slope(b)]
                if slopes[0] is None or slopes[1] is None:
                    return None
                return 0 if slopes[1] <= slopes[0] else self.lanes - 1
        return None

    def let(self, let: ir.Let, mask: e.Expr | None) -> ir.Stmt:
        value = self.expr(let.value, mask)
        var = let.var
        if value.lanes > 1:
            var = e.Var(let.var.name, let.var.dtype, value.lanes)
            self.vectors[let.var] = var
        return ir.Let(var, value, self.together(let.body, mask))

    def allocate(self, allocate: ir.Allocate, mask: e.Expr | None) -> ir.Stmt:
        """Each lane has a copy of its own: elements of the lanes alternate, as if along a further axis."""
        buffer = allocate.buffer
        if buffer.strides or any(mentions(x, tuple(self.vectors)) for x in buffer.shape):  # type: ignore[arg-type]
            raise _Serial
        lanes = e.const(self.lanes, e.INDEX)
        flat = len(buffer.shape) == 1
        wide = replace(buffer, shape=(buffer.shape[0] * lanes,) if flat else (*buffer.shape, lanes))
        self.private[buffer] = wide
        return ir.Allocate(wide, self.together(allocate.body, mask))

    def together(self, body: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
        """``body``, all of it in lanes or none; what a name just bound stood for before is forgotten."""
        self.memo.clear()
        self.whole += 1
        try:
            return self.stmt(body, mask)
        finally:
            self.whole -= 1

    # -- expressions

    def own_place(self, indices: tuple[e.Expr, ...]) -> tuple[e.Expr, ...]:
        """Where the lanes' own copies of an element are: of one axis the index stays flat."""
        number = e.Ramp(e.const(0, e.INDEX), e.const(1, e.INDEX), self.lanes)
        if len(indices) != 1:
            return (*indices, number)
        if indices[0].lanes == 1:
            return (self.analyzer.simplify(e.Ramp(indices[0] * self.lanes, e.const(1, e.INDEX), self.lanes)),)
        return (self.analyzer.simplify(indices[0] * self.lanes + number),)

    def both(self, a: e.Expr, b: e.Expr | None) -> e.Expr:
        if b is None:
            return a
        lanes = max(a.lanes, b.lanes)
        return self.analyzer.simplify(e.And(e.broadcast(a, lanes), e.broadcast(b, lanes)))

    def scalar(self, expr: e.Expr) -> e.Expr:
        """An expression that has to be the same in all lanes."""
        result = self.expr(expr, None)
        if result.lanes > 1:
            raise _Serial
        return result

    def expr(self, root: e.Expr, mask: e.Expr | None) -> e.Expr:
        """``root`` in all lanes: a vector, or a scalar where the lane makes no difference."""
        memo = self.memo.setdefault((mask, self.strict), {})
        stack = [root]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            if isinstance(node, e.Call) and node.name == _LAZY:
                memo[node] = self.lazy(node, mask)
                continue
            waiting = [c for c in node.children() if c not in memo]
            if waiting:
                stack.extend(waiting)  # type: ignore[arg-type]
                continue
            memo[node] = self.node(node, [memo[c] for c in node.children()], mask)  # type: ignore[index]
        return self.analyzer.simplify(memo[root])

    def node(self, node: e.Expr, parts: list[e.Expr], mask: e.Expr | None) -> e.Expr:
        if isinstance(node, ir.Load):
            return self.load(node, parts, mask)
        if node in self.vectors:
            return self.vectors[node]
        if node.lanes > 1:
            raise _Serial
        if isinstance(node, e.Foreign) or (isinstance(node, e.Call) and node.name == "address_of"):
            if any(p.lanes > 1 for p in parts) or self.conditions:
                raise _Serial  # once a lane, and only in lanes that are active
        if all(p.lanes == 1 for p in parts):
            rest = iter(parts)
            return node.map_children(lambda _: next(rest))
        wide = iter([e.broadcast(p, self.lanes) for p in parts])
        return node.map_children(lambda _: next(wide))

    def load(self, load: ir.Load, parts: list[e.Expr], mask: e.Expr | None) -> e.Expr:
        indices = parts[: len(load.indices)]
        own = parts[len(load.indices)] if load.predicate is not None else None
        if load.buffer in self.private:
            indices = list(self.own_place(tuple(indices)))
        forced = mask is not None and self.strict
        if not forced and all(p.lanes == 1 for p in (*indices, *parts)):
            return ir.Load(load.buffer, tuple(indices), own) if self.changed(load, indices, own) else load
        predicate = mask if own is None else self.both(own, mask)
        if all(i.lanes == 1 for i in indices):
            indices = [e.broadcast(i, self.lanes) for i in indices]
            if not indices:
                indices = [e.const(0, e.INDEX, self.lanes)]
        predicate = None if predicate is None else e.broadcast(predicate, self.lanes)
        return ir.Load(self.private.get(load.buffer, load.buffer), tuple(indices), predicate)

    def changed(self, load: ir.Load, indices: list[e.Expr], predicate: e.Expr | None) -> bool:
        same = all(a is b for a, b in zip(indices, load.indices, strict=True))
        return not same or predicate is not load.predicate

    def lazy(self, node: e.Call, mask: e.Expr | None) -> e.Expr:
        """``if_then_else``: a scalar condition stays lazy, a vector one masks the loads of each side."""
        condition = self.expr(node.args[0], mask)
        if isinstance(condition, e.Const):
            return self.expr(node.args[1 if condition.value else 2], mask)
        if condition.lanes == 1:
            a, b = (self.expr(arg, mask) for arg in node.args[1:])
            lanes = max(a.lanes, b.lanes)
            return e.Call(_LAZY, (condition, e.broadcast(a, lanes), e.broadcast(b, lanes)), node.dtype)
        opposite = self.analyzer.simplify(e.Not(condition))
        strict, self.strict = self.strict, True
        a = self.expr(node.args[1], chosen := self.both(condition, mask))
        b = self.expr(node.args[2], self.both(opposite, mask))
        self.strict = strict
        zero = isinstance(b, e.Const) and b.value == 0 and str(b.value)[0] != "-"
        if zero and isinstance(a, ir.Load) and a.predicate is not None and same(a.predicate, chosen):
            return a  # lanes that are not loaded are 0
        return e.Select(condition, e.broadcast(a, self.lanes), e.broadcast(b, self.lanes))


def _slope(expr: e.Expr) -> int | None:
    match expr:
        case e.Ramp(_, e.Const(value)):
            return int(value)
        case e.Broadcast() | e.Const():
            return 0
    return None
