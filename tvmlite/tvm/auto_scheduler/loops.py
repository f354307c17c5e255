"""The loops of a state's stage, with their ranges where these are known."""

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
"""The annotations of loops, with their numbers in TVM's logs."""

COMPUTE_AT = {ROOT: 0, INLINE: 1, AT: 2}


@dataclass(frozen=True)
class LoopRange:
    """The range ``min, ..., min + extent - 1``; both are ints where they are known."""

    min: Any
    extent: Any


@dataclass(frozen=True)
class Iterator:
    """A loop of a stage. ``range`` is None if its extent is not known; ``annotation`` is a number of
    ``State.ANNOTATION_TRANS_TABLE``. Two iterators are equal if they are the same loop."""

    axis: IterVar
    name: str = field(compare=False)
    range: LoopRange | None = field(compare=False)
    kind: str = field(compare=False)

    @property
    def annotation(self) -> int:
        """The number of the loop's annotation."""
        return ANNOTATIONS[self.kind or "none"]


@dataclass(frozen=True)
class StateStage:
    """A stage of a state: its operation, its loops, and where it is computed (0: at the root, 1: inlined, 2:
    in a loop of another stage)."""

    op: Operation
    iters: list[Iterator]
    compute_at: int

    @property
    def op_type(self) -> int:
        """0 for a placeholder, 1 for a computed operation."""
        return 0 if isinstance(self.op, PlaceholderOp) else 1


def ranges(schedule: Schedule, stage: Stage) -> Mapping[IterVar, LoopRange]:
    """Return the known ranges of the loops of ``stage``. For a stage computed in a loop of another stage they
    are the region which that needs; empty while a stage outside that loop still reads it."""
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
    """Return the names of the threads to which loops of ``stage`` are bound."""
    return {axis: value for axis, notes in stage.pragmas.items() for name, value in notes if name == BIND}


def _known(given: Range) -> LoopRange:
    return LoopRange(_number(given.min), _number(given.extent))


def _number(value: Any) -> Any:
    return value.value if isinstance(value, e.Const) else value


def _parts(extent: Any, split: Split) -> tuple[Any, Any]:
    """Return the extents of the outer and the inner loop of ``split``."""
    factor, nparts = _number(split.factor), _number(split.nparts)
    if not isinstance(extent, int):
        return nparts, factor
    if isinstance(factor, int):
        return -(-extent // factor), factor
    return nparts, -(-extent // nparts) if isinstance(nparts, int) else None
