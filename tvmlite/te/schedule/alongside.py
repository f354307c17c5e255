"""``compute_with``: an output is computed in a loop of another one of the same shape."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te.schedule.relations import same
from tvmlite.te.schedule.stage_base import AT, StageBase
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar


def compute_with(stage: StageBase, other: Any, axis: IterVar) -> None:
    """See ``Stage.compute_with``."""
    span = Span.of_caller()
    if not isinstance(other, StageBase) or stage.schedule is None or other.schedule is not stage.schedule:
        raise ScheduleError(f"compute_with: {other!r} is no stage of this schedule", span, "pass s[tensor]")
    position = other.require_leaf("compute_with", axis)
    problem = _problem(stage, other)
    if problem:
        raise ScheduleError(f"compute_with: {problem}", span)
    for leaf in other.leaf_iter_vars[: position + 1]:
        if leaf.kind != "data":
            raise other.error("compute_with", f"reduces: {stage.name} cannot be computed in it", leaf)
    stage.attach(AT, other, axis)
    stage.change(alongside=True)


def _problem(stage: StageBase, other: StageBase) -> str:
    """Why ``stage`` cannot be computed along with ``other``; empty if it can."""
    made, op = stage.op, other.op
    schedule = stage.schedule
    assert schedule is not None
    if not isinstance(made, t.ComputeOp) or not isinstance(op, t.ComputeOp):
        return f"{stage.name} and {other.name} must be computes"
    if not (stage.is_output and other.is_output):
        return f"{stage.name} and {other.name} must be outputs of the schedule"
    stages = schedule.stages
    if stages.index(stage) >= stages.index(other):  # type: ignore[arg-type]
        return f"{stage.name} comes after {other.name}, which can be computed with it instead"
    mine, others = made.output_shape(0), op.output_shape(0)
    if len(mine) != len(others) or not all(same(a, b) for a, b in zip(mine, others, strict=True)):
        return f"{stage.name} is {list(mine)}, {other.name} is {list(others)}"
    for reader in stages:
        if reader is not other and any(tensor.op is made for tensor in reader.op.inputs):
            return f"{reader.name} reads {stage.name} too"
    own = tuple(axis.var for axis in op.axis)
    for root in op.body:
        for node in postorder(root):
            if isinstance(node, t.TensorRead) and node.tensor.op is made and node.indices != own:
                places = ", ".join(map(str, node.indices))
                return f"{other.name} reads {stage.name}[{places}], not the element of its own indices"
    return ""
