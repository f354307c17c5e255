"""Schedules generated from the computes alone, without tags or operator names.

Cheap stages are inlined. A reduction whose results share operands is computed in register tiles, with its
epilogue; one along contiguous rows in vectors of partial results; several reductions over the same rows one
after the other, row by row. Every decision is a knob, whose first setting is predicted to be the best. The
loops follow Ansor's sketches (Zheng et al., "Ansor: Generating High-Performance Tensor Programs", OSDI 2020).
"""

from __future__ import annotations

from tvmlite.te.templates.group import Group, extent_of, work_of
from tvmlite.te.templates.share import threads_for
from tvmlite.te.templates.table import generator
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.elementwise.injective import elementwise_loops
from tvmlite.techniques.reduction.reduction import several_results
from tvmlite.techniques.sketch.access import Digit, reads_by_formula
from tvmlite.techniques.sketch.loops import elementwise
from tvmlite.techniques.sketch.nest import Nest, reduction_of
from tvmlite.techniques.sketch.plan import Plan
from tvmlite.techniques.sketch.reductions import RowReductions, SingleReduction, reductions_for
from tvmlite.techniques.sketch.rows import passes, schedule_row_reduction
from tvmlite.techniques.sketch.tiled import tiled


@generator("sketch")
def sketch(group: Group) -> None:
    """Schedule every stage that has no schedule yet; the others are unchanged."""
    plan = Plan.of(group)
    done: set[ComputeOp] = set()
    for op in reversed([one for one in plan.free if isinstance(one, ComputeOp)]):
        if op in done or (not op.reduce_axis and not group.stage(op).is_output):
            continue
        made = None if op.reduce_axis else reductions_for(plan, op)
        match made:
            case SingleReduction():
                done.add(made.op)
                _nest(plan, made)
            case RowReductions():
                done.update(made.ops)
                passes(plan, made.ops, made.host, made.kept)
            case None if op.reduce_axis:
                _nest(
                    plan, SingleReduction(op, op.output(0), tuple(Digit(axis, 1, None) for axis in op.axis))
                )
            case None:
                elementwise(plan, op.output(0))
    for operand, place in plan.operands.items():
        if place == "" and isinstance(operand, ComputeOp):
            elementwise_loops(group, operand.output(0))


def _nest(plan: Plan, single: SingleReduction) -> None:
    """Schedule one reduction: in tiles if there are vectors of neighbouring results, else row by row."""
    if any(extent_of(axis) == 0 for axis in (*single.op.axis, *single.op.reduce_axis)):
        return
    if len(single.op.body) == 1 and single.op.axis:
        nest = Nest.of(plan, single.op, single.host, single.parts)
        reads = reads_by_formula(plan.group, single.op)
        reduction = reduction_of(nest, reads)
        tiles = reduction.tiles()
        if tiles:
            tiled(nest, reads, reduction, tiles)
            return
    if len(single.op.body) > 1:
        formula = plan.group.formula(single.op)
        several_results(plan.group, single.op, formula, threads_for(plan.group.target, work_of(formula)))
    else:
        schedule_row_reduction(plan, single.op, single.host)
