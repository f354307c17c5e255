"""Base classes for passes over statements; a statement that does not change is returned as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.loop import ir

NOTHING = ir.Seq(())
"""The statement that does nothing."""


class Walker:
    """Rebuilds statements from the outside in; subclasses override the methods of the nodes they change.

    Let, Allocate and View form long chains, so they are processed without recursion: ``enter`` returns the
    list of statements (usually one) that replaces such a statement, with their bodies ignored, and ``leave``
    may change each of them when its new body is known.
    """

    def stmt(self, stmt: ir.Stmt) -> ir.Stmt:
        """``stmt`` of any type, rebuilt; chains of Let, Allocate and View without recursion."""
        chain: list[tuple[Any, Any]] = []
        while isinstance(stmt, (ir.Let, ir.Allocate, ir.View)):
            for head in self.enter(stmt):
                chain.append((stmt, head))
            stmt = stmt.body
        body = self.inner(stmt)
        for _, head in reversed(chain):
            body = self.leave(head, body)
        return body

    def inner(self, stmt: ir.Stmt) -> ir.Stmt:
        """Rebuild any statement except Let, Allocate and View."""
        match stmt:
            case ir.For():
                return self.loop(stmt)
            case ir.If():
                return self.branch(stmt)
            case ir.Seq():
                return self.seq(stmt)
            case ir.Store():
                return self.store(stmt)
            case _:
                return self.plain(stmt)

    def enter(self, head: ir.Let | ir.Allocate | ir.View) -> list[Any]:
        """The statements that replace ``head``, bodies ignored: itself, with its expression rewritten."""
        match head:
            case ir.Let(_, value):
                new = self.expr(value)
                return [head if new is value else replace(head, value=new)]
            case ir.View(_, offset):
                new = self.expr(offset)
                return [head if new is offset else replace(head, offset=new)]
        return [head]

    def leave(self, head: Any, body: ir.Stmt) -> ir.Stmt:
        """``head`` around its new ``body``; the same object if that did not change."""
        return head if body is head.body else replace(head, body=body)

    def loop(self, loop: ir.For) -> ir.Stmt:
        """Rebuild the bounds and body of a loop of any kind."""
        return self.plain(loop)

    def branch(self, branch: ir.If) -> ir.Stmt:
        """Rebuild the condition and both branches of an If."""
        return self.plain(branch)

    def seq(self, seq: ir.Seq) -> ir.Stmt:
        """Rebuild each statement of a sequence; if one changed, nested sequences are flattened."""
        body = [self.stmt(s) for s in seq.body]
        if all(a is b for a, b in zip(body, seq.body, strict=True)):
            return seq
        return ir.sequence(*body)

    def store(self, store: ir.Store) -> ir.Stmt:
        """Rewrite the indices, value and predicate of a store."""
        return self.plain(store)

    def plain(self, stmt: ir.Stmt) -> ir.Stmt:
        """Rebuild the statements and expressions of any statement."""
        return stmt.map_children(self._child)

    def expr(self, expr: e.Expr) -> e.Expr:
        """Rewrite an expression of a statement; here it is returned unchanged."""
        return expr

    def _child(self, node: Any) -> Any:
        return self.stmt(node) if isinstance(node, ir.Stmt) else self.expr(node)


class AnalyzingWalker(Walker):
    """A walker with an ``analyzer`` that knows the ranges of the loops around a statement."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def loop(self, loop: ir.For) -> ir.Stmt:
        """Rebuild a loop; inside, the analyzer knows the range of its variable."""
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            return self.plain(loop)

    def sides(self, branch: ir.If, condition: e.Expr) -> tuple[ir.Stmt, ir.Stmt | None]:
        """Rebuild both branches, the first assuming ``condition``, the second its negation."""
        with self.analyzer.constraint(condition):
            then = self.stmt(branch.then)
        if branch.otherwise is None:
            return then, None
        with self.analyzer.constraint(e.Not(condition)):
            return then, self.stmt(branch.otherwise)


class BufferRenamer(AnalyzingWalker):
    """A walker that replaces buffers: subclasses enter each with its replacement in ``renamed``."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer)
        self.renamed: dict[ir.Buffer, ir.Buffer] = {}

    def expr(self, expr: e.Expr) -> e.Expr:
        """``expr`` with loads from replaced buffers redirected to the new ones."""
        if not self.renamed or not any(one.buffer in self.renamed for one in loads(expr)):
            return expr
        return rewrite(expr, self._load)

    def _load(self, node: Any) -> Any:
        if isinstance(node, ir.Load) and node.buffer in self.renamed:
            return ir.Load(self.renamed[node.buffer], node.indices, node.predicate)
        return node

    def store(self, store: ir.Store) -> ir.Stmt:
        """Rebuild a store, redirected to the new buffer."""
        new = store.map_children(self.expr)
        buffer = self.renamed.get(store.buffer)
        return new if buffer is None else replace(new, buffer=buffer)

    def plain(self, stmt: ir.Stmt) -> ir.Stmt:
        """Rebuild any statement; a kernel call gets the new buffers."""
        if isinstance(stmt, ir.CallKernel) and any(b in self.renamed for b in stmt.buffers):
            stmt = replace(stmt, buffers=tuple(self.renamed.get(b, b) for b in stmt.buffers))
        return super().plain(stmt)


def with_body(function: ir.Function, body: ir.Stmt, **changes: Any) -> ir.Function:
    """``function`` with ``body`` and ``changes``; the same object if nothing changes."""
    if body is function.body and not changes:
        return function
    return replace(function, body=body, **changes)


def is_nothing(stmt: ir.Stmt | None) -> bool:
    """Whether ``stmt`` is None or does nothing."""
    return stmt is None or (isinstance(stmt, ir.Seq) and not stmt.body)


def expressions(stmt: ir.Stmt) -> list[e.Expr]:
    """The expressions of ``stmt`` and of the statements inside it, in order."""
    found: list[e.Expr] = []
    stack: list[ir.Stmt] = [stmt]
    while stack:
        node = stack.pop()
        children = list(node.children())
        found.extend(c for c in children if isinstance(c, e.Expr))
        stack.extend(c for c in reversed(children) if isinstance(c, ir.Stmt))
    return found


def statements(root: ir.Stmt) -> list[ir.Stmt]:
    """``root`` and the statements inside it, outer before inner, in order."""
    found: list[ir.Stmt] = []
    stack = [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(c for c in reversed(list(node.children())) if isinstance(c, ir.Stmt))
    return found


def loads(root: e.Expr) -> list[ir.Load]:
    """The loads in ``root``, each once."""
    if type(root) is e.Const or type(root) is e.Var:
        return []
    seen: set[e.Expr] = set()
    found: list[ir.Load] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node) is ir.Load:
            found.append(node)
        stack += node.children()  # type: ignore[arg-type]
    return found


def buffers_written(stmt: ir.Stmt) -> set[ir.Buffer]:
    """The buffers that ``stmt`` stores to or passes to a kernel."""
    found: set[ir.Buffer] = set()
    for one in statements(stmt):
        if isinstance(one, ir.Store):
            found.add(one.buffer)
        elif isinstance(one, ir.CallKernel):
            found.update(one.buffers)
    return found
