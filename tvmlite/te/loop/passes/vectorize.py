"""Turn loops marked for it into statements on vectors, one lane per iteration."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.lanes import Lanes
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import AnalyzingWalker, statements, with_body

MOST_LANES = 64
"""A longer loop becomes a loop of vectors, and one vector for the remainder."""


def vectorize(function: ir.Function, lanes: int = 16) -> ir.Function:
    """Turn every ``For`` of kind vectorize with a constant extent into statements on vectors.

    Inner serial loops become loops of vectors, guards become predicates. Statements that have no vector form
    (a While, a store of all lanes to one element) become serial loops over the lanes. A loop of symbolic
    extent or around another vectorised loop becomes serial. Over ``MOST_LANES``, ``lanes`` run at a time.
    """
    return with_body(function, _Vectorize(analyzer_of_function(), lanes).stmt(function.body))


class _Vectorize(AnalyzingWalker):
    def __init__(self, analyzer: Analyzer, lanes: int) -> None:
        super().__init__(analyzer)
        self.lanes = lanes

    def loop(self, loop: ir.For) -> ir.Stmt:
        if loop.kind != ir.VECTORIZE:
            return super().loop(loop)
        if not isinstance(loop.extent, e.Const) or _has_vectors(loop.body):
            return super().loop(replace(loop, kind=ir.SERIAL))
        extent = int(loop.extent.value)
        with self.analyzer.scope():
            if extent > MOST_LANES:
                return self.strip_mined(loop, extent)
            return self.vector(loop.var, loop.min, extent, loop.body)

    def branch(self, branch: ir.If) -> ir.Stmt:
        then, otherwise = self.sides(branch, branch.condition)
        if then is branch.then and otherwise is branch.otherwise:
            return branch
        return ir.If(branch.condition, then, otherwise)

    def vector(self, var: e.Var, begin: e.Expr, extent: int, body: ir.Stmt) -> ir.Stmt:
        if extent == 1:
            return substitute(body, {var: begin})
        return Lanes(self.analyzer, var, begin, extent).run(body)

    def strip_mined(self, loop: ir.For, extent: int) -> ir.Stmt:
        whole, rest = divmod(extent, self.lanes)
        piece = e.Var(f"{loop.var.name}.v", e.INDEX)
        with self.analyzer.scope():
            self.analyzer.bind(piece, 0, whole)
            begin = self.analyzer.simplify(loop.min + piece * self.lanes)
            body = self.vector(loop.var, begin, self.lanes, loop.body)
        zero, iterations = e.const(0, e.INDEX), e.const(whole, e.INDEX)
        many = ir.For(piece, zero, iterations, body, ir.SERIAL, loop.annotations)
        if not rest:
            return many
        tail = self.vector(loop.var, self.analyzer.simplify(loop.min + whole * self.lanes), rest, loop.body)
        return ir.sequence(many, tail)


def _has_vectors(body: ir.Stmt) -> bool:
    """Whether ``body`` contains a loop to vectorize or a vector store."""
    return any(
        (isinstance(one, ir.For) and one.kind == ir.VECTORIZE)
        or (isinstance(one, ir.Store) and one.value.lanes > 1)
        for one in statements(body)
    )
