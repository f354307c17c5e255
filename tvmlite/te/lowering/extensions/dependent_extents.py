"""Reductions whose extent depends on a data axis: it contains the variable of a loop over that whole axis."""

from __future__ import annotations

from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.schedule.derived import check_dependent_extents
from tvmlite.te.schedule.stage import Stage


def check(stage: Stage, bounds: Bounds) -> None:
    """Raise a ScheduleError unless loops over all of these axes, from the start, surround the reduction."""
    leaves, data = stage.leaf_iter_vars, [axis for axis in stage.op.loop_axes if axis.kind == "data"]
    whole = [one for one in leaves if one not in data or bounds.loops[one] is bounds.variable(one)]
    check_dependent_extents("lower", stage, whole, getattr(stage.op, "span", None))
