"""The loops of a computation: TVM's primitives one after the other, or a schedule that was generated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.te import expr as e
from tvmlite.te import space
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, INLINE, ROOT, Split
from tvmlite.te.schedule.stage_base import Fuse as FuseRelation
from tvmlite.te.tensor.tensor import IterVar, Operation, PlaceholderOp, Range, Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.te.schedule import InferBound
from tvmlite.tvm.te.threads import BIND, thread_axis

COMPUTE_AT = {ROOT: 0, INLINE: 1, AT: 2}


@dataclass(frozen=True)
class Step:
    """One primitive of a state: of a split, ``lengths`` and whether they are the inner loops'."""

    primitive: str
    stage: str
    lengths: tuple[int, ...] = ()
    inner_to_outer: bool = True


@dataclass(frozen=True)
class LoopRange:
    """``min, ..., min + extent - 1``, in ints where they are known."""

    min: Any
    extent: Any


@dataclass(frozen=True)
class Iterator:
    """A loop of a stage. ``range`` is None where its extent is not known; ``annotation`` is a number of
    ``State.ANNOTATION_TRANS_TABLE``. Two are equal if they are the same loop."""

    axis: IterVar
    name: str = field(compare=False)
    range: LoopRange | None = field(compare=False)
    kind: str = field(compare=False)

    @property
    def annotation(self) -> int:
        """What the loop is, as a number."""
        return State.ANNOTATION_TRANS_TABLE[self.kind or "none"]


@dataclass(frozen=True)
class StateStage:
    """A stage of a state: its operation, its loops, and where they stand (0: by themselves, 1: in place of
    the reads, 2: in a loop of another stage)."""

    op: Operation
    iters: list[Iterator]
    compute_at: int

    @property
    def op_type(self) -> int:
        """0 of a placeholder, 1 of what is computed."""
        return 0 if isinstance(self.op, PlaceholderOp) else 1


