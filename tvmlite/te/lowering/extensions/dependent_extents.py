"""Reductions whose extent depends on an element: it speaks of the variable of a loop over all elements."""

from __future__ import annotations

from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.schedule.derived import check_dependent_extents
from tvmlite.te.schedule.stage import Stage


def check(stage: Stage, bounds: Bounds) -> None:
    """A ScheduleError if no loop over all of such an axis, from its beginning, is around the reduction."""
    leaves, data = stage.leaf_iter_vars, [axis for axis in stage.op.loop_axes if axis.kind == "data"]
    whole = [one for one in leaves if one not in data or bounds.loops[one] is bounds.variable(one)]
    check_dependent_extents("lower", stage, whole, getattr(stage.op, "span", None))
