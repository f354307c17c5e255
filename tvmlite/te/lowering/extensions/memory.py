"""Memory requested by a schedule: strides by ``storage_align``, groups by ``align_bounds``, and the checks of
combinations that these primitives do not allow."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.extensions.scan import same_memory
from tvmlite.te.lowering.intervals import simplify
from tvmlite.te.schedule.relations import Extent
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, INLINE
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.te.tensor.tensor import IterVar, Operation


def check(schedule: Schedule, normal: Schedule, given: frozenset[Operation]) -> None:
    """Raise a ScheduleError if ``schedule``, normalised to ``normal``, requests impossible memory layouts."""
    _check_memory(normal, given)
    _check_predicates(schedule)


def alignment(stage: Stage) -> Callable[[tuple[e.Expr, ...]], tuple[e.Expr, ...]]:
    """A function from the shape of the buffer of ``stage`` to its strides as ``storage_align`` requests."""

    def strides(shape: tuple[e.Expr, ...]) -> tuple[e.Expr, ...]:
        assert isinstance(stage.op, t.ComputeOp)
        step: e.Expr = e.const(1, e.INDEX)
        backwards = []
        for axis, extent in reversed(list(zip(stage.op.axis, shape, strict=True))):
            if axis in stage.alignments:
                factor, offset = stage.alignments[axis]
                step = step + (offset - step) % factor
            backwards.append(step)
            step = step * extent
        return tuple(reversed(backwards))

    return strides


def rounded_to_groups(part: Extent, axis: IterVar, stage: Stage, bounds: Bounds) -> Extent:
    """``part`` of ``axis``, extended to whole groups (``align_bounds``); the whole axis if the position of
    its start in a group is not known."""
    count = stage.bound_alignments[axis]
    before = simplify(bounds.analyzer, part.min % count)
    if not isinstance(before, int):
        return bounds.whole[axis]
    groups = (part.extent + (before + count - 1)) // count
    return Extent(simplify(bounds.analyzer, part.min - before), simplify(bounds.analyzer, groups * count))


def _check_memory(normal: Schedule, given: frozenset[Operation]) -> None:
    """Check that no argument or part of a scan, whose layouts are given, has another layout, and that stages
    computed an iteration ahead are in a loop."""
    scanned = {tensor.op: whole for tensor, whole in same_memory(normal).items()}
    scans = {op: one.op for one in normal.stages if isinstance(one.op, ScanOp) for op in one.op.body()}
    for stage in normal.stages:
        if stage.bound_alignments and stage.op in scans:
            raise ScheduleError(
                f"align_bounds: {stage.name} is a part of the scan {scans[stage.op].name}, "
                "whose iterations must not compute further elements",
                stage.span_of("align_bounds"),
            )
        for asked, primitive in ((stage.alignments, "storage_align"), (stage.layout, "transform_layout")):
            if asked and stage.op in scanned:
                raise ScheduleError(
                    f"{primitive}: {stage.name} is a part of the scan {scanned[stage.op].name}, whose layout "
                    "it has",
                    stage.span_of(primitive),
                )
        if stage.alignments and stage.op in given:
            raise ScheduleError(
                f"storage_align: {stage.name} is an argument of the function, whose layout is given",
                stage.span_of("storage_align"),
            )
        if stage.alignments and stage.layout is not None:
            raise ScheduleError(
                f"storage_align: the layout of {stage.name} is transformed, so its axes have no strides",
                stage.span_of("storage_align"),
            )
        if stage.double_buffered and stage.attach_type != AT:
            raise ScheduleError(
                f"double_buffer: {stage.name} is not computed in a loop of another stage",
                stage.span_of("double_buffer"),
            )


def _check_predicates(schedule: Schedule) -> None:
    """Check that stages with a predicate store elements, and that the predicate uses their own axes only."""
    axes = {axis.var: axis for stage in schedule.stages for axis in stage.all_iter_vars}
    for stage in schedule.stages:
        if stage.predicate is None:
            continue
        inlined, own = stage.attach_type == INLINE, {axis.var for axis in stage.all_iter_vars}
        if inlined or stage.tensorized is not None:
            raise ScheduleError(
                f"set_store_predicate: stage {stage.name} stores nothing itself, as it was given to "
                f"{'compute_inline' if inlined else 'tensorize'}",
                stage.span_of("set_store_predicate"),
            )
        for node in postorder(stage.predicate):
            if isinstance(node, e.Var) and node in axes.keys() - own:
                raise stage.error(
                    "set_store_predicate",
                    "is not one of its axes",
                    axes[node],
                    span=stage.span_of("set_store_predicate"),
                )
