"""What fused loops read: one index over the fused loop, where its axes alone show less."""

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
    """The axes of a stage as expressions over its loops, and what the running loops run over."""

    values: dict[e.Var, Expr]
    running: dict[e.Var, Interval]

    def narrower(self, index: Expr, known: Interval | None, analyzer: Analyzer) -> Interval | None:
        """What ``index`` runs over by its loops, where that is less than what is ``known`` by its axes."""
        by_loops = e.convert(simplify(analyzer, substitute(index, self.values)))
        other = evaluate(by_loops, self.running, analyzer)
        if known is None or other is None:
            return known or other
        if not isinstance(other.width, int):
            return known
        return other if not isinstance(known.width, int) or other.width < known.width else known


def by_loops(stage: Stage, consumer: Stage, bounds: Bounds) -> ByLoops | None:
    """``consumer``'s axes by its loops, of which some were fused: ``i * w + j`` is then one loop again, which
    the intervals of i and j alone do not show. None where tiles shrink in further loops, which are unseen."""
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
