"""The loops of a stage of a state, with the ranges of those that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.te import expr as e
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, INLINE, ROOT, Split
from tvmlite.te.schedule.stage_base import Fuse as FuseRelation
from tvmlite.te.tensor.tensor import IterVar, Operation, PlaceholderOp, Range
from tvmlite.tvm.te.schedule import InferBound
from tvmlite.tvm.te.threads import BIND

ANNOTATIONS: dict[str, int] = {
    one: number
    for number, one in enumerate(
        (
            *("none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x"),
            *("blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"),
        )
    )
}
"""What a loop is, as TVM's logs number it."""

COMPUTE_AT = {ROOT: 0, INLINE: 1, AT: 2}


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
        return ANNOTATIONS[self.kind or "none"]


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


def ranges(schedule: Schedule, stage: Stage) -> Mapping[IterVar, LoopRange]:
    """The range of each loop of ``stage`` that is known: in a loop of another stage, what that needs, and
    nothing while a stage that is yet to be moved reads it from outside."""
    if stage.attach_type == AT:
        try:
            bounds = InferBound(schedule)
        except ScheduleError:
            return {}
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
        axis: LoopRange(starts.get(axis, 0), extent) for axis, extent in extents.items() if extent is not None
    }


def threads(stage: Stage) -> dict[IterVar, str]:
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
