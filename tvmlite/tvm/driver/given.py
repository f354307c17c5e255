"""Adapt a schedule to the arguments that TVM allows: any of its tensors, outputs or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.schedule.epilogue import why_apart
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage_base import AT, ROOT, loops_around
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.declare import placeholder
from tvmlite.te.tensor.inline import replace_reads
from tvmlite.te.tensor.tensor import Operation, Tensor


def with_arguments(schedule: Schedule, args: Sequence[Any]) -> tuple[Schedule, list[Any]]:
    """Return ``schedule`` adapted to ``args``, and all its arguments. An output that is not among ``args``
    becomes an intermediate result if a stage reads it, else an argument after ``args``. An argument computed
    in the loops of an output that reads it element by element is stored there. Any other argument that is
    inlined or computed in another stage's loops is computed again in a separate stage, so the scheduled loops
    do not change."""
    args = _without_states(schedule, args)
    known = schedule.stage_map
    given = {known[one.op].op if one.op in known else one.op for one in args if isinstance(one, Tensor)}
    inner = [op for op in schedule.outputs if op not in given and any(s.reads(op) for s in schedule.stages)]
    further = [x for op in schedule.outputs if op not in given and op not in inner for x in op.outputs]
    apart = [
        stage.origin_op
        for stage in schedule.stages
        if stage.op in given and stage.attach_type != ROOT and isinstance(stage.origin_op, t.ComputeOp)
    ]
    params = [*args, *further]
    if not inner and not apart:
        return schedule, params
    made = schedule.copy()
    for op in inner:
        made[op].change(is_output=False)
    outputs = [op for op in made.outputs if op not in inner]
    for op in reversed(apart):
        if _written_in_place(made, op, schedule.normalize()):
            apart.remove(op)
            outputs.append(op)
    copies: dict[Tensor, Tensor] = {}
    for op in apart:
        _copy(op, copies, made)
        outputs.append(copies[op.output(0)].op)
        made[outputs[-1]].change(is_output=True)
    made.state = dataclasses.replace(made.state, outputs=tuple(outputs))
    found = {schedule[op].op.output(k): copies[op.output(k)] for op in apart for k in range(op.num_outputs)}
    current = [schedule.current(x) if isinstance(x, Tensor) and x.op in known else x for x in params]
    return made, [found.get(now, x) for now, x in zip(current, params, strict=True)]


def _written_in_place(made: Schedule, op: Operation, normal: Schedule) -> bool:
    """Make ``op`` an output that is stored in the loops of an output of ``made``, if ``op`` is computed there
    and read element by element. Return whether this was possible."""
    stage, found = made[op], normal.stage_map.get(made[op].op)
    host = stage.attach_stage
    if found is None or found.attach_type != AT or host is None or not host.is_output:
        return False
    around = list(loops_around(found))
    stage.change(is_output=True)
    if any(axis.kind != "data" for _, axis in around) or why_apart(stage, host):
        stage.change(is_output=False)
        return False
    stage.change(alongside=True)
    return True


def _without_states(schedule: Schedule, args: Sequence[Any]) -> list[Any]:
    """Return ``args`` with the states of scans replaced by placeholders that nothing reads."""
    states = {x for stage in schedule.stages for x in getattr(stage.op, "state", ())}
    return [
        placeholder(x.shape, x.dtype, x.name) if isinstance(x, Tensor) and x in states else x for x in args
    ]


def _copy(op: Operation, copies: dict[Tensor, Tensor], schedule: Schedule) -> None:
    """Add separate stages for ``op`` and the computes that it reads."""
    for tensor in op.inputs:
        if tensor not in copies and isinstance(tensor.op, t.ComputeOp):
            _copy(tensor.op, copies, schedule)
    assert isinstance(op, t.ComputeOp)
    fresh = _with_own_axes(op)
    fresh = replace_reads(fresh, {one: copies[one] for one in op.inputs if one in copies})
    copies.update(zip(op.outputs, fresh.outputs, strict=True))
    schedule.insert(len(schedule.stages), fresh, "global")


def _with_own_axes(op: t.ComputeOp) -> Operation:
    """Return a copy of ``op`` with new axes."""
    fresh = {
        axis: t.IterVar(axis.dom, e.Var(axis.var.name, axis.var.dtype), axis.kind)
        for axis in (*op.axis, *op.reduce_axis)
    }
    values: dict[Any, Any] = {axis.var: own.var for axis, own in fresh.items()}
    body = [substitute(root, values) for root in op.body]
    made = [
        dataclasses.replace(root, axis=tuple(fresh[axis] for axis in root.axis))
        if isinstance(root, t.Reduce)
        else root
        for root in body
    ]
    axes, reduced = (tuple(fresh[axis] for axis in one) for one in (op.axis, op.reduce_axis))
    return dataclasses.replace(op, axis=axes, reduce_axis=reduced, body=tuple(made))
