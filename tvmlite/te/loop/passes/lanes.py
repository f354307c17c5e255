"""The vectorization of one loop: its body is executed for all iterations at once, one lane per iteration."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import loads


class CannotVectorize(Exception):
    """Raised where a statement cannot be vectorized."""


class Lanes:
    """Vectorizes the body of the loop ``for var in range(begin, begin + lanes)``.

    Every statement is executed in all lanes before the next, as "vectorize" permits. ``mask`` is the
    vector condition under which a lane is active; None if all are. A load that is the same in all lanes
    stays scalar under a statement's mask, as the statement runs only if its first (or last) lane is
    active; where that is not known, ``strict`` makes such loads masked vectors as well.
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
        """``body`` in all lanes, unmasked; statements that cannot be vectorized become serial loops."""
        return self.stmt(body, None)

    # -- statements

    def stmt(self, stmt: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
        """``stmt`` in lanes, or as a serial loop over them where it cannot be vectorized."""
        try:
            return self.in_lanes(stmt, mask)
        except CannotVectorize:
            if self.whole:  # the enclosing Let or Allocate has to become serial as a whole
                raise
            return self.serial(stmt)

    def serial(self, stmt: ir.Stmt) -> ir.Stmt:
        """``stmt`` as a serial loop over the lanes, guarded by the conditions around it."""
        if self.conditions:
            stmt = ir.If(e.all_of(self.conditions), stmt)
        var = e.Var(self.var.name, self.var.dtype)
        extent = e.const(self.lanes, self.var.dtype)
        return ir.For(var, self.begin, extent, substitute(stmt, {self.var: var}))

    def in_lanes(self, stmt: ir.Stmt, mask: e.Expr | None) -> ir.Stmt:
        """``stmt`` in lanes; ``CannotVectorize`` is raised if it cannot be vectorized."""
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
            case _:
                return extension("masks").statement(self, stmt, mask)

    def store(self, store: ir.Store, mask: e.Expr | None) -> ir.Stmt:
        """A store in lanes; with uniform indices it stays scalar, or ``CannotVectorize`` is raised."""
        indices = tuple(self.expr(i, mask) for i in store.indices)
        value = self.expr(store.value, mask)
        if store.buffer in self.private:
            indices = extension("masks").private_indices(self, indices)
        predicate = mask
        if store.predicate is not None:
            predicate = self.both(self.expr(store.predicate, mask), mask)
        if all(i.lanes == 1 for i in indices):
            plain = value.lanes == 1 and (predicate is None or predicate.lanes == 1)
            if not plain or any(one.buffer is store.buffer for one in loads(value)):
                raise CannotVectorize
        else:
            value = e.broadcast(value, self.lanes)
            predicate = predicate if predicate is None else e.broadcast(predicate, self.lanes)
        buffer = self.private.get(store.buffer, store.buffer)
        return ir.Store(buffer, indices, value, predicate)

    # -- expressions

    def both(self, a: e.Expr, b: e.Expr | None) -> e.Expr:
        """The conjunction of two masks; None stands for true."""
        if b is None:
            return a
        lanes = max(a.lanes, b.lanes)
        return self.analyzer.simplify(e.And(e.broadcast(a, lanes), e.broadcast(b, lanes)))

    def scalar(self, expr: e.Expr) -> e.Expr:
        """``expr``, which has to be the same in all lanes, else ``CannotVectorize`` is raised."""
        result = self.expr(expr, None)
        if result.lanes > 1:
            raise CannotVectorize
        return result

    def expr(self, root: e.Expr, mask: e.Expr | None) -> e.Expr:
        """``root`` in all lanes: a vector, or a scalar if it is the same in all of them."""
        memo = self.memo.setdefault((mask, self.strict), {})
        stack = [root]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            if isinstance(node, e.Call) and node.name == "if_then_else":
                memo[node] = extension("masks").lazy(self, node, mask)
                continue
            waiting = [c for c in node.children() if c not in memo]
            if waiting:
                stack.extend(waiting)  # type: ignore[arg-type]
                continue
            memo[node] = self.node(node, [memo[c] for c in node.children()], mask)  # type: ignore[index]
        return self.analyzer.simplify(memo[root])

    def node(self, node: e.Expr, parts: list[e.Expr], mask: e.Expr | None) -> e.Expr:
        """``node`` in lanes, given its children in lanes, ``parts``; a scalar if all of these are."""
        if isinstance(node, ir.Load):
            return self.load(node, parts, mask)
        if node in self.vectors:
            return self.vectors[node]
        if node.lanes > 1:
            raise CannotVectorize
        if isinstance(node, e.Foreign) or (isinstance(node, e.Call) and node.name == "address_of"):
            if any(p.lanes > 1 for p in parts) or self.conditions:
                raise CannotVectorize  # it has to be called once per active lane
        if all(p.lanes == 1 for p in parts):
            rest = iter(parts)
            return node.map_children(lambda _: next(rest))
        wide = iter([e.broadcast(p, self.lanes) for p in parts])
        return node.map_children(lambda _: next(wide))

    def load(self, load: ir.Load, parts: list[e.Expr], mask: e.Expr | None) -> e.Expr:
        """A load in lanes; scalar if its indices are, unless ``strict`` requires a masked vector."""
        indices = parts[: len(load.indices)]
        own = parts[len(load.indices)] if load.predicate is not None else None
        if load.buffer in self.private:
            indices = list(extension("masks").private_indices(self, tuple(indices)))
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
        """Whether the rewritten indices or predicate differ from those of ``load``."""
        same = all(a is b for a, b in zip(indices, load.indices, strict=True))
        return not same or predicate is not load.predicate
