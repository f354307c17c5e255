"""The loops of a computation: TVM's primitives one after the other, or a schedule that was generated."""

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
    """The loops of a computation, whose primitives are TVM's: each changes the state, and gives the loops or
    the tensor it makes. ``state[tensor].iters`` are the loops of a stage.

    With ``config``, the settings of the knobs of ``core``, it is the schedule that a search generated. Else
    it is of the operations ``outputs``, with plain loops at the beginning, the stages as in ``order``.
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
        """The schedule that the state is."""
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
        """The primitives in order."""
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
        """A state that can be changed without changing this one."""
        made = State(self.config, self._core, self._outputs, self._order)
        made._schedule, made._steps = self.schedule.copy(), list(self.transform_steps)
        return made

    def split(
        self, stage: Any, iterator: Iterator, lengths: Iterable[Any], inner_to_outer: bool = True
    ) -> list[Iterator]:
        """``lengths`` and one more loops in place of one: the lengths are those of the inner ones, or with
        ``inner_to_outer=False`` of the outer ones."""
        given = arguments.listed("split: lengths", list(lengths), "ints", ScheduleError)
        sizes = [arguments.whole("split: lengths", one, ScheduleError, least=1) for one in given]
        extent = iterator.range.extent if iterator.range else None
        known = extent if isinstance(extent, int) else 0
        step = self._step("split", stage, self._place(stage, iterator), known, sizes, int(inner_to_outer))
        return self._split(step, stage, iterator, sizes, inner_to_outer)

    def follow_split(self, stage: Any, iterator: Iterator, src_step_id: int, n_split: int) -> list[Iterator]:
        """A split into ``n_split`` and one loops, of the lengths of the split ``src_step_id``, the last of
        which are one."""
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
        """A split in two, by the product of the lengths ``level`` of the splits ``src_step_ids``."""
        length = math.prod(self._split_values(one)[2][level] for one in src_step_ids)
        values = self._place(stage, iterator), list(src_step_ids), level, int(factor_or_nparts)
        step = self._step("follow_fused_split", stage, *values)
        return self._split(step, stage, iterator, [length], factor_or_nparts)

    def _split(
        self, step: Step, stage: Any, iterator: Iterator, sizes: Sequence[int], inner_to_outer: bool
    ) -> list[Iterator]:
        """The loops in place of one, of ``sizes`` and one more, by ``step``."""
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
        """Neighbouring loops as one."""
        one, step = self._stage(stage), self._step("fuse", stage, [self._place(stage, i) for i in iters])
        return self._done(step, one, one.fuse(*(loop.axis for loop in iters)))

    def reorder(self, stage: Any, order: Sequence[Iterator]) -> None:
        """The loops in another order."""
        one, step = self._stage(stage), self._step("reorder", stage, [self._place(stage, i) for i in order])
        one.reorder(*(loop.axis for loop in order))
        self._did(step)

    def parallel(self, stage: Any, iterator: Iterator) -> Iterator:
        """The iterations of a loop on all threads."""
        return self._annotated("parallel", stage, iterator)

    def vectorize(self, stage: Any, iterator: Iterator) -> Iterator:
        """A loop as vectors."""
        return self._annotated("vectorize", stage, iterator)

    def unroll(self, stage: Any, iterator: Iterator, max_unroll: int | None = None) -> Iterator:
        """A loop written out, unless it has more than ``max_unroll`` iterations."""
        extent = iterator.range.extent if iterator.range else None
        if max_unroll is not None and isinstance(extent, int) and extent > max_unroll:
            return iterator
        return self._annotated("unroll", stage, iterator)

    def bind(self, stage: Any, iterator: Iterator, thread_name: str) -> Iterator:
        """A loop as threads of a device: there is no code for one."""
        one: Any = self._stage(stage)
        kind = self.ANNOTATION_TRANS_TABLE.get(thread_name, 0)
        step = self._step("bind", stage, self._place(stage, iterator), kind)
        one.bind(iterator.axis, thread_axis(thread_name))
        return self._done(step, one, iterator.axis)

    def pragma(self, stage: Any, iterator: Iterator, pragma: str) -> None:
        """A note on a loop: ``"auto_unroll_max_step$64"``."""
        one, step = self._stage(stage), self._step("pragma", stage, self._place(stage, iterator), pragma)
        name, _, value = arguments.text("pragma", pragma, ScheduleError).partition("$")
        one.pragma(iterator.axis, name, int(value) if value.isdigit() else value or None)
        self._did(step)

    def storage_align(self, stage: Any, iterator: Iterator, factor: int, offset: int) -> None:
        """Rows of the stage's buffer at multiples of ``factor``, and ``offset``."""
        one: Any = self._stage(stage)
        step = self._step("storage_align", stage, self._place(stage, iterator), factor, offset)
        one.storage_align(iterator.axis, factor, offset)
        self._did(step)

    def compute_at(self, stage: Any, target_stage: Any, target_iter: Iterator) -> None:
        """The stage in a loop of another."""
        place = self._number(target_stage), self._place(target_stage, target_iter)
        one, step = self._stage(stage), self._step("compute_at", stage, *place)
        one.compute_at(self._stage(target_stage), target_iter.axis)
        self._did(step)

    def compute_inline(self, stage: Any) -> None:
        """The stage in place of what reads it."""
        self._stage(stage).compute_inline()
        self._did(self._step("compute_inline", stage))

    def compute_root(self, stage: Any) -> None:
        """The stage by itself."""
        self._stage(stage).compute_root()
        self._did(self._step("compute_root", stage))

    def cache_read(self, stage: Any, scope_name: str, reader_stages: Sequence[Any]) -> Tensor:
        """A copy of what ``stage`` makes, which the readers read."""
        step = self._step("cache_read", stage, scope_name, [self._number(one) for one in reader_stages])
        readers = [self._stage(one).op for one in reader_stages]
        made = self.schedule.cache_read(self._tensor(stage), scope_name, readers)
        self._did(step)
        return made

    def cache_write(self, stage: Any, scope_name: str) -> Any:
        """A buffer that ``stage`` is computed in; the stage copies it."""
        op, step = self._stage(stage).op, self._step("cache_write", stage, scope_name)
        given = self._tensor(stage) if len(op.outputs) == 1 else list(op.outputs)
        made = self.schedule.cache_write(given, scope_name)
        self._did(step)
        return made if isinstance(made, Tensor) else made[0]

    def rfactor(self, stage: Any, iterator: Iterator, factor_iter_id: int) -> Tensor:
        """Parts of a reduction, one for each iteration of a loop, and the reduction of them."""
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
        """The place of a stage among all."""
        return self.schedule.stages.index(self._stage(stage))

    def _place(self, stage: Any, iterator: Iterator) -> int:
        """The place of a loop in its stage; -1 of one that is not there, which the primitive refuses."""
        leaves = list(self._stage(stage).leaf_iter_vars)
        return leaves.index(iterator.axis) if iterator.axis in leaves else -1

    def _did(self, step: Step) -> None:
        """A primitive was called: the state is none that a search generated, any more."""
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
        """What a step that is a split says: a loop, its extent, lengths, and whether of inner loops."""
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
        """The loops of ``stage``, and in each those of the stages that stand in it."""
        for one in self[stage.op].iters:
            known = f"({one.range.min},{one.range.extent})" if one.range else "(None)"
            lines.append(f"{'  ' * depth}{one.kind or 'for'} {one.name} {known}")
            depth += 1
            for other in self.schedule.stages:
                if other.attach_type == AT and other.attach_ivar is one.axis:
                    self._write(other, depth, lines)
        lines.append(f"{'  ' * depth}{stage.op.name} = ...")


__getattr__ = refusing(__name__)
