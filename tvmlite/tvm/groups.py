"""TVM's attributes of groups of stages: a stage's innermost group, and a group's parent and children."""

from __future__ import annotations

import functools
from typing import Any

from tvmlite.te.schedule.group import Group, GroupPrimitive
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.scan import ScanOp


def groups_of(schedule: Any) -> list[Group]:
    """The groups of a schedule, in order of creation."""
    return schedule.__dict__.setdefault("_tvm_groups", [])


def _members(group: Group) -> set[Any]:
    return {stage.origin_op for stage in group.stages}


def innermost(schedule: Schedule | None, members: set[Any], but: Group | None = None) -> Group | None:
    """The smallest group except ``but`` that contains all ``members``; the latest of several."""
    found = (
        []
        if schedule is None
        else [g for g in groups_of(schedule) if g is not but and members <= _members(g)]
    )
    smallest = min(reversed(found), key=lambda group: len(group.stages), default=None)
    return smallest or _of_scan(schedule, members)


def _of_scan(schedule: Schedule | None, members: set[Any]) -> Group | None:
    """The group of the stages that a scan executes in each iteration, if it contains all ``members``."""
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
    """The innermost group that contains ``group``."""
    stages = group.stages
    return innermost(stages[0].schedule, _members(group), group) if stages else None


def children(group: Group) -> int:
    """The number of groups and stages directly in ``group``."""
    stages = group.stages
    inner = (
        [g for g in groups_of(stages[0].schedule) if g is not group and parent(g) is group] if stages else []
    )
    covered = {one for g in inner for one in _members(g)}
    return len(inner) + len(_members(group) - covered)


def attach_stage(group: Group) -> Any:
    """The stage outside ``group`` to whose loop the stages of ``group`` are attached."""
    own = _members(group)
    outside = [s.attach_stage for s in group.stages if s.attach_op is not None and s.attach_op not in own]
    return outside[0] if outside else None


_plain_create_group = GroupPrimitive.create_group


@functools.wraps(_plain_create_group)
def create_group(schedule: Any, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
    """``create_group`` of ``tvmlite.te`` that also records the group, for ``stage.group``."""
    made = _plain_create_group(schedule, outputs, inputs, include_inputs)
    groups_of(schedule).append(made)
    return made
