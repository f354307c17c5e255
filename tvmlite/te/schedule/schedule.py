"""A schedule: the stages of a computation and the loops of each, independent of what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder_from
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
        """The primitives that are added to ``Schedule`` when one of them is first called."""
else:
    MorePrimitives = object


class Schedule(MorePrimitives):
    """The stages of a computation, producers first; ``s[tensor]`` or ``s[op]`` is the stage that computes it.

    A stage is found by its current operation and by those it had before ``cache_read``, ``cache_write`` and
    ``rfactor`` rewrote it, so that the tensors a user holds stay valid.

    ``trace`` lists the primitives called so far, with the state after each; printed, one a line. ``replay``
    returns the schedule as of an earlier step, ``undo`` reverts steps.
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
        """Initialise from the state ``start``, before the primitives of ``trace``."""
        self._start, self.trace, self.handles = start, trace, handles
        self._set_state(trace[-1].state if trace else start)

    def _set_state(self, state: ScheduleState) -> None:
        """Make ``state`` the current state of the schedule, and of the handles of its stages."""
        self.state = state
        for origin, stage in state.stages.items():
            if origin in self.handles:
                self.handles[origin].state = stage
            else:
                self.handles[origin] = Stage.handle_of(stage, self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return extended(self, name)

    @property
    def stages(self) -> list[Stage]:
        """All stages, producers first."""
        return [self.handles[origin] for origin in self.state.stages]

    @property
    def stage_map(self) -> dict[Operation, Stage]:
        """The stage of each operation that a stage computes now or computed before."""
        return {op: self.handles[origin] for op, origin in self.state.origins.items()}

    @property
    def outputs(self) -> list[Operation]:
        """The operations that the schedule computes."""
        return list(self.state.outputs)

    @property
    def origins(self) -> tuple[Operation, ...]:
        """The outputs as given, before primitives rewrote any of them."""
        return self._start.outputs

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        op = key.op if isinstance(key, Tensor) else key
        origin = self.state.origins.get(op) if isinstance(op, Operation) else None
        if origin is None:
            name = op.name if isinstance(op, Operation) else arguments.shown(op)
            raise ScheduleError(f"the schedule has no stage {name}", Span.of_caller())
        return self.handles[origin]

    def put(self, stage: StageState) -> None:
        """Replace the state of a stage by ``stage``."""
        stages = {**self.state.stages, stage.origin_op: stage}
        self.state = ScheduleState(stages, self.state.origins, self.state.outputs)

    def keep(self, stages: Sequence[Stage]) -> None:
        """Remove all stages but these from the list; the others can still be looked up."""
        kept = {stage.origin_op: stage.state for stage in stages}
        self.state = replace(self.state, stages=kept)

    def current(self, tensor: Tensor) -> Tensor:
        """The tensor that replaces ``tensor`` now, after primitives may have rewritten its stage."""
        arguments.instance("a schedule's tensor", tensor, Tensor, "a tensor", ScheduleError)
        return self[tensor].op.output(tensor.value_index)

    def normalize(self) -> Schedule:
        """A copy without inlined stages, in which every attach point is an existing loop.

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
        """A copy that can be changed without changing this schedule."""
        made = self.replay()
        made._set_state(self.state)
        return made

    def replay(self, steps: int | None = None) -> Schedule:
        """A new schedule in the state after the first ``steps`` primitives of ``trace``, by default after
        all of them."""
        if steps is not None:
            steps = arguments.whole("replay: steps", steps, ScheduleError, least=0)
        made = Schedule.__new__(Schedule)
        made._begin(self._start, Trace(self.trace[:steps]), {})
        return made

    def undo(self, steps: int = 1) -> None:
        """Revert the last ``steps`` primitives. Handles of stages show the earlier state; stages that these
        primitives added are removed."""
        steps = arguments.whole("undo: steps", steps, ScheduleError, least=0)
        if steps > len(self.trace):
            raise ScheduleError(
                f"undo: {steps} steps given, but only {len(self.trace)} primitives were called",
                Span.of_caller(),
            )
        self._begin(self._start, Trace(self.trace[: len(self.trace) - steps]), self.handles)

    def set_op(self, stage: Stage, op: Operation) -> None:
        """Make ``stage`` compute ``op`` from now on; it is still found by its former operations."""
        outputs = tuple(op if one is stage.op else one for one in self.state.outputs)
        stage.change(op=op)
        origins = {**self.state.origins, op: stage.origin_op}
        self.state = ScheduleState(self.state.stages, origins, outputs)

    def insert(self, position: int, op: Operation, scope: str) -> Stage:
        """Insert a stage for ``op`` at ``position``, with its buffer in ``scope``, and return it."""
        stages = list(self.state.stages.items())
        stages.insert(position, (op, replace(StageState.of(op), scope=scope)))
        self._set_state(ScheduleState(dict(stages), {**self.state.origins, op: op}, self.state.outputs))
        return self.handles[op]

    def __repr__(self) -> str:
        return extension("schedule_text").schedule(self)


def create_schedule(ops: Any) -> Schedule:
    """Create the schedule that computes ``ops`` (operations or tensors, one or several), each stage in a
    plain loop nest; a ScheduleError if one of them is a placeholder."""
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
    every = list(postorder_from(outputs, lambda op: [tensor.op for tensor in op.inputs]))
    if any(isinstance(op, t.ComputeOp) and op.reads_earlier_rows for op in every):
        extension("scan").check_earlier_rows(every)
    return Schedule([Stage(op, op in outputs) for op in every], outputs)


def _find_attach_point(stage: Stage) -> None:
    """Attach ``stage`` to the innermost loop that its attach point became by later splits and fusions."""
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
