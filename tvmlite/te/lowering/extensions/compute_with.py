"""Stages computed with another one (``compute_with``): the region they compute there."""

from __future__ import annotations

from tvmlite.te.lowering.bounds import Bounds, clip, running_intervals
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t


def set_region(stage: Stage, op: t.ComputeOp, bounds: Bounds) -> None:
    """Set the region of ``op`` to that which the stage it is computed with has in that loop."""
    other = stage.attach_stage
    assert other is not None
    assert isinstance(other.op, t.ComputeOp)
    with bounds.inside(other, own=True):
        running = running_intervals(other, stage.attach_ivar, bounds)
    with bounds.inside(stage, own=False):
        for axis, host in zip(op.axis, other.op.axis, strict=True):
            bounds.ranges[axis] = clip(running[bounds.variable(host)], axis, stage, bounds)
