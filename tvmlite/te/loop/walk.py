"""The one way passes go through statements: from the outside in, unchanged in, same object out."""

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
    """Rebuilds statements; subclasses override the methods of the nodes they change.

    ``enter`` handles Let, Allocate and View, of which there are long chains, and so sees them without their
    body: it gives a list of such statements to stand in its place, bodies ignored (usually just one).
    ``leave`` may change each when its new body is known.
    """

    def stmt(self, stmt: ir.Stmt) -> ir.Stmt:
        """``stmt`` rebuilt, whatever it is; chains of Let, Allocate and View without recursion."""
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
        """Any statement but Let, Allocate and View."""
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
        """A loop of any kind: its bounds and body rebuilt."""
        return self.plain(loop)

    def branch(self, branch: ir.If) -> ir.Stmt:
        """An If: its condition and both branches rebuilt."""
        return self.plain(branch)

    def seq(self, seq: ir.Seq) -> ir.Stmt:
        """A sequence: each statement rebuilt; where one changed, nested sequences are flattened."""
        body = [self.stmt(s) for s in seq.body]
        if all(a is b for a, b in zip(body, seq.body, strict=True)):
            return seq
        return ir.sequence(*body)

    def store(self, store: ir.Store) -> ir.Stmt:
        """A store: its indices, value and predicate rewritten."""
        return self.plain(store)

    def plain(self, stmt: ir.Stmt) -> ir.Stmt:
        """Any statement: its statements and expressions rebuilt."""
        return stmt.map_children(self._child)

    def expr(self, expr: e.Expr) -> e.Expr:
        """An expression of a statement; as it is, unless a subclass rewrites it."""
        return expr

    def _child(self, node: Any) -> Any:
        return self.stmt(node) if isinstance(node, ir.Stmt) else self.expr(node)


class Informed(Walker):
    """A walker with an ``analyzer`` that knows the ranges of the loops around a statement."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def loop(self, loop: ir.For) -> ir.Stmt:
        """A loop, its variable in its range inside."""
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            return self.plain(loop)

    def sides(self, branch: ir.If, condition: e.Expr) -> tuple[ir.Stmt, ir.Stmt | None]:
        """Both branches rebuilt, ``condition`` known to hold in the first and not to hold in the second."""
        with self.analyzer.constraint(condition):
            then = self.stmt(branch.then)
        if branch.otherwise is None:
            return then, None
        with self.analyzer.constraint(e.Not(condition)):
            return then, self.stmt(branch.otherwise)


class Renaming(Informed):
    """A walker that puts other buffers in the place of some, which it enters in ``renamed``."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer)
        self.renamed: dict[ir.Buffer, ir.Buffer] = {}

    def expr(self, expr: e.Expr) -> e.Expr:
        """``expr`` with its loads from the new buffers."""
        if not self.renamed or not any(one.buffer in self.renamed for one in loads(expr)):
            return expr
        return rewrite(expr, self._load)

    def _load(self, node: Any) -> Any:
        if isinstance(node, ir.Load) and node.buffer in self.renamed:
            return ir.Load(self.renamed[node.buffer], node.indices, node.predicate)
        return node

    def store(self, store: ir.Store) -> ir.Stmt:
        """A store, to the new buffer."""
        new = store.map_children(self.expr)
        buffer = self.renamed.get(store.buffer)
        return new if buffer is None else replace(new, buffer=buffer)

    def plain(self, stmt: ir.Stmt) -> ir.Stmt:
        """Any statement, a kernel given the new buffers."""
        if isinstance(stmt, ir.CallKernel) and any(b in self.renamed for b in stmt.buffers):
            stmt = replace(stmt, buffers=tuple(self.renamed.get(b, b) for b in stmt.buffers))
        return super().plain(stmt)


def with_body(function: ir.Function, body: ir.Stmt, **changes: Any) -> ir.Function:
    """``function`` with another body; the same object if it is the same and nothing else changes."""
    if body is function.body and not changes:
        return function
    return replace(function, body=body, **changes)


def is_nothing(stmt: ir.Stmt | None) -> bool:
    """Whether ``stmt`` does nothing at all."""
    return stmt is None or (isinstance(stmt, ir.Seq) and not stmt.body)


def expressions(stmt: ir.Stmt) -> list[e.Expr]:
    """The expressions that stand in ``stmt`` and the statements inside it, in order."""
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
    """The buffers that ``stmt`` stores to (or hands to a kernel)."""
    found: set[ir.Buffer] = set()
    for one in statements(stmt):
        if isinstance(one, ir.Store):
            found.add(one.buffer)
        elif isinstance(one, ir.CallKernel):
            found.update(one.buffers)
    return found
