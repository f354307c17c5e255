"""Which stages share a loop nest: a reduction with its epilogue, or passes over the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvmlite.te.templates.group import extent_of
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Operation, Tensor, TensorRead
from tvmlite.techniques.sketch.access import (
    ABSENT,
    Digit,
    Fused,
    access_pattern,
    correspondence,
    reads_by_formula,
)
from tvmlite.techniques.sketch.plan import Plan


@dataclass(frozen=True)
class SingleReduction:
    """The reduction ``op``, computed in the loops of ``host``; ``parts`` relate its axes to the host's."""

    op: ComputeOp
    host: Tensor
    parts: tuple[Digit | Fused, ...]


@dataclass(frozen=True)
class RowReductions:
    """The reductions ``ops``, consumers first, over the rows of ``host``, which its axes ``kept`` number."""

    ops: tuple[ComputeOp, ...]
    host: Tensor
    kept: tuple[IterVar, ...]


def reductions_for(plan: Plan, host: ComputeOp) -> SingleReduction | RowReductions | None:
    """The reductions computed in the loops of ``host``, a stage without a reduction; None if none are."""
    near = _reachable_reductions(plan, host)
    if len(near) == 1 and plan.has_only_readers(near[0], {host}):
        parts = correspondence(plan.group, near[0], host.output(0))
        light = not _shares_operands(plan, near[0]) and any(
            not _shares_operands(plan, one) for one in _reachable_reductions(plan, near[0])
        )
        if parts is not None and not light:
            return SingleReduction(near[0], host.output(0), tuple(parts))
    return _row(plan, host)


def _row(plan: Plan, host: ComputeOp) -> RowReductions | None:
    """The reductions that ``host`` reads, with results per row of it and operands that are not shared."""
    axis_maps: dict[Operation, dict[IterVar, IterVar]] = {host: {axis: axis for axis in host.axis}}
    members: list[ComputeOp] = []
    todo = [host]
    while todo:
        reader = todo.pop(0)
        for op in _reachable_reductions(plan, reader):
            if op in axis_maps or _shares_operands(plan, op) or not op.axis:
                continue
            axis_map = _axis_map(
                plan, op, [one for one in axis_maps if isinstance(one, ComputeOp)], axis_maps
            )
            if axis_map is not None:
                axis_maps[op] = axis_map
                members.append(op)
                todo.append(op)
    while True:
        group = {host, *members}
        kept_members = [op for op in members if plan.has_only_readers(op, group - {op})]
        if len(kept_members) == len(members):
            break
        members = kept_members
    kept = [axis for axis in host.axis if all(axis in axis_maps[op].values() for op in members)]
    return RowReductions(tuple(members), host.output(0), tuple(kept)) if members and kept else None


def _axis_map(
    plan: Plan,
    op: ComputeOp,
    readers: Sequence[ComputeOp],
    axis_maps: dict[Operation, dict[IterVar, IterVar]],
) -> dict[IterVar, IterVar] | None:
    """The axis of the host for each data axis of ``op``, by the indices with which ``readers`` read it."""
    found: dict[IterVar, IterVar] | None = None
    for reader in readers:
        by_var = {axis.var: axis_map for axis, axis_map in axis_maps[reader].items()}
        for read in _reads_through(plan, reader, op):
            if not all(index in by_var for index in read.indices):
                return None
            axis_map = {a: by_var[i] for a, i in zip(op.axis, read.indices, strict=True)}  # type: ignore[index]
            if found is not None and found != axis_map:
                return None
            found = axis_map
    return found


def _reads_through(plan: Plan, reader: ComputeOp, op: ComputeOp) -> list[TensorRead]:
    """The reads of ``op`` by ``reader``, direct or through operands that ``reader`` reads element-wise."""
    found = []
    for read in reads_by_formula(plan.group, reader):
        if read.tensor.op is op:
            found.append(read)
        elif read.tensor.op in plan.operands and isinstance(read.tensor.op, ComputeOp):
            own = dict(zip((a.var for a in read.tensor.op.axis), read.indices, strict=True))
            for inner in _reads_through(plan, read.tensor.op, op):
                places = tuple(own.get(index, index) for index in inner.indices)  # type: ignore[call-overload]
                found.append(TensorRead(inner.tensor, places))
    return found


def _reachable_reductions(plan: Plan, op: ComputeOp) -> list[ComputeOp]:
    """The unscheduled reductions that ``op`` reads, directly or through stages without a reduction."""
    found: dict[ComputeOp, None] = {}
    todo = [tensor.op for tensor in op.inputs]
    while todo:
        one = todo.pop(0)
        if not isinstance(one, ComputeOp) or one not in plan.free or plan.group.stage(one).is_output:
            continue
        if one.reduce_axis:
            found[one] = None
        else:
            todo.extend(tensor.op for tensor in one.inputs)
    return list(found)


def _shares_operands(plan: Plan, op: ComputeOp) -> bool:
    """Whether results of ``op`` share operands, so that tiles of them are faster than single ones."""
    for read in reads_by_formula(plan.group, op):
        if any(access_pattern(read, axis, 1) == ABSENT and extent_of(axis) != 1 for axis in op.axis):
            return True
    return False
