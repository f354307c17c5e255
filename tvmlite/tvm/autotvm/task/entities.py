"""AutoTVM's classes of knob settings: those of ``te.space``, with values printed as Python lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import ScheduleError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te.space.choices import AnnotateChoice, Choice, OptionChoice, ReorderChoice, SplitChoice

_OURS = {"vec": "vectorize"}
_THEIRS = {"vectorize": "vec"}
"""AutoTVM's names of annotations that have another name in tvmlite."""


class SplitEntity(SplitChoice):
    """How a loop is split: the extents of the resulting loops, outermost first."""

    size: list[int]  # type: ignore[assignment]

    def __init__(self, size: Sequence[int]) -> None:
        object.__setattr__(self, "size", [int(one) for one in size])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SplitChoice) and list(self.size) == list(other.size)

    def __hash__(self) -> int:
        return hash((tuple(self.size),))

    def __repr__(self) -> str:
        return str(self.size)

    __str__ = __repr__


class ReorderEntity(ReorderChoice):
    """The order of loops."""

    def __init__(self, perm: Sequence[int]) -> None:
        object.__setattr__(self, "permutation", tuple(perm))

    @property
    def perm(self) -> list[int]:  # type: ignore[override]
        """``perm[i]`` is the old position of the loop at new position ``i``."""
        return list(self.permutation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReorderChoice) and tuple(self.permutation) == tuple(other.permutation)

    def __hash__(self) -> int:
        return hash((self.permutation,))

    def __repr__(self) -> str:
        return str(self.perm)

    __str__ = __repr__


class AnnotateEntity(AnnotateChoice):
    """How loops are annotated: ``none``, ``unroll``, ``vec`` or ``parallel`` for each."""

    def __init__(self, anns: Sequence[str]) -> None:
        object.__setattr__(self, "annotations", tuple(_OURS.get(one, one) for one in anns))

    @property
    def anns(self) -> list[str]:  # type: ignore[override]
        """The annotations under AutoTVM's names."""
        return [_THEIRS.get(one, one) for one in self.annotations]

    def apply(  # type: ignore[override]
        self,
        sch: Any,
        op: Any,
        axes: Sequence[Any],
        axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None,
        vec_size: Sequence[int] | None = None,
        cfg: Any = None,
        source: Any = None,
    ) -> list[Any]:
        """Annotate ``axes`` of the stage of ``op`` and return them.

        With ``axis_lens``, unrolling a loop of more than ``max_unroll`` iterations, or vectorizing a loop
        whose length is not in ``vec_size``, is reported as an error of the configuration ``cfg``.
        """
        if source is not None:
            raise UnsupportedError(
                "AnnotateEntity.apply: source= places GPU caches",
                Span.of_caller(),
                "compute_at places stages",
            )
        for place, word in enumerate(self.anns if axis_lens is not None else ()):
            length = axis_lens[place]  # type: ignore[index]
            if word == "unroll" and max_unroll and length > max_unroll:
                cfg.raise_error("Too large factor for unrolling")
            if word == "vec" and vec_size and length not in vec_size:
                cfg.raise_error("Wrong size of lanes in vectorization")
        return super().apply(sch, op, axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnnotateChoice) and tuple(self.annotations) == tuple(other.annotations)

    def __hash__(self) -> int:
        return hash((self.annotations,))

    def __repr__(self) -> str:
        return str(self.anns)

    __str__ = __repr__


class OtherOptionEntity(OptionChoice):
    """A value chosen from a list that the template gives."""

    def __init__(self, val: Any) -> None:
        object.__setattr__(self, "val", val)
        self.__post_init__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionChoice) and self.val == other.val

    def __hash__(self) -> int:
        return hash((self.val,))

    def __repr__(self) -> str:
        return str(self.val)

    __str__ = __repr__


def entity(choice: Choice) -> Choice:
    """Convert ``choice`` to AutoTVM's class."""
    match choice:
        case SplitEntity() | ReorderEntity() | AnnotateEntity() | OtherOptionEntity():
            return choice
        case SplitChoice(size):
            return SplitEntity(size)
        case ReorderChoice(permutation):
            return ReorderEntity(permutation)
        case AnnotateChoice(annotations):
            return AnnotateEntity(annotations)
        case OptionChoice(val):
            return OtherOptionEntity(val)


_KINDS = {"sp": (SplitEntity, int), "re": (ReorderEntity, int), "an": (AnnotateEntity, str)}


def to_json(name: str, choice: Choice) -> list[Any]:
    """The setting of the knob ``name`` in the format of AutoTVM's logs."""
    match entity(choice):
        case SplitEntity(size=size):
            return [name, "sp", list(size)]
        case ReorderEntity() as order:
            return [name, "re", order.perm]
        case AnnotateEntity() as annotated:
            return [name, "an", annotated.anns]
        case other:
            return [name, "ot", other.val]  # type: ignore[union-attr]


def from_json(row: Any) -> tuple[str, Choice]:
    """Return the name and the setting of the knob in ``row`` of a log; a ScheduleError if it is damaged."""
    match row:
        case [str() as name, "ot", (None | bool() | int() | float() | str()) as value]:
            return name, OtherOptionEntity(value)
        case [str() as name, str() as kind, [*values]] if kind in _KINDS:
            made, of = _KINDS[kind]
            if all(isinstance(one, of) and not isinstance(one, bool) for one in values):
                return name, made(values)
    raise ScheduleError(
        f"a log's entity has {str(row)[:80]}, expected [name, kind, setting]", Span.of_caller()
    )
