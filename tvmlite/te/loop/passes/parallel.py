"""Keep one level of parallel loops, and no parallel loop of at most one iteration."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import AnalyzingWalker, with_body


def parallel(function: ir.Function) -> ir.Function:
    """Make a parallel loop serial if it is inside another or its extent is at most 1."""
    return with_body(function, _Parallel(analyzer_of_function()).stmt(function.body))


class _Parallel(AnalyzingWalker):
    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer)
        self.inside = False

    def loop(self, loop: ir.For) -> ir.Stmt:
        if loop.kind == ir.PARALLEL:
            short = e.LessEqual(loop.extent, e.const(1, loop.extent.dtype))
            if self.inside or self.analyzer.prove(short):
                loop = replace(loop, kind=ir.SERIAL)
        outer, self.inside = self.inside, self.inside or loop.kind == ir.PARALLEL
        new = super().loop(loop)
        self.inside = outer
        return new
