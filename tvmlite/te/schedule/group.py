"""Groups of stages that are moved together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor


class Group:
    """The stages between the inputs and the outputs given to ``Schedule.create_group``."""

    def __init__(self, members: Sequence[Stage]) -> None:
        self._members = list(members)

    @property
    def stages(self) -> list[Stage]:
        """The members, producers first."""
        return list(self._members)

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute all members in the loop ``scope`` of ``parent``, except those that are computed in a loop
        of another member.

        ::

            for i in range(n):          -->    for i in range(n):
                B[i] = A[i] * 2                    B[0] = A[i] * 2
            for i in range(n):                     C[0] = B[0] + 1
                C[i] = B[i] + 1                    D[i] = C[0] * 3
            for i in range(n):
                D[i] = C[i] * 3                # s.create_group(C, A).compute_at(s[D], i)
        """
        moved = [
            stage
            for stage in reversed(self._members)
            if stage.attach_type != AT or not any(stage.attach_stage is one for one in self._members)
        ]
        for stage in moved:
            stage.check_compute_at(parent, scope)
        for stage in moved:
            stage.compute_at(parent, scope)

    def compute_root(self) -> None:
        """Compute all members at the root again."""
        for stage in self._members:
            stage.compute_root()


class GroupPrimitive:
    """The primitive of ``Schedule`` that creates groups."""

    def create_group(self: Any, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
        """Group the stages from ``inputs`` (exclusive, unless ``include_inputs``) to ``outputs``.

        ::

            for i in range(n):          -->    for i in range(n):
                B[i] = A[i] * 2                    B[0] = A[i] * 2
            for i in range(n):                     C[0] = B[0] + 1
                C[i] = B[i] + 1                    D[i] = C[0] * 3
            for i in range(n):
                D[i] = C[i] * 3                # s.create_group(C, A).compute_at(s[D], i)
        """
        schedule: Schedule = self
        arguments.boolean("create_group: include_inputs", include_inputs, ScheduleError)
        last, first = (_operations(schedule, given) for given in (outputs, inputs))
        chosen: set[Operation] = set()
        reached: set[Operation] = set()
        todo = list(last)
        while todo:
            op = todo.pop()
            if op in chosen or op in reached:
                continue
            if op in first:
                reached.add(op)
                continue
            chosen.add(op)
            todo.extend(tensor.op for tensor in op.inputs)
        for op in first:
            if op not in reached:
                raise ScheduleError(
                    f"create_group: {op.name} is no input of {', '.join(one.name for one in last)}",
                    Span.of_caller(),
                )
        kept = chosen | (reached if include_inputs else set())
        members = [s for s in schedule.stages if s.op in kept and not isinstance(s.op, t.PlaceholderOp)]
        return Group(members)


def _operations(schedule: Schedule, given: Any) -> list[Operation]:
    every = given if isinstance(given, (list, tuple)) else (given,)
    return [schedule[one.op if isinstance(one, Tensor) else one].op for one in every]


extend(Schedule, GroupPrimitive)
