"""Regions read in fused loops: an index in terms of the fused loop may have a narrower interval."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.expr import Expr
from tvmlite.te.lowering.bounds import Bounds, shrinks
from tvmlite.te.lowering.intervals import evaluate, simplify
from tvmlite.te.schedule.relations import Interval, values_up
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import loops_around
from tvmlite.te.tensor import tensor as t


@dataclass
class ByLoops:
    """The axes of a stage as expressions over its loops, and the intervals of the running loops."""

    values: dict[e.Var, Expr]
    running: dict[e.Var, Interval]

    def narrower(self, index: Expr, known: Interval | None, analyzer: Analyzer) -> Interval | None:
        """The interval of ``index`` in terms of loops, if narrower than ``known``, that by its axes."""
        by_loops = e.convert(simplify(analyzer, substitute(index, self.values)))
        other = evaluate(by_loops, self.running, analyzer)
        if known is None or other is None:
            return known or other
        if not isinstance(other.width, int):
            return known
        return other if not isinstance(known.width, int) or other.width < known.width else known


def by_loops(stage: Stage, consumer: Stage, bounds: Bounds) -> ByLoops | None:
    """``consumer``'s axes in terms of its loops, some of which are fused: ``i * w + j`` is then a single loop
    variable, which the intervals of i and j do not show. None where tiles shrink in further, unseen loops."""
    op = consumer.op
    assert isinstance(op, t.ComputeOp)
    values = {leaf: bounds.position(leaf) for leaf in consumer.leaf_iter_vars}
    values_up(consumer.relations, bounds.ranges, values)
    running: dict[e.Var, Interval] = {}
    around = [*((consumer, leaf) for leaf in reversed(consumer.leaf_iter_vars)), *loops_around(consumer)]
    for owner, leaf in around:
        if leaf is stage.attach_ivar:
            break
        if shrinks(owner, leaf):
            return None
        running[bounds.loops[leaf]] = Interval(0, bounds.ranges[leaf].extent - 1)
    axes = (*op.axis, *op.reduce_axis)
    return ByLoops({bounds.variable(a): e.convert(values[a], e.INDEX) for a in axes}, running)
