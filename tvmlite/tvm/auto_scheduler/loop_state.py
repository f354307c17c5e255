"""States of the auto-scheduler: a computation's loops, from TVM's primitives or a generated schedule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.te import space
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, ROOT
from tvmlite.te.tensor.tensor import IterVar, Operation, PlaceholderOp, Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.loops import ANNOTATIONS, COMPUTE_AT, Iterator, StateStage, ranges, threads
from tvmlite.tvm.auto_scheduler.loops import LoopRange as LoopRange
from tvmlite.tvm.auto_scheduler.steps import Step
from tvmlite.tvm.te.threads import thread_axis


class State:
    """The loops of a computation. The methods are TVM's primitives: each changes the state and returns the
    loops or the tensor that it creates. ``state[tensor].iters`` are the loops of a stage.

    With ``config``, the settings of the knobs of ``core``, it is a schedule that a search has generated. Else
    it starts as the unscheduled loops of the operations ``outputs``, with the stages in ``order``.
    """

    ANNOTATION_TRANS_TABLE: ClassVar[dict[str, int]] = ANNOTATIONS

    def __init__(
        self,
        config: space.ConfigEntity | None = None,
        core: space.Task | None = None,
        outputs: Sequence[Operation] = (),
        order: Sequence[Operation] = (),
    ) -> None:
        self.config, self._core, self._outputs, self._order = config, core, tuple(outputs), tuple(order)
        self._schedule: Schedule | None = None
        self._steps: list[Any] | None = None

    @property
    def schedule(self) -> Schedule:
        """The state as a schedule."""
        if self._schedule is None:
            if self.config is None:
                plain = create_schedule(list(self._outputs))
                place = {op: number for number, op in enumerate(self._order)}
                stages = sorted(plain.stages, key=lambda stage: place.get(stage.op, 0))
                self._schedule = Schedule(stages, plain.outputs)
            else:
                assert self._core is not None
                self._schedule = self._core.instantiate(self.config)[0]
        return self._schedule

    @property
    def transform_steps(self) -> list[Any]:
        """The primitives, in order."""
        if self._steps is None:
            self._steps = list(self.schedule.trace)
        return self._steps

    @property
    def stage_ops(self) -> list[Operation]:
        """The operations of all stages, producers first."""
        return [stage.op for stage in self.schedule.stages]

    @property
    def stages(self) -> list[StateStage]:
        """All stages, producers first."""
        return [self[number] for number in range(len(self.schedule.stages))]

    def __getitem__(self, key: Any) -> StateStage:
        stage = self._stage(key)
        known = ranges(self.schedule, stage)
        kinds = {**stage.loop_kinds, **threads(stage)}
        iters = [
            Iterator(axis, axis.var.name, known.get(axis), kinds.get(axis, ""))
            for axis in stage.leaf_iter_vars
        ]
        return StateStage(stage.op, iters, COMPUTE_AT[stage.attach_type])

    def copy(self) -> State:
        """Return a copy that can be changed independently."""
        made = State(self.config, self._core, self._outputs, self._order)
        made._schedule, made._steps = self.schedule.copy(), list(self.transform_steps)
        return made

    def split(
        self, stage: Any, iterator: Iterator, lengths: Iterable[Any], inner_to_outer: bool = True
    ) -> list[Iterator]:
        """Split a loop into ``len(lengths) + 1`` loops; ``lengths`` are those of the inner loops, or with
        ``inner_to_outer=False`` of the outer ones."""
        given = arguments.listed("split: lengths", list(lengths), "ints", ScheduleError)
        sizes = [arguments.whole("split: lengths", one, ScheduleError, least=1) for one in given]
        extent = iterator.range.extent if iterator.range else None
        known = extent if isinstance(extent, int) else 0
        step = self._step("split", stage, self._place(stage, iterator), known, sizes, int(inner_to_outer))
        return self._split(step, stage, iterator, sizes, inner_to_outer)

    def follow_split(self, stage: Any, iterator: Iterator, src_step_id: int, n_split: int) -> list[Iterator]:
        """Split a loop into ``n_split + 1`` loops with the lengths of the split step ``src_step_id``; its
        lengths from the ``n_split``-th on are multiplied into one."""
        _, _, source, inner_to_outer = self._split_values(src_step_id)
        count = arguments.whole("follow_split: n_split", n_split, ScheduleError, least=1) - 1
        lengths = [*source[:count], math.prod(source[count:])]
        step = self._step("follow_split", stage, self._place(stage, iterator), src_step_id, n_split)
        return self._split(step, stage, iterator, lengths, bool(inner_to_outer))

    def follow_fused_split(
        self,
        stage: Any,
        iterator: Iterator,
        src_step_ids: Sequence[int],
        level: int,
        factor_or_nparts: bool,
    ) -> list[Iterator]:
        """Split a loop by the product of the lengths at position ``level`` of the splits ``src_step_ids``."""
        length = math.prod(self._split_values(one)[2][level] for one in src_step_ids)
        values = self._place(stage, iterator), list(src_step_ids), level, int(factor_or_nparts)
        step = self._step("follow_fused_split", stage, *values)
        return self._split(step, stage, iterator, [length], factor_or_nparts)

    def _split(
        self, step: Step, stage: Any, iterator: Iterator, sizes: Sequence[int], inner_to_outer: bool
    ) -> list[Iterator]:
        """Split a loop by ``sizes``, record ``step``, and return the loops, outermost first."""
        one, axis = self._stage(stage), iterator.axis
        made: list[IterVar] = []
        for size in reversed(sizes) if inner_to_outer else sizes:
            outer, inner = one.split(axis, factor=size) if inner_to_outer else one.split(axis, nparts=size)
            axis, done = (outer, inner) if inner_to_outer else (inner, outer)
            made.append(done)
        made.append(axis)
        self._did(step)
        return self._views(one, made[::-1] if inner_to_outer else made)

    def fuse(self, stage: Any, iters: Sequence[Iterator]) -> Iterator:
        """Fuse neighbouring loops into one."""
        one, step = self._stage(stage), self._step("fuse", stage, [self._place(stage, i) for i in iters])
        return self._done(step, one, one.fuse(*(loop.axis for loop in iters)))

    def reorder(self, stage: Any, order: Sequence[Iterator]) -> None:
        """Change the order of loops."""
        one, step = self._stage(stage), self._step("reorder", stage, [self._place(stage, i) for i in order])
        one.reorder(*(loop.axis for loop in order))
        self._did(step)

    def parallel(self, stage: Any, iterator: Iterator) -> Iterator:
        """Divide a loop's iterations among the threads."""
        return self._annotated("parallel", stage, iterator)

    def vectorize(self, stage: Any, iterator: Iterator) -> Iterator:
        """Vectorize a loop."""
        return self._annotated("vectorize", stage, iterator)

    def unroll(self, stage: Any, iterator: Iterator, max_unroll: int | None = None) -> Iterator:
        """Unroll a loop, unless it has more than ``max_unroll`` iterations."""
        extent = iterator.range.extent if iterator.range else None
        if max_unroll is not None and isinstance(extent, int) and extent > max_unroll:
            return iterator
        return self._annotated("unroll", stage, iterator)

    def bind(self, stage: Any, iterator: Iterator, thread_name: str) -> Iterator:
        """Bind a loop to threads of a GPU; no target can build such a schedule."""
        one: Any = self._stage(stage)
        kind = self.ANNOTATION_TRANS_TABLE.get(thread_name, 0)
        step = self._step("bind", stage, self._place(stage, iterator), kind)
        one.bind(iterator.axis, thread_axis(thread_name))
        return self._done(step, one, iterator.axis)

    def pragma(self, stage: Any, iterator: Iterator, pragma: str) -> None:
        """Add a pragma to a loop, such as ``"auto_unroll_max_step$64"``."""
        one, step = self._stage(stage), self._step("pragma", stage, self._place(stage, iterator), pragma)
        name, _, value = arguments.text("pragma", pragma, ScheduleError).partition("$")
        one.pragma(iterator.axis, name, int(value) if value.isdigit() else value or None)
        self._did(step)

    def storage_align(self, stage: Any, iterator: Iterator, factor: int, offset: int) -> None:
        """Align the rows of the stage's buffer to multiples of ``factor``, plus ``offset``."""
        one: Any = self._stage(stage)
        step = self._step("storage_align", stage, self._place(stage, iterator), factor, offset)
        one.storage_align(iterator.axis, factor, offset)
        self._did(step)

    def compute_at(self, stage: Any, target_stage: Any, target_iter: Iterator) -> None:
        """Compute the stage inside the loop ``target_iter`` of another stage."""
        place = self._number(target_stage), self._place(target_stage, target_iter)
        one, step = self._stage(stage), self._step("compute_at", stage, *place)
        one.compute_at(self._stage(target_stage), target_iter.axis)
        self._did(step)

    def compute_inline(self, stage: Any) -> None:
        """Inline the stage into its consumers."""
        self._stage(stage).compute_inline()
        self._did(self._step("compute_inline", stage))

    def compute_root(self, stage: Any) -> None:
        """Compute the stage in loops of its own."""
        self._stage(stage).compute_root()
        self._did(self._step("compute_root", stage))

    def cache_read(self, stage: Any, scope_name: str, reader_stages: Sequence[Any]) -> Tensor:
        """Copy the result of ``stage`` into a buffer that ``reader_stages`` read; return the copy."""
        step = self._step("cache_read", stage, scope_name, [self._number(one) for one in reader_stages])
        readers = [self._stage(one).op for one in reader_stages]
        made = self.schedule.cache_read(self._tensor(stage), scope_name, readers)
        self._did(step)
        return made

    def cache_write(self, stage: Any, scope_name: str) -> Any:
        """Compute ``stage`` in a buffer from which the stage copies; return the buffer's tensor."""
        op, step = self._stage(stage).op, self._step("cache_write", stage, scope_name)
        given = self._tensor(stage) if len(op.outputs) == 1 else list(op.outputs)
        made = self.schedule.cache_write(given, scope_name)
        self._did(step)
        return made if isinstance(made, Tensor) else made[0]

    def rfactor(self, stage: Any, iterator: Iterator, factor_iter_id: int) -> Tensor:
        """Split a reduction into partial results, one per iteration of a loop, and their combination."""
        step = self._step("rfactor", stage, self._place(stage, iterator), factor_iter_id)
        made = self.schedule.rfactor(self._tensor(stage), iterator.axis, factor_iter_id)
        self._did(step)
        return made if isinstance(made, Tensor) else made[0]

    def _annotated(self, primitive: str, stage: Any, iterator: Iterator) -> Iterator:
        one, place = self._stage(stage), self._place(stage, iterator)
        step = self._step(primitive, stage, place, self.ANNOTATION_TRANS_TABLE[primitive])
        getattr(one, primitive)(iterator.axis)
        return self._done(step, one, iterator.axis)

    def _done(self, step: Step, stage: Stage, axis: IterVar) -> Iterator:
        self._did(step)
        return self._views(stage, [axis])[0]

    def _step(self, primitive: str, stage: Any, *values: Any) -> Step:
        return Step(primitive, self._number(stage), values)

    def _number(self, stage: Any) -> int:
        """The index of ``stage`` among all stages."""
        return self.schedule.stages.index(self._stage(stage))

    def _place(self, stage: Any, iterator: Iterator) -> int:
        """The position of a loop in its stage; -1 if it is not there, which the primitive reports."""
        leaves = list(self._stage(stage).leaf_iter_vars)
        return leaves.index(iterator.axis) if iterator.axis in leaves else -1

    def _did(self, step: Step) -> None:
        """Record a primitive that was called: the state is no longer one that a search generated."""
        if self._steps is None:
            self._steps = list(self.schedule.trace)[:-1] if self.config is not None else []
        self._steps.append(step)
        self.config = None

    def _views(self, stage: Stage, axes: Sequence[IterVar]) -> list[Iterator]:
        by_axis = {one.axis: one for one in self[stage.op].iters}
        return [by_axis[axis] for axis in axes]

    def _stage(self, key: Any) -> Stage:
        if isinstance(key, (Tensor, Operation)):
            return self.schedule[key]
        stages = self.schedule.stages
        number = arguments.whole("a state's stage", key, ScheduleError)
        if not 0 <= number < len(stages):
            raise ScheduleError(f"the state has {len(stages)} stages, and none with the number {number}")
        return stages[number]

    def _tensor(self, key: Any) -> Tensor:
        return key if isinstance(key, Tensor) else self._stage(key).op.output(0)

    def _split_values(self, number: int) -> tuple[Any, ...]:
        """The values of a split step: loop, extent, lengths, and whether these are of the inner loops."""
        steps = self.transform_steps
        found = steps[number] if 0 <= number < len(steps) else None
        if not isinstance(found, Step) or found.primitive != "split":
            raise ScheduleError(f"the step {number} of the state is no split")
        return found.values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash(str(self._settings()))

    def _settings(self) -> Any:
        return str(self.schedule.trace) if self.config is None else self.config.settings

    def __str__(self) -> str:
        inputs = [stage.op.name for stage in self.schedule.stages if isinstance(stage.op, PlaceholderOp)]
        lines = [f"Placeholder: {', '.join(inputs)}"]
        for stage in self.schedule.stages:
            if stage.attach_type == ROOT and not isinstance(stage.op, PlaceholderOp):
                self._write(stage, 0, lines)
        return "\n".join(lines)

    def _write(self, stage: Stage, depth: int, lines: list[str]) -> None:
        """Append the loops of ``stage`` and, nested, those of the stages computed inside them."""
        for one in self[stage.op].iters:
            known = f"({one.range.min},{one.range.extent})" if one.range else "(None)"
            lines.append(f"{'  ' * depth}{one.kind or 'for'} {one.name} {known}")
            depth += 1
            for other in self.schedule.stages:
                if other.attach_type == AT and other.attach_ivar is one.axis:
                    self._write(other, depth, lines)
        lines.append(f"{'  ' * depth}{stage.op.name} = ...")


__getattr__ = refusing(__name__)
