"""Reductions without neighbouring results: vectors of partial results; several passes over one row."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.schedules.group import extent_of, lanes_of, product, work_of, worth_threads
from tvmlite.te.schedules.injective import vectorize
from tvmlite.te.schedules.reduction import reads_along_reduction, reduce_columns, reduce_row
from tvmlite.te.schedules.sketch.plan import Plan
from tvmlite.te.stage import Stage
from tvmlite.te.tensor import ComputeOp, IterVar, Tensor


def one_row(plan: Plan, op: ComputeOp, host: Tensor) -> None:
    """Each result from a row of its own, in vectors of partial results."""
    group = plan.group
    _settle(plan, op)
    formula = group.formula(op)
    parallel = worth_threads(work_of(formula))
    partials = partial_results(plan, op, formula)
    axes, stage = group.axes(host), group.stage(host)
    if not axes:
        return
    place = stage.fuse(*axes)
    if parallel:
        stage.parallel(place)
    if host.op is not op:
        group.stage(op).compute_at(stage, place)
    for partial in partials:
        group.stage(partial).compute_at(stage, place)


def partial_results(plan: Plan, op: ComputeOp, formula: ComputeOp) -> list[Tensor]:
    """Reduce ``op`` in vectors of partial results, as many as the knob says; gives them."""
    group, name = plan.group, f"{plan.name(op)}.vectors"
    group.config.define_knob(name, [4, 1, 2, 8])
    if len(op.body) > 1 or not reads_along_reduction(formula):
        return []
    return reduce_row(group, op, formula, group.config[name].val)


def passes(plan: Plan, ops: Sequence[ComputeOp], host: Tensor, kept: Sequence[IterVar]) -> None:
    """The reductions ``ops``, one after the other, where the row of ``host`` is written that reads them.

    ``kept`` are the axes of the host that tell its rows apart.
    """
    group, stage = plan.group, plan.group.stage(host)
    readers = [*ops, stage.op]
    operands = dict.fromkeys(one for op in readers for one in plan.open_operands(op))  # type: ignore[arg-type]
    own = [one for one in operands if plan.serves(one, set(readers))]
    held = [one for one in own if _chosen(plan, one) != "inline"]
    formula = group.formula(host)
    lanes = lanes_of(formula, group.target)
    row = [axis for axis in group.axes(host) if axis not in kept]
    stage.reorder(*kept, *row)
    side_by_side = formula.axis[-1] in kept
    place = _rows_together(plan, stage, kept, row, lanes) if side_by_side else stage.fuse(*kept)
    if not side_by_side:
        last = row[-1]
        vectorize(stage, last, extent_of(last), lanes)
    work = product(extent_of(axis) for axis in formula.axis)
    if worth_threads(None if work is None else 6 * work):
        stage.parallel(place)
    for op in ops:
        if side_by_side and op.axis and len(op.body) == 1:
            reduce_columns(group.stage(op), stage, place)
            continue
        group.stage(op).compute_at(stage, place)
        for partial in partial_results(plan, op, group.formula(op)):
            group.stage(partial).compute_at(stage, place)
    for one in held:
        inner = group.stage(one)
        inner.compute_at(stage, place)
        if one.axis:
            vectorize(inner, one.axis[-1], extent_of(one.axis[-1]), lanes_of(one, group.target))


def _rows_together(
    plan: Plan, stage: Stage, kept: Sequence[IterVar], row: Sequence[IterVar], lanes: int
) -> IterVar:
    """Neighbouring rows as the lanes of vectors; gives the loop over groups of them."""
    width = extent_of(kept[-1])
    if width is None or width > lanes:
        tiles, vector = stage.split(kept[-1], factor=lanes)
    else:
        tiles, vector = stage.split(kept[-1], nparts=1)
    stage.reorder(*kept[:-1], tiles, *row, vector)
    stage.vectorize(vector)
    return stage.fuse(*kept[:-1], tiles)


def _settle(plan: Plan, op: ComputeOp) -> None:
    """Operands of a single pass are computed as they are read."""
    for operand in plan.open_operands(op):
        if plan.group.readers(operand.output(0)) == [op]:
            plan.operands[operand] = "inline"
            plan.group.stage(operand).compute_inline()


def _chosen(plan: Plan, operand: ComputeOp) -> str:
    """Whether what a row needs several times is kept or computed again."""
    name = f"{plan.name(operand)}.place"
    plan.group.config.define_knob(name, ["at", "inline"])
    where = str(plan.group.config[name].val)
    plan.operands[operand] = where
    if where == "inline":
        plan.group.stage(operand).compute_inline()
    return where
