"""A schedule: the stages of a computation and the loops chosen for each, apart from what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import in_order
from tvmlite.core.span import Span
from tvmlite.te.extensions import extended, extension
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, Fuse, ScheduleState, Split, StageState
from tvmlite.te.schedule.trace import Trace
from tvmlite.te.tensor import inline
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import Operation, Tensor

if TYPE_CHECKING:
    from tvmlite.te.schedule.cache import CachePrimitives
    from tvmlite.te.schedule.group import GroupPrimitive
    from tvmlite.te.schedule.rfactor import RfactorPrimitive

    class MorePrimitives(CachePrimitives, GroupPrimitive, RfactorPrimitive):
        """Those that enter themselves when the first is called."""
else:
    MorePrimitives = object


class Schedule(MorePrimitives):
    """The stages of a computation, producers first; ``s[tensor]`` or ``s[op]`` is the stage that makes it.

    A stage is found by its present operation and by those it had before ``cache_read``, ``cache_write`` and
    ``rfactor`` rewrote it, so that tensors in the user's hands stay good.

    ``trace`` lists the primitives called so far, one a line when printed, with the state after each:
    ``replay`` gives the schedule as it was then, ``undo`` goes back.
    """

    state: ScheduleState
    trace: Trace

    def __init__(self, stages: Sequence[Stage], outputs: Sequence[Operation]) -> None:
        given = arguments.listed("Schedule: stages", stages, "stages", ScheduleError)
        ops = arguments.listed("Schedule: outputs", outputs, "operations", ScheduleError)
        arguments.all_instances("Schedule: stages", given, Stage, "a stage", ScheduleError)
        arguments.all_instances("Schedule: outputs", ops, Operation, "an operation", ScheduleError)
        states = {stage.origin_op: stage.state for stage in stages}
        origins = {stage.op: stage.origin_op for stage in stages}
        for stage in stages:
            stage.schedule = self
        handles = {stage.origin_op: stage for stage in stages}
        self._begin(ScheduleState(states, origins, tuple(outputs)), Trace(), handles)

    def _begin(self, start: ScheduleState, trace: Trace, handles: dict[Operation, Stage]) -> None:
        """``start`` is the state before the primitives of ``trace``."""
        self._start, self.trace, self.handles = start, trace, handles
        self._show(trace[-1].state if trace else start)

    def _show(self, state: ScheduleState) -> None:
        """``state`` is that of the schedule from now on, and what handles of its stages show."""
        self.state = state
        for origin, stage in state.stages.items():
            if origin in self.handles:
                self.handles[origin].state = stage
            else:
                self.handles[origin] = Stage.showing(stage, self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return extended(self, name)

    @property
    def stages(self) -> list[Stage]:
        """All stages, producers first."""
        return [self.handles[origin] for origin in self.state.stages]

    @property
    def stage_map(self) -> dict[Operation, Stage]:
        """The stage of each operation that one computes, or computed before."""
        return {op: self.handles[origin] for op, origin in self.state.origins.items()}

    @property
    def outputs(self) -> list[Operation]:
        """The operations that the schedule computes."""
        return list(self.state.outputs)

    @property
    def origins(self) -> tuple[Operation, ...]:
        """The outputs before any of them was rewritten."""
        return self._start.outputs

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        op = key.op if isinstance(key, Tensor) else key
        origin = self.state.origins.get(op) if isinstance(op, Operation) else None
        if origin is None:
            name = op.name if isinstance(op, Operation) else arguments.shown(op)
            raise ScheduleError(f"the schedule has no stage {name}", Span.of_caller())
        return self.handles[origin]

    def put(self, stage: StageState) -> None:
        """``stage`` replaces the former state of that stage."""
        stages = {**self.state.stages, stage.origin_op: stage}
        self.state = ScheduleState(stages, self.state.origins, self.state.outputs)

    def keep(self, stages: Sequence[Stage]) -> None:
        """Drop all stages but these from the list; the others are still found."""
        kept = {stage.origin_op: stage.state for stage in stages}
        self.state = replace(self.state, stages=kept)

    def current(self, tensor: Tensor) -> Tensor:
        """What stands for ``tensor`` now that stages may have been rewritten."""
        arguments.instance("a schedule's tensor", tensor, Tensor, "a tensor", ScheduleError)
        return self[tensor].op.output(tensor.value_index)

    def normalize(self) -> Schedule:
        """A copy in which inlined stages are gone and every attach point is a loop that is still there.

        ::

            B[i] = A[i] * 2    (inlined)       -->    C[i] = A[i] * 2 + 1, loops i.outer, i.inner
            C[i] = B[i] + 1, loop i split             D: computed at i.inner of C
            D: computed at i of C
        """
        made = self.copy()
        inline.inject(made)
        if any(stage.op.kind == "scan" for stage in made.stages):
            extension("scan").put_into_scans(made)
        for stage in made.stages:
            if stage.attach_type == AT:
                _find_attach_point(stage)
        return made

    def copy(self) -> Schedule:
        """A schedule that can be changed without changing this one."""
        made = self.replay()
        made._show(self.state)
        return made

    def replay(self, steps: int | None = None) -> Schedule:
        """Another schedule, as this one was after its first ``steps`` primitives (all of them by default),
        which ``trace`` lists."""
        if steps is not None:
            steps = arguments.whole("replay: steps", steps, ScheduleError, least=0)
        made = Schedule.__new__(Schedule)
        made._begin(self._start, Trace(self.trace[:steps]), {})
        return made

    def undo(self, steps: int = 1) -> None:
        """Take the last ``steps`` primitives back. Stages in the user's hands are as they were before them;
        those that were added are gone."""
        steps = arguments.whole("undo: steps", steps, ScheduleError, least=0)
        if steps > len(self.trace):
            raise ScheduleError(
                f"undo: {steps} steps given, but only {len(self.trace)} primitives were called",
                Span.of_caller(),
            )
        self._begin(self._start, Trace(self.trace[: len(self.trace) - steps]), self.handles)

    def set_op(self, stage: Stage, op: Operation) -> None:
        """``stage`` computes ``op`` from now on; it is still found by its former operations."""
        outputs = tuple(op if one is stage.op else one for one in self.state.outputs)
        stage.change(op=op)
        origins = {**self.state.origins, op: stage.origin_op}
        self.state = ScheduleState(self.state.stages, origins, outputs)

    def insert(self, position: int, op: Operation, scope: str) -> Stage:
        """A new stage for ``op`` at ``position``, whose buffer is in ``scope``."""
        stages = list(self.state.stages.items())
        stages.insert(position, (op, replace(StageState.of(op), scope=scope)))
        self._show(ScheduleState(dict(stages), {**self.state.origins, op: op}, self.state.outputs))
        return self.handles[op]

    def __repr__(self) -> str:
        return extension("schedule_text").schedule(self)


def create_schedule(ops: Any) -> Schedule:
    """The schedule that computes ``ops`` (operations or tensors, one or several) in plain loops, each stage
    on its own; a ScheduleError if one of them is a placeholder."""
    given = ops if isinstance(ops, (list, tuple)) else (ops,)
    ops = [one.op if isinstance(one, Tensor) else one for one in given]
    what = "an operation or a tensor"
    outputs = list(
        dict.fromkeys(arguments.all_instances("create_schedule", ops, Operation, what, ScheduleError))
    )
    if not outputs:
        raise ScheduleError("create_schedule: no operations given, expected at least one", Span.of_caller())
    for op in outputs:
        if isinstance(op, t.PlaceholderOp):
            raise ScheduleError(
                f"create_schedule: {op.name} is a placeholder, there is nothing to compute", Span.of_caller()
            )
    every = list(in_order(outputs, lambda op: [tensor.op for tensor in op.inputs]))
    if any(isinstance(op, t.ComputeOp) and op.reads_earlier_rows for op in every):
        extension("scan").check_earlier_rows(every)
    return Schedule([Stage(op, op in outputs) for op in every], outputs)


def _find_attach_point(stage: Stage) -> None:
    """Where the loop a stage is attached to was split or fused since, the innermost of what it became."""
    parent, axis = stage.attach_stage, stage.attach_ivar
    assert parent is not None
    assert axis is not None
    for relation in parent.relations:
        match relation:
            case Split(whole, _, inner) if whole is axis:
                axis = inner
            case Fuse(outer, inner, fused) if axis is outer or axis is inner:
                axis = fused
    if not any(leaf is axis for leaf in parent.leaf_iter_vars):
        raise ScheduleError(
            f"compute_at: axis {axis.var.name} is not a loop of stage {parent.name} any more, at which "
            f"{stage.name} was to be computed",
            stage.attach_span,
        )
    stage.change(attach_ivar=axis)
