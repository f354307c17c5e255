"""Stages: the immutable state of an operation's loops, the handle that users hold, and their errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import reachable_from
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extended
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import Extent, IterVar, Operation, Tensor

if TYPE_CHECKING:
    from tvmlite.te.schedule.layout import IndexMap
    from tvmlite.te.schedule.schedule import Schedule
    from tvmlite.te.schedule.stage import Stage
    from tvmlite.te.schedule.tensor_intrin import TensorIntrin

PARALLEL, VECTORIZE, UNROLL = "parallel", "vectorize", "unroll"
ROOT, INLINE, AT = "root", "inline", "at"
GUARD, SHRINK = "guard", "shrink"


@dataclass(frozen=True, eq=False)
class Split:
    """``parent = outer * extent(inner) + inner``; one of ``factor`` and ``nparts`` is given.

    With ``tail`` "shrink", ``piece`` is the index of the tiles in ``tails.shrinking`` (in
    ``lowering.extensions``) that these loops run over; the range of ``inner`` starts where they begin.
    """

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Extent | None
    nparts: Extent | None
    tail: str = GUARD
    ratio: int = 2
    piece: int = 0
    span: Span | None = None


@dataclass(frozen=True, eq=False)
class Fuse:
    """``fused = outer * extent(inner) + inner``"""

    outer: IterVar
    inner: IterVar
    fused: IterVar


@dataclass(frozen=True, eq=False)
class Singleton:
    """``iter`` runs once: the result of fusing no axes."""

    iter: IterVar


Relation: TypeAlias = Union[Split, Fuse, Singleton]


@dataclass(frozen=True)
class Prefetch:
    """A prefetch of what the loop ``axis`` reads of ``tensor`` in the iteration ``offset`` later.

    Without ``share``, an iteration of ``axis`` prefetches all of it; otherwise each iteration of the loops
    ``share``, which are inside ``axis``, prefetches a part.
    """

    tensor: Tensor
    axis: IterVar
    offset: e.Expr
    share: tuple[IterVar, ...]
    span: Span

    @property
    def place(self) -> IterVar:
        """The loop at whose start the prefetch is placed."""
        return self.share[-1] if self.share else self.axis


Value = TypeVar("Value")


def _no_entries() -> Mapping[Any, Any]:
    return MappingProxyType({})


def put(mapping: Mapping[IterVar, Value], axis: IterVar, value: Value) -> Mapping[IterVar, Value]:
    """A copy of ``mapping`` with ``value`` for ``axis``."""
    return MappingProxyType({**mapping, axis: value})


def without(mapping: Mapping[IterVar, Value], axes: Collection[IterVar]) -> Mapping[IterVar, Value]:
    """``mapping`` without the entries of ``axes``."""
    if not any(axis in mapping for axis in axes):
        return mapping
    return MappingProxyType({axis: value for axis, value in mapping.items() if axis not in axes})


@dataclass(frozen=True)
class StageState:
    """The loops of one operation. Immutable: a primitive replaces the state of a stage by another one.

    ``origin_op`` is the operation that the stage was created for, which identifies it; ``op``, which it
    computes now, differs after ``cache_read``, ``cache_write`` and ``rfactor``. ``leaf_iter_vars`` are the
    loops, outermost first; ``all_iter_vars`` also contains the axes that ``relations`` derive them from.
    ``attach_type`` is "root", "inline", or "at": in the loop ``attach_ivar`` of the stage created for
    ``attach_op``. If ``is_computed_with``, the stage computes the same elements there as that one.
    """

    origin_op: Operation
    op: Operation
    is_output: bool
    all_iter_vars: tuple[IterVar, ...]
    leaf_iter_vars: tuple[IterVar, ...]
    relations: tuple[Relation, ...] = ()
    loop_kinds: Mapping[IterVar, str] = field(default_factory=_no_entries)
    pragmas: Mapping[IterVar, tuple[tuple[str, Any], ...]] = field(default_factory=_no_entries)
    attach_type: str = ROOT
    attach_op: Operation | None = None
    attach_ivar: IterVar | None = None
    attach_span: Span | None = None
    is_computed_with: bool = False
    scope: str = "global"
    tensorized: tuple[IterVar, TensorIntrin] | None = None
    prefetches: tuple[Prefetch, ...] = ()
    alignments: Mapping[IterVar, tuple[int, int]] = field(default_factory=_no_entries)
    bound_alignments: Mapping[IterVar, int] = field(default_factory=_no_entries)
    double_buffered: bool = False
    predicate: e.Expr | None = None
    layout: IndexMap | None = None
    init_axis: IterVar | None = None
    partitions: Mapping[IterVar, tuple[int | None, ...]] = field(default_factory=_no_entries)

    @staticmethod
    def of(op: Operation, is_output: bool = False) -> StageState:
        """The initial state of ``op``: one loop for each axis, at the root."""
        return StageState(op, op, is_output, op.loop_axes, op.loop_axes)

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.op.name


@dataclass(frozen=True)
class ScheduleState:
    """All stages, producers first, by the operations they were created for. ``origins`` maps each operation
    that a stage computes, or computed before it was rewritten, to the operation it was created for."""

    stages: Mapping[Operation, StageState]
    origins: Mapping[Operation, Operation]
    outputs: tuple[Operation, ...]


if TYPE_CHECKING:

    class _Shown(StageState):
        """Gives a handle the attributes of its state."""

else:

    class _Shown:
        """Gives a handle the attributes of its state."""

    for _field in (*(one.name for one in dataclasses.fields(StageState)), "name"):
        setattr(_Shown, _field, property(attrgetter(f"state.{_field}")))


class StageBase(_Shown):
    """The handle of one stage of ``schedule``: an operation and its loops; see ``Stage``. ``state`` is the
    stage's current state."""

    state: StageState
    schedule: Schedule | None

    def __init__(self, op: Operation, is_output: bool = False) -> None:
        arguments.instance("Stage: op", op, Operation, "an operation", ScheduleError)
        self.state = StageState.of(op, is_output)
        self.schedule = None

    @classmethod
    def handle_of(cls, state: StageState, schedule: Schedule) -> Any:
        """Create the handle of a stage of ``schedule``."""
        made = cls.__new__(cls)
        made.state, made.schedule = state, schedule
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return extended(self, name)

    def change(self, **fields: Any) -> None:
        """Replace ``fields`` of the state; faster than ``dataclasses.replace``, which sets every field."""
        state = object.__new__(StageState)
        state.__dict__.update(self.state.__dict__, **fields)
        self.state = state
        if self.schedule is not None:
            self.schedule.put(self.state)

    def attach(
        self,
        kind: str,
        parent: StageBase | None = None,
        axis: IterVar | None = None,
        span: Span | None = None,
    ) -> None:
        """Attach the stage as ``kind`` says, for ``AT`` in the loop ``axis`` of ``parent``."""
        origin = None if parent is None else parent.origin_op
        where = None if kind == ROOT else span or Span.of_caller()
        self.change(
            attach_type=kind, attach_op=origin, attach_ivar=axis, attach_span=where, is_computed_with=False
        )

    @property
    def attach_stage(self) -> Stage | None:
        """The stage in whose loop this one is computed."""
        return (
            None if self.attach_op is None or self.schedule is None else self.schedule.handles[self.attach_op]
        )

    def span_of(self, primitive: str, axis: IterVar | None = None) -> Span | None:
        """Where ``primitive`` was last called on this stage, or with the loop ``axis`` if given; or None."""
        for step in reversed(() if self.schedule is None else self.schedule.trace):
            found = step.stage is self.origin_op if axis is None else step.uses(axis)
            if found and step.primitive == primitive:
                return step.span
        return None

    @property
    def has_memory_primitives(self) -> bool:
        """Whether a primitive of ``stage_memory`` that lowering has to check was called."""
        asked = (self.alignments, self.bound_alignments, self.layout, self.double_buffered)
        return any(asked) or self.predicate is not None

    def reads(self, op: t.Operation) -> bool:
        """Whether this stage reads ``op``'s results, directly or through other stages."""
        every = reachable_from([self.op], lambda one: [tensor.op for tensor in one.inputs])
        return any(one is op for one in every if one is not self.op)

    def current_tensor(self, tensor: Any) -> Any:
        """The tensor that replaces ``tensor`` in the schedule now; ``tensor`` itself if it has no stage."""
        schedule = self.schedule
        known = schedule is not None and isinstance(tensor, Tensor) and tensor.op in schedule.state.origins
        return schedule.current(tensor) if schedule is not None and known else tensor

    def require_movable(self, primitive: str) -> None:
        """Raise a ScheduleError naming ``primitive`` if the stage is a placeholder, a scan or an output."""
        if isinstance(self.op, t.PlaceholderOp):
            raise ScheduleError(f"{primitive}: {self.name} is a placeholder", Span.of_caller())
        if self.op.kind == "scan":
            raise ScheduleError(
                f"{primitive}: {self.name} is a scan, which cannot be moved; move its update",
                Span.of_caller(),
            )
        if self.is_output:
            raise ScheduleError(f"{primitive}: {self.name} is an output of the schedule", Span.of_caller())

    def require_leaf(self, primitive: str, axis: Any, span: Span | None = None) -> int:
        """The position of ``axis`` among the leaves; an error naming ``primitive``, at ``span`` or at the
        user's line, if it is not one of them."""
        for position, leaf in enumerate(self.leaf_iter_vars):
            if leaf is axis:
                return position
        if not isinstance(axis, IterVar):
            raise arguments.refused(primitive, axis, "an axis", ScheduleError)
        raise self.error(primitive, self._location(axis), axis, span=span)

    def _location(self, axis: IterVar) -> str:
        """Say what became of an axis that is not a leaf."""
        for relation in self.relations:
            match relation:
                case Split(parent, outer, inner) if parent is axis:
                    return f"is no loop any more: it was split into {outer.var.name} and {inner.var.name}"
                case Fuse(outer, inner, fused) if axis is outer or axis is inner:
                    return f"is no loop any more: it was fused into {fused.var.name}"
        leaves = ", ".join(leaf.var.name for leaf in self.leaf_iter_vars) or "none"
        return f"is not a loop of that stage, whose loops are: {leaves}"

    def error(
        self, primitive: str, what: str, axis: IterVar, hint: str | None = None, span: Span | None = None
    ) -> ScheduleError:
        """A ScheduleError saying ``what`` is wrong with ``axis``, at ``span`` or at the user's line."""
        text = f"{primitive}: axis {axis.var.name} of stage {self.name} {what}"
        return ScheduleError(text, span or Span.of_caller(), hint)

    def refuse_shrinking(
        self, primitive: str, kinds: Collection[str] = ("data", "reduce"), span: Span | None = None
    ) -> None:
        """Raise a ScheduleError, at ``span`` or at the user's line, if an axis of these ``kinds`` is split
        with shrinking tails, as several loops then share its iterations."""
        for split in self.relations:
            if isinstance(split, Split) and split.tail == SHRINK and split.parent.kind in kinds:
                raise self.error(
                    primitive,
                    'is split with tail="shrink", so several loops run over it',
                    split.parent,
                    hint='tail="guard" keeps it in one',
                    span=span,
                )

    def replace_leaves(self, relation: Relation, begin: int, end: int, made: tuple[IterVar, ...]) -> None:
        """Replace the leaves from ``begin`` to ``end`` by the loops ``made``, derived by ``relation``."""
        leaves = self.leaf_iter_vars
        self.change(
            relations=(*self.relations, relation),
            leaf_iter_vars=(*leaves[:begin], *made, *leaves[end:]),
            all_iter_vars=(*self.all_iter_vars, *made),
            loop_kinds=without(self.loop_kinds, leaves[begin:end]),
        )


def loops_around(stage: StageBase) -> Iterator[tuple[Stage, IterVar]]:
    """The loops around ``stage``, with the stages they belong to, innermost first. A ScheduleError if the
    loop it is attached to no longer exists."""
    while stage.attach_type == AT:
        parent, axis = stage.attach_stage, stage.attach_ivar
        assert parent is not None
        leaves = parent.leaf_iter_vars
        position = parent.require_leaf("compute_at", axis, stage.attach_span)
        yield from ((parent, leaf) for leaf in reversed(leaves[: position + 1]))
        stage = parent
