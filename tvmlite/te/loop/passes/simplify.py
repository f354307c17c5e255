"""Simplify all expressions using loop ranges and conditions, and remove statements without effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard
from weakref import WeakSet

from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions, same
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import NOTHING, BufferRenamer, is_nothing, loads, with_body


def simplify(function: ir.Function) -> ir.Function:
    """Put index arithmetic into canonical form, remove guards that always hold, and unroll loops of one
    iteration. A guard that is a loop's whole body and does not depend on its variable is hoisted out, and
    adjacent statements under the same guard are merged."""
    analyzer = analyzer_of_function(function.workspace is not None)
    body = _Simplify(analyzer).stmt(function.body)
    workspace = function.workspace
    if workspace is not None and (simpler := analyzer.simplify(workspace)) is not workspace:
        return replace(function, body=body, workspace=simpler)
    return with_body(function, body)


_simplified: WeakSet[ir.Function] = WeakSet()
"""The results of ``simplify_once``."""


def simplify_once(function: ir.Function) -> ir.Function:
    """``simplify``, skipped for its own results: lowering ends and legalising begins with this pass."""
    if function not in _simplified:
        function = simplify(function)
        _simplified.add(function)
    return function


def mark_simplified(function: ir.Function) -> ir.Function:
    """Mark ``function``, a copy of a result of ``simplify_once``, as simplified."""
    _simplified.add(function)
    return function


def analyzer_of_function(threads: bool = False) -> Analyzer:
    """An analyzer for a function; with ``threads`` it knows the ranges of ``THREADS`` and ``THREAD``."""
    analyzer = Analyzer()
    if not threads:
        return analyzer
    analyzer.assume(ir.THREADS >= 1)
    analyzer.assume(ir.THREAD >= 0)
    analyzer.assume(ir.THREAD < ir.THREADS)
    return analyzer


class _Simplify(BufferRenamer):
    """The pass. The analyzer substitutes exact values: of Lets of index arithmetic, and of the variables of
    loops of one iteration."""

    def expr(self, expr: e.Expr) -> e.Expr:
        return self.analyzer.simplify(super().expr(expr))

    # -- statements that introduce names

    def enter(self, head: ir.Let | ir.Allocate | ir.View) -> list[Any]:
        if isinstance(head, ir.Let):
            value = self.expr(head.value)
            if self.analyzer.is_index(value):
                self.analyzer.bind(head.var, value, 1)
                return []
            return [head if value is head.value else replace(head, value=value)]
        if isinstance(head, ir.Allocate):
            return [self._allocate(head)]
        return super().enter(head)

    def _allocate(self, head: ir.Allocate) -> ir.Allocate:
        """Replace a buffer whose extents or strides simplify by a new one with the simplified shape."""
        buffer = head.buffer
        shape = tuple(map(self.analyzer.simplify, buffer.shape))
        strides = tuple(map(self.analyzer.simplify, buffer.strides))
        every = zip((*shape, *strides), (*buffer.shape, *buffer.strides), strict=True)
        if all(a is b for a, b in every):
            self.renamed.pop(buffer, None)  # it may be allocated in another branch, where it simplified
            return head
        self.renamed[buffer] = replace(buffer, shape=shape, strides=strides)
        return replace(head, buffer=self.renamed[buffer])

    def leave(self, head: Any, body: ir.Stmt) -> ir.Stmt:
        return NOTHING if is_nothing(body) else super().leave(head, body)

    # -- statements

    def loop(self, loop: ir.For) -> ir.Stmt:
        begin, extent = self.expr(loop.min), self.expr(loop.extent)
        if self.analyzer.prove(e.LessEqual(extent, e.const(0, extent.dtype))):
            return NOTHING
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, begin, extent)
            body = self.stmt(loop.body)
        if is_nothing(body) or e.is_const(extent, 1):
            return body
        if _is_guard(body) and not mentions(body.condition, (loop.var, ir.THREAD)):
            return ir.If(body.condition, replace(loop, min=begin, extent=extent, body=body.then))
        if begin is loop.min and extent is loop.extent and body is loop.body:
            return loop
        return replace(loop, min=begin, extent=extent, body=body)

    def branch(self, branch: ir.If) -> ir.Stmt:
        condition = self.expr(branch.condition)
        if isinstance(condition, e.Const):
            taken = branch.then if condition.value else branch.otherwise
            return NOTHING if taken is None else self.stmt(taken)
        then, otherwise = self.sides(branch, condition)
        if is_nothing(otherwise):
            otherwise = None
        if is_nothing(then):
            if otherwise is None:
                return NOTHING
            condition, then, otherwise = self.analyzer.simplify(e.Not(condition)), otherwise, None
        if otherwise is None and isinstance(then, ir.If) and then.otherwise is None:
            if not loads(then.condition):  # a load may be safe only where the outer condition holds
                condition, then = self.analyzer.simplify(e.And(condition, then.condition)), then.then
        if condition is branch.condition and then is branch.then and otherwise is branch.otherwise:
            return branch
        return ir.If(condition, then, otherwise)

    def seq(self, seq: ir.Seq) -> ir.Stmt:
        joined = _merge_adjacent_guards(seq)
        if not isinstance(joined, ir.Seq):
            return self.stmt(joined)
        if not any(isinstance(one, ir.Assert) for one in joined.body):
            new = super().seq(joined)
        else:
            with self.analyzer.scope():
                new = super().seq(joined)
        return _merge_adjacent_guards(new) if isinstance(new, ir.Seq) else new

    def store(self, store: ir.Store) -> ir.Stmt:
        indices = tuple(map(self.expr, store.indices))
        value = self.expr(store.value)
        predicate = None if store.predicate is None else self.expr(store.predicate)
        if isinstance(predicate, e.Const):
            if not predicate.value:
                return NOTHING
            predicate = None
        buffer = self.renamed.get(store.buffer, store.buffer)
        same = buffer is store.buffer and value is store.value and predicate is store.predicate
        if same and all(a is b for a, b in zip(indices, store.indices, strict=True)):
            return store
        return ir.Store(buffer, indices, value, predicate)

    def plain(self, stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Assert(condition):
                simpler = self.expr(condition)
                if e.is_const(simpler, 1):
                    return NOTHING
                self.analyzer.assume(simpler)
                return stmt if simpler is condition else replace(stmt, condition=simpler)
            case ir.Evaluate(value):
                return NOTHING if isinstance(self.expr(value), e.Const) else super().plain(stmt)
            case _:
                return super().plain(stmt)


def _is_guard(stmt: ir.Stmt) -> TypeGuard[ir.If]:
    """Whether ``stmt`` is an ``If`` without else whose condition no store can change."""
    return isinstance(stmt, ir.If) and stmt.otherwise is None and not loads(stmt.condition)


def _merge_adjacent_guards(seq: ir.Seq) -> ir.Stmt:
    """``seq`` with adjacent guards of the same condition merged."""
    joined: list[ir.Stmt] = []
    for one in seq.body:
        last = joined[-1] if joined else None
        if last is not None and _is_guard(one) and _is_guard(last) and same(one.condition, last.condition):
            joined[-1] = ir.If(last.condition, ir.sequence(last.then, one.then))
        else:
            joined.append(one)
    return seq if len(joined) == len(seq.body) else ir.sequence(*joined)
