"""What all primitives of a stage share: its state, and the words of their errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extended
from tvmlite.te.schedule.trace import Trace
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import Extent, IterVar, Tensor

if TYPE_CHECKING:
    from tvmlite.te.schedule.layout import IndexMap
    from tvmlite.te.schedule.stage import Stage
    from tvmlite.te.schedule.tensor_intrin import TensorIntrin

PARALLEL, VECTORIZE, UNROLL = "parallel", "vectorize", "unroll"
ROOT, INLINE, AT = "root", "inline", "at"
GUARD, SHRINK = "guard", "shrink"


@dataclass(frozen=True, eq=False)
class Split:
    """``parent = outer * extent(inner) + inner``; one of ``factor`` and ``nparts`` is given.

    Where ``tail`` is "shrink", the tiles are those of one ``piece`` of the axis, of ``relations.shrinking``;
    ``inner`` counts from where that begins.
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
    """``iter`` runs once: the fusion of no axes at all."""

    iter: IterVar


Relation: TypeAlias = Union[Split, Fuse, Singleton]


@dataclass(frozen=True)
class Prefetch:
    """Asks for what the turn ``offset`` after the present one of ``axis`` will read of ``tensor``.

    Each turn of the loops ``share``, which stand inside ``axis``, asks for its part of that; without any, a
    turn of ``axis`` for all.
    """

    tensor: Tensor
    axis: IterVar
    offset: e.Expr
    share: tuple[IterVar, ...]
    span: Span

    @property
    def place(self) -> IterVar:
        """The loop at whose start the prefetch stands."""
        return self.share[-1] if self.share else self.axis


class StageBase:
    """One operation of a schedule and the loops chosen for it; see ``Stage``."""

    def __init__(self, op: t.Operation, is_output: bool = False) -> None:
        arguments.instance("Stage: op", op, t.Operation, "an operation", ScheduleError)
        self.op = op
        self.origin_op = op
        self.is_output = is_output
        self.all_iter_vars: list[IterVar] = list(op.loop_axes)
        self.leaf_iter_vars: list[IterVar] = list(op.loop_axes)
        self.relations: list[Relation] = []
        self.loop_kinds: dict[IterVar, str] = {}
        self.kind_spans: dict[IterVar, Span] = {}
        self.pragmas: dict[IterVar, list[tuple[str, Any]]] = {}
        self.attach_type = ROOT
        self.attach_stage: Stage | None = None
        self.attach_ivar: IterVar | None = None
        self.attach_span: Span | None = None
        self.scope = "global"
        self.tensorized: tuple[IterVar, TensorIntrin] | None = None
        self.tensorize_span: Span | None = None
        self.prefetches: tuple[Prefetch, ...] = ()
        self.alignments: dict[IterVar, tuple[int, int]] = {}
        self.alignment_span: Span | None = None
        self.multiples: dict[IterVar, int] = {}
        self.multiples_span: Span | None = None
        self.double_span: Span | None = None
        self.predicate: e.Expr | None = None
        self.predicate_span: Span | None = None
        self.layout: IndexMap | None = None
        self.layout_span: Span | None = None
        self.init_axis: IterVar | None = None
        self.partitions: dict[IterVar, tuple[int | None, ...]] = {}
        self.init_span: Span | None = None
        self.partition_spans: dict[IterVar, Span] = {}
        self.trace: Trace | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return extended(self, name)

    def copy(self) -> Any:
        """A stage that can be changed without changing this one; attached where this one is."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        for name in (
            "all_iter_vars",
            "leaf_iter_vars",
            "relations",
            "loop_kinds",
            "alignments",
            "multiples",
            "partitions",
        ):
            setattr(made, name, getattr(self, name).copy())
        made.pragmas = {axis: list(pairs) for axis, pairs in self.pragmas.items()}
        return made

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def arranges_memory(self) -> bool:
        """Whether a primitive of ``stage_memory`` was called that lowering has to check."""
        asked = (self.alignments, self.multiples, self.layout, self.double_span)
        return any(asked) or self.predicate is not None

    def reads(self, op: t.Operation) -> bool:
        """Whether this stage reads ``op``'s results, itself or through other stages."""
        seen: set[t.Operation] = set()
        todo = [self.op]
        while todo:
            for tensor in todo.pop().inputs:
                if tensor.op is op:
                    return True
                if tensor.op not in seen:
                    seen.add(tensor.op)
                    todo.append(tensor.op)
        return False

    def present(self, tensor: Any) -> Any:
        """What stands for ``tensor`` in the schedule now; itself if it is none of the schedule's."""
        schedule = None if self.trace is None else self.trace.schedule
        known = schedule is not None and isinstance(tensor, Tensor) and tensor.op in schedule.stage_map
        return schedule.current(tensor) if schedule is not None and known else tensor

    def require_movable(self, primitive: str) -> None:
        if isinstance(self.op, t.PlaceholderOp):
            raise ScheduleError(f"{primitive}: {self.name} is a placeholder", Span.of_caller())
        if self.op.kind == "scan":
            raise ScheduleError(
                f"{primitive}: {self.name} is a scan, which stands on its own; its update can be moved",
                Span.of_caller(),
            )
        if self.is_output:
            raise ScheduleError(f"{primitive}: {self.name} is an output of the schedule", Span.of_caller())

    def require_leaf(self, primitive: str, axis: Any, span: Span | None = None) -> int:
        """The position of ``axis`` among the leaves; an error naming ``primitive`` if it is none, at ``span``
        or where the user stands."""
        for position, leaf in enumerate(self.leaf_iter_vars):
            if leaf is axis:
                return position
        if not isinstance(axis, IterVar):
            raise arguments.refused(primitive, axis, "an axis", ScheduleError)
        raise self.error(primitive, self._location(axis), axis, span=span)

    def _location(self, axis: IterVar) -> str:
        """What became of an axis that is no leaf."""
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
        text = f"{primitive}: axis {axis.var.name} of stage {self.name} {what}"
        return ScheduleError(text, span or Span.of_caller(), hint)

    def refuse_shrinking(
        self, primitive: str, kinds: Collection[str] = ("data", "reduce"), span: Span | None = None
    ) -> None:
        """A ScheduleError, at ``span`` or where the user stands, if an axis of these ``kinds`` is split into
        shrinking tiles: its iterations are those of several loops."""
        for split in self.relations:
            if isinstance(split, Split) and split.tail == SHRINK and split.parent.kind in kinds:
                raise self.error(
                    primitive,
                    'is split with tail="shrink", so several loops run over it',
                    split.parent,
                    hint='tail="guard" keeps it in one',
                    span=span,
                )

    def replace_leaves(self, begin: int, end: int, new: list[IterVar]) -> None:
        for axis in self.leaf_iter_vars[begin:end]:
            self.loop_kinds.pop(axis, None)
        self.leaf_iter_vars[begin:end] = new
        self.all_iter_vars.extend(new)


def loops_around(stage: StageBase) -> Iterator[tuple[Stage, IterVar]]:
    """The loops that ``stage`` stands in, with the stages they belong to, innermost first. A ScheduleError if
    the one it was put in is no loop any more."""
    while stage.attach_type == AT:
        parent, axis = stage.attach_stage, stage.attach_ivar
        assert parent is not None
        leaves = parent.leaf_iter_vars
        position = parent.require_leaf("compute_at", axis, stage.attach_span)
        yield from ((parent, leaf) for leaf in reversed(leaves[: position + 1]))
        stage = parent
