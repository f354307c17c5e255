"""Changes of operations and loops that ``cache_write``, ``rfactor`` and ``reverse_compute_at`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import Node, postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.schedule.relations import Extent, Number, Ranges, derived_from, pass_down, plain
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import Fuse, Relation, Singleton, Split, StageBase, without
from tvmlite.te.tensor import inline
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor


def move_annotations(source: StageBase, target: StageBase, replacements: Mapping[IterVar, IterVar]) -> None:
    """Move the kinds and pragmas of loops of ``source``, and the stages attached to them, to the loops of
    ``target`` that ``replacements`` maps them to."""
    for name in ("loop_kinds", "pragmas"):
        given = getattr(source, name)
        moved = {new: given[old] for old, new in replacements.items() if old in given}
        if moved:
            target.change(**{name: MappingProxyType({**getattr(target, name), **moved})})
            source.change(**{name: without(given, replacements)})
    for one in () if source.schedule is None else source.schedule.stages:
        axis = one.attach_ivar
        if one.attach_op is source.origin_op and axis is not None and axis in replacements:
            one.change(attach_op=target.origin_op, attach_ivar=replacements[axis])


def replace_reads(schedule: Schedule, mapping: Mapping[Tensor, Tensor], stages: Sequence[Stage]) -> None:
    """Replace reads of ``mapping``'s keys by its values in ``stages``; update readers of their results."""
    followers: dict[Tensor, Tensor] = {}
    for stage in schedule.stages:
        op = inline.replace_reads(stage.op, {**mapping, **followers} if stage in stages else followers)
        if op is not stage.op:
            followers.update(zip(stage.op.outputs, op.outputs, strict=True))
            schedule.set_op(stage, op)


def change_op(schedule: Schedule, stage: Stage, op: Operation) -> None:
    """Make ``stage`` compute ``op``, and the stages that read its results read those of ``op``."""
    mapping = dict(zip(stage.op.outputs, op.outputs, strict=True))
    schedule.set_op(stage, op)
    replace_reads(schedule, mapping, [one for one in schedule.stages if one is not stage])


def check_separable(primitive: str, stage: StageBase, reducing: set[IterVar]) -> None:
    """Raise a ScheduleError if a loop runs over both data and reduce axes, or the extent of a reduce axis
    depends on a data axis."""
    check_dependent_extents(primitive, stage, (), Span.of_caller())
    check_unmixed(primitive, stage, reducing)


def check_unmixed(primitive: str, stage: StageBase, reducing: set[IterVar]) -> None:
    """Raise a ScheduleError if a loop runs over both data and reduce axes."""
    for relation in stage.relations:
        if isinstance(relation, Fuse) and (relation.outer in reducing) != (relation.inner in reducing):
            raise ScheduleError(
                f"{primitive}: axis {relation.fused.var.name} of stage {stage.name} is fused from a "
                "reduce axis and a data axis",
                Span.of_caller(),
            )


def check_dependent_extents(
    what: str, stage: StageBase, leaves: Sequence[IterVar], span: Span | None
) -> None:
    """Raise a ScheduleError if the extent of a reduce axis of ``stage`` depends on a data axis that is not
    one of the loops ``leaves`` (outermost first) outside the reduction."""
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    elements: dict[Node, IterVar] = {axis.var: axis for axis in op.axis}
    for axis in op.reduce_axis:
        used = [elements[node] for node in postorder(axis.dom) if node in elements] if axis.dom else []
        inner = derived_from(stage.relations, [axis]) if used else set()
        first = next((n for n, leaf in enumerate(leaves) if leaf in inner), 0)
        for outer in used:
            if outer not in leaves[:first]:
                raise ScheduleError(
                    f"{what}: the extent of axis {axis.var.name} of stage {stage.name} depends on axis "
                    f"{outer.var.name}, whose loop must not be split and must be outside it",
                    span,
                    hint="reduce over the maximum extent, and mask with where=",
                )


def axes_of(relation: Relation) -> set[IterVar]:
    """The axes that ``relation`` relates."""
    match relation:
        case Split(a, b, c) | Fuse(a, b, c):
            return {a, b, c}
        case _:
            return {relation.iter}


def replace_axes(relation: Relation, replacements: Mapping[IterVar, IterVar]) -> Relation:
    """``relation`` with its axes replaced as ``replacements`` says."""
    match relation:
        case Split(parent=parent):
            return replace(relation, parent=replacements.get(parent, parent))
        case Fuse(outer, inner):
            return replace(
                relation, outer=replacements.get(outer, outer), inner=replacements.get(inner, inner)
            )
        case _:
            return relation


def values_down(relations: Sequence[Relation], ranges: Ranges, values: dict[IterVar, Number]) -> None:
    """Complete ``values``, which has those of the operation's axes, by those of all derived axes."""
    for relation in relations:
        match relation:
            case Split(parent, outer, inner):
                factor = ranges[inner].extent
                within = values[parent] - ranges[parent].min
                values[outer], values[inner] = within // factor, within % factor
            case Fuse(outer, inner, fused):
                row, column = values[outer] - ranges[outer].min, values[inner] - ranges[inner].min
                values[fused] = row * ranges[inner].extent + column
            case Singleton(axis):
                values[axis] = 0


def ranges_of(stage: StageBase, op: t.ComputeOp) -> Ranges:
    """The ranges of all axes of ``stage``, as far as they are known before bound inference."""
    ranges: Ranges = {}
    for axis in (*op.axis, *op.reduce_axis):
        assert axis.dom is not None
        ranges[axis] = Extent(plain(axis.dom.min), plain(axis.dom.extent))
    pass_down(stage.relations, ranges, plain, plain)
    return ranges


def range_of(extent: Extent) -> t.Range:
    """``extent`` as the range of an operation's axis."""
    whole = e.convert(extent.extent)
    return (
        t.Range(e.const(0, whole.dtype), whole)
        if e.is_const(extent.min, 0)
        else t.Range(e.convert(extent.min), whole)
    )


def equal(a: Number, b: Number) -> bool:
    """Whether both are known and equal."""
    return isinstance(a, int) and isinstance(b, int) and a == b