class State:
    """The loops of a computation, whose primitives are TVM's: each changes the state, and gives the loops or
    the tensor it makes. ``state[tensor].iters`` are the loops of a stage.

    With ``config``, the settings of the knobs of ``core``, it is the schedule that a search generated. Else
    it is of the operations ``outputs``, with plain loops at the beginning.
    """

    ANNOTATION_TRANS_TABLE: ClassVar[dict[str, int]] = {
        one: number
        for number, one in enumerate(
            (
                *("none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x"),
                *("blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"),
            )
        )
    }

    def __init__(
        self,
        config: space.ConfigEntity | None = None,
        core: space.Task | None = None,
        outputs: Sequence[Operation] = (),
    ) -> None:
        self.config, self._core, self._outputs = config, core, tuple(outputs)
        self._schedule: Schedule | None = None
        self._steps: list[Any] | None = None

    @property
    def schedule(self) -> Schedule:
        """The schedule that the state is."""
        if self._schedule is None:
            if self.config is None:
                self._schedule = create_schedule(list(self._outputs))
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
        ranges = self._ranges(stage)
        kinds = {**stage.loop_kinds, **_threads(stage)}
        iters = [
            Iterator(axis, axis.var.name, ranges.get(axis), kinds.get(axis, ""))
            for axis in stage.leaf_iter_vars
        ]
        return StateStage(stage.op, iters, COMPUTE_AT[stage.attach_type])

    def copy(self) -> State:
        """A state that can be changed without changing this one."""
        made = State(self.config, self._core, self._outputs)
        made._schedule, made._steps = self.schedule.copy(), list(self.transform_steps)
        return made

    def split(
        self, stage: Any, iterator: Iterator, lengths: Iterable[Any], inner_to_outer: bool = True
    ) -> list[Iterator]:
        """``lengths`` and one more loops in place of one: the lengths are those of the inner ones, or with
        ``inner_to_outer=False`` of the outer ones."""
        given = arguments.listed("split: lengths", list(lengths), "ints", ScheduleError)
        sizes = [arguments.whole("split: lengths", one, ScheduleError, least=1) for one in given]
        one, axis = self._stage(stage), iterator.axis
        made: list[IterVar] = []
        for size in reversed(sizes) if inner_to_outer else sizes:
            outer, inner = one.split(axis, factor=size) if inner_to_outer else one.split(axis, nparts=size)
            axis, done = (outer, inner) if inner_to_outer else (inner, outer)
            made.append(done)
        made.append(axis)
        self._did(Step("split", one.op.name, tuple(sizes), inner_to_outer))
        return self._views(one, made[::-1] if inner_to_outer else made)

    def follow_split(self, stage: Any, iterator: Iterator, src_step_id: int, n_split: int) -> list[Iterator]:
        """A split into ``n_split`` and one loops, of the lengths of the split ``src_step_id``, the last of
        which are one."""
        source = self._split_step(src_step_id)
        count = arguments.whole("follow_split: n_split", n_split, ScheduleError, least=1) - 1
        lengths = [*source.lengths[:count], math.prod(source.lengths[count:])]
        return self.split(stage, iterator, lengths, source.inner_to_outer)

    def follow_fused_split(
        self,
        stage: Any,
        iterator: Iterator,
        src_step_ids: Sequence[int],
        level: int,
        factor_or_nparts: bool,
    ) -> list[Iterator]:
        """A split in two, by the product of the lengths ``level`` of the splits ``src_step_ids``."""
        length = math.prod(self._split_step(one).lengths[level] for one in src_step_ids)
        return self.split(stage, iterator, [length], factor_or_nparts)

    def fuse(self, stage: Any, iters: Sequence[Iterator]) -> Iterator:
        """Neighbouring loops as one."""
        one = self._stage(stage)
        return self._done("fuse", one, one.fuse(*(loop.axis for loop in iters)))

    def reorder(self, stage: Any, order: Sequence[Iterator]) -> None:
        """The loops in another order."""
        one = self._stage(stage)
        one.reorder(*(loop.axis for loop in order))
        self._did(Step("reorder", one.op.name))

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
        one.bind(iterator.axis, thread_axis(thread_name))
        return self._done("bind", one, iterator.axis)

    def pragma(self, stage: Any, iterator: Iterator, pragma: str) -> None:
        """A note on a loop: ``"auto_unroll_max_step$64"``."""
        one = self._stage(stage)
        name, _, value = arguments.text("pragma", pragma, ScheduleError).partition("$")
        one.pragma(iterator.axis, name, int(value) if value.isdigit() else value or None)
        self._did(Step("pragma", one.op.name))

    def storage_align(self, stage: Any, iterator: Iterator, factor: int, offset: int) -> None:
        """Rows of the stage's buffer at multiples of ``factor``, and ``offset``."""
        one: Any = self._stage(stage)
        one.storage_align(iterator.axis, factor, offset)
        self._did(Step("storage_align", one.op.name))

    def compute_at(self, stage: Any, target_stage: Any, target_iter: Iterator) -> None:
        """The stage in a loop of another."""
        one = self._stage(stage)
        one.compute_at(self._stage(target_stage), target_iter.axis)
        self._did(Step("compute_at", one.op.name))

    def compute_inline(self, stage: Any) -> None:
        """The stage in place of what reads it."""
        one = self._stage(stage)
        one.compute_inline()
        self._did(Step("compute_inline", one.op.name))

    def compute_root(self, stage: Any) -> None:
        """The stage by itself."""
        one = self._stage(stage)
        one.compute_root()
        self._did(Step("compute_root", one.op.name))

    def cache_read(self, stage: Any, scope_name: str, reader_stages: Sequence[Any]) -> Tensor:
        """A copy of what ``stage`` makes, which the readers read."""
        readers = [self._stage(one).op for one in reader_stages]
        made = self.schedule.cache_read(self._tensor(stage), scope_name, readers)
        self._did(Step("cache_read", made.op.name))
        return made

    def cache_write(self, stage: Any, scope_name: str) -> Any:
        """A buffer that ``stage`` is computed in; the stage copies it."""
        op = self._stage(stage).op
        given = self._tensor(stage) if len(op.outputs) == 1 else list(op.outputs)
        made = self.schedule.cache_write(given, scope_name)
        self._did(Step("cache_write", op.name))
        return made if isinstance(made, Tensor) else made[0]

    def rfactor(self, stage: Any, iterator: Iterator, factor_iter_id: int) -> Tensor:
        """Parts of a reduction, one for each iteration of a loop, and the reduction of them."""
        made = self.schedule.rfactor(self._tensor(stage), iterator.axis, factor_iter_id)
        self._did(Step("rfactor", self._stage(stage).op.name))
        return made if isinstance(made, Tensor) else made[0]

    def _annotated(self, primitive: str, stage: Any, iterator: Iterator) -> Iterator:
        one = self._stage(stage)
        getattr(one, primitive)(iterator.axis)
        return self._done(primitive, one, iterator.axis)

    def _done(self, primitive: str, stage: Stage, axis: IterVar) -> Iterator:
        self._did(Step(primitive, stage.op.name))
        return self._views(stage, [axis])[0]

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

    def _split_step(self, number: int) -> Step:
        steps = self.transform_steps
        found = steps[number] if 0 <= number < len(steps) else None
        if not isinstance(found, Step) or found.primitive != "split":
            raise ScheduleError(f"the step {number} of the state is no split")
        return found

    def _ranges(self, stage: Stage) -> Mapping[IterVar, LoopRange]:
        """The range of each loop of ``stage`` that is known: in a loop of another stage, what that needs."""
        if stage.attach_type == AT:
            bounds = InferBound(self.schedule)
            return {axis: _known(bounds[axis]) for axis in stage.leaf_iter_vars if axis in bounds}
        extents: dict[IterVar, Any] = {}
        starts: dict[IterVar, Any] = {}
        for axis in stage.all_iter_vars:
            if axis.dom is not None:
                known = _known(axis.dom)
                starts[axis], extents[axis] = known.min, known.extent
        for one in stage.relations:
            if isinstance(one, Split):
                extents[one.outer], extents[one.inner] = _parts(extents.get(one.parent), one)
            elif isinstance(one, FuseRelation):
                both = extents.get(one.outer), extents.get(one.inner)
                extents[one.fused] = None if None in both else both[0] * both[1]  # type: ignore[operator]
        return {
            axis: LoopRange(starts.get(axis, 0), extent)
            for axis, extent in extents.items()
            if extent is not None
        }

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


def _threads(stage: Stage) -> dict[IterVar, str]:
    """The threads that loops of ``stage`` are bound to."""
    return {axis: value for axis, notes in stage.pragmas.items() for name, value in notes if name == BIND}


def _known(given: Range) -> LoopRange:
    return LoopRange(_number(given.min), _number(given.extent))


def _number(value: Any) -> Any:
    return value.value if isinstance(value, e.Const) else value


def _parts(extent: Any, split: Split) -> tuple[Any, Any]:
    """The extents of the outer and the inner loop of ``split``."""
    factor, nparts = _number(split.factor), _number(split.nparts)
    if not isinstance(extent, int):
        return nparts, factor
    if isinstance(factor, int):
        return -(-extent // factor), factor
    return nparts, -(-extent // nparts) if isinstance(nparts, int) else None


__getattr__ = refusing(__name__)
