"""Reductions in vectors of partial results, and several passes over the same rows."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import extent_of, lanes_of, product, work_of
from tvmlite.te.templates.share import share, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor
from tvmlite.techniques.elementwise.injective import vectorize
from tvmlite.techniques.reduction.reduction import (
    place_rows,
    reads_along_reduction,
    reduce_columns,
    reduce_row,
)
from tvmlite.techniques.rows.rows import PASS_COST, rows_as_lanes
from tvmlite.techniques.sketch.plan import Plan


def schedule_row_reduction(plan: Plan, op: ComputeOp, host: Tensor) -> None:
    """Schedule results that each reduce a row, in vectors of partial results."""
    group = plan.group
    _inline_operands(plan, op)
    formula = group.formula(op)
    threads = threads_for(group.target, work_of(formula))
    place_rows(group, op, host, partial_results(plan, op, formula), threads)


def partial_results(plan: Plan, op: ComputeOp, formula: ComputeOp) -> list[Tensor]:
    """Reduce ``op`` in vectors of partial results (``partial_knobs``), and return these."""
    several, at_once = partial_knobs(plan, op)
    if len(op.body) > 1 or not reads_along_reduction(formula):
        return []
    return reduce_row(plan.group, op, formula, several, at_once)


def partial_knobs(plan: Plan, op: ComputeOp) -> tuple[int, int]:
    """The knobs ``vectors`` and ``combine`` of ``op``: the number of vectors of partial results, and how many
    partial results are combined at a time."""
    group, name = plan.group, plan.name(op)
    return group.knob(f"{name}.vectors", [4, 1, 2, 8]), group.knob(f"{name}.combine", [4, 2, 8, 16])


def passes(plan: Plan, ops: Sequence[ComputeOp], host: Tensor, kept: Sequence[IterVar]) -> None:
    """Compute the reductions ``ops`` one after the other, in the loop that writes the row of ``host`` that
    reads them. ``kept`` are the axes of the host that number its rows.
    """
    group, stage, name = plan.group, plan.group.stage(host), plan.name(host.op)
    readers = [*ops, stage.op]
    operands = dict.fromkeys(one for op in readers for one in plan.unplaced_operands(op))  # type: ignore[arg-type]
    own = [one for one in operands if plan.has_only_readers(one, set(readers))]
    held = [one for one in own if _chosen_place(plan, one) != "inline"]
    formula = group.formula(host)
    lanes = lanes_of(formula, group.target)
    row = [axis for axis in group.axes(host) if axis not in kept]
    along = any(reads_along_reduction(group.formula(op)) for op in ops)
    side_by_side = formula.axis[-1] in kept and not along
    stage.reorder(*kept, *row)
    vectors, several = (group.knob(f"{name}.{what}", [1, 2, 4, 8]) for what in ("vectors", "rows"))
    if side_by_side:
        place = rows_as_lanes(stage, kept, row, lanes)
    else:
        place = stage.fuse(*kept)
        if several > 1:
            place, within = stage.split(place, factor=several)
            stage.reorder(place, within, *row)
        if row and formula.axis[-1] is row[-1]:
            in_vectors(stage, row[-1], lanes, vectors)
    work = product(extent_of(axis) for axis in formula.axis)
    share(stage, place, threads_for(group.target, None if work is None else PASS_COST * work), "a row")
    for op in ops:
        if side_by_side and op.axis and len(op.body) == 1:
            partial_knobs(plan, op)  # define them, so that the space does not depend on other knobs
            reduce_columns(group.stage(op), stage, place)
            continue
        group.stage(op).compute_at(stage, place)
        for partial in partial_results(plan, op, group.formula(op)):
            group.stage(partial).compute_at(stage, place)
    for one in held:
        inner, several = group.stage(one), group.knob(f"{plan.name(one)}.vectors", [1, 2, 4, 8])
        inner.compute_at(stage, place)
        if one.axis:
            in_vectors(inner, one.axis[-1], lanes_of(one, group.target), several)


def in_vectors(stage: Stage, axis: IterVar, lanes: int, several: int) -> None:
    """Vectorize ``axis``, with ``several`` vectors per iteration if it is long enough."""
    extent = extent_of(axis)
    if several > 1 and lanes > 1 and (extent is None or extent >= several * lanes):
        _, block = stage.split(axis, factor=several * lanes)
        vectors, lane = stage.split(block, factor=lanes)
        stage.unroll(vectors)
        stage.vectorize(lane)
    else:
        vectorize(stage, axis, extent, lanes)


def _inline_operands(plan: Plan, op: ComputeOp) -> None:
    """Inline the operands that only ``op`` reads."""
    for operand in plan.unplaced_operands(op):
        if plan.group.readers(operand.output(0)) == [op]:
            plan.operands[operand] = "inline"
            plan.group.stage(operand).compute_inline()


def _chosen_place(plan: Plan, operand: ComputeOp) -> str:
    """The knob ``place``: whether an operand that a row reads several times is stored or recomputed."""
    where = plan.group.knob(f"{plan.name(operand)}.place", ["at", "inline"])
    plan.operands[operand] = where
    if where == "inline":
        plan.group.stage(operand).compute_inline()
    return where
