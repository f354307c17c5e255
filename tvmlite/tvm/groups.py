"""What TVM tells of groups of stages: which is the innermost of a stage, and what stands in each."""

from __future__ import annotations

import functools
from typing import Any

from tvmlite.te.schedule.group import Group, GroupPrimitive
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.scan import ScanOp


def groups_of(schedule: Any) -> list[Group]:
    """The groups of a schedule, in the order they were made."""
    return schedule.__dict__.setdefault("_tvm_groups", [])


def _members(group: Group) -> set[Any]:
    return {stage.origin_op for stage in group.stages}


def innermost(schedule: Schedule | None, members: set[Any], but: Group | None = None) -> Group | None:
    """The smallest group that has all ``members``, the latest of those of one size."""
    found = (
        []
        if schedule is None
        else [g for g in groups_of(schedule) if g is not but and members <= _members(g)]
    )
    smallest = min(reversed(found), key=lambda group: len(group.stages), default=None)
    return smallest or _of_scan(schedule, members)


def _of_scan(schedule: Schedule | None, members: set[Any]) -> Group | None:
    """The group of what a scan carries out at each iteration, if that has all ``members``."""
    if schedule is None:
        return None
    for stage in schedule.stages:
        if isinstance(stage.op, ScanOp):
            known = vars(schedule).setdefault("_tvm_scans", {})
            if stage.origin_op not in known:
                known[stage.origin_op] = Group([schedule[op] for op in stage.op.body()])
            if members <= _members(known[stage.origin_op]):
                return known[stage.origin_op]
    return None


def parent(group: Group) -> Group | None:
    """The group that it stands in."""
    stages = group.stages
    return innermost(stages[0].schedule, _members(group), group) if stages else None


def children(group: Group) -> int:
    """How many groups and stages are directly in it."""
    stages = group.stages
    inner = (
        [g for g in groups_of(stages[0].schedule) if g is not group and parent(g) is group] if stages else []
    )
    covered = {one for g in inner for one in _members(g)}
    return len(inner) + len(_members(group) - covered)


def attach_stage(group: Group) -> Any:
    """The stage outside it in whose loop its stages stand."""
    own = _members(group)
    outside = [s.attach_stage for s in group.stages if s.attach_op is not None and s.attach_op not in own]
    return outside[0] if outside else None


_plain_create_group = GroupPrimitive.create_group


@functools.wraps(_plain_create_group)
def create_group(schedule: Any, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
    """As ``tvmlite.te``'s; the stages know the group as ``group``."""
    made = _plain_create_group(schedule, outputs, inputs, include_inputs)
    groups_of(schedule).append(made)
    return made
