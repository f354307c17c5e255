"""The settings that a knob of a tuning space can have, and their application to a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeAlias

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.tensor import IterVar

ANNOTATIONS = ("none", "unroll", "vectorize", "parallel")
"""The annotations of a loop in an ``AnnotateChoice``."""


@dataclass(frozen=True)
class SplitChoice:
    """Loop extents, outermost first; an outermost -1 stands for the extent that the others leave."""

    size: tuple[int, ...]

    def apply(self, schedule: Schedule, tensor: Any, axis: IterVar) -> list[IterVar]:
        """Split ``axis`` of ``tensor``'s stage into ``len(size)`` loops; return them, outermost first."""
        loops = []
        for position in range(1, len(self.size)):
            inner = 1
            for length in self.size[position:]:
                inner *= length
            outer, axis = schedule[tensor].split(axis, factor=inner)
            loops.append(outer)
        return [*loops, axis]

    def __str__(self) -> str:
        return "x".join(str(length) for length in self.size)


@dataclass(frozen=True)
class ReorderChoice:
    """An order of loops: ``permutation[i]`` is the old position of the loop that moves to position i."""

    permutation: tuple[int, ...]

    @property
    def perm(self) -> tuple[int, ...]:
        """The permutation, under AutoTVM's name."""
        return self.permutation

    def apply(self, schedule: Schedule, tensor: Any, axes: Sequence[IterVar]) -> list[IterVar]:
        """Reorder ``axes`` of the stage of ``tensor``; return them in their new order."""
        _same_number("reorder", len(self.permutation), axes)
        ordered = [axes[place] for place in self.permutation]
        schedule[tensor].reorder(*ordered)
        return ordered

    def __str__(self) -> str:
        return ",".join(map(str, self.permutation))


@dataclass(frozen=True)
class AnnotateChoice:
    """One of ``ANNOTATIONS`` for each of several loops."""

    annotations: tuple[str, ...]

    @property
    def anns(self) -> tuple[str, ...]:
        """The annotations, under AutoTVM's name."""
        return self.annotations

    def apply(self, schedule: Schedule, tensor: Any, axes: Sequence[IterVar]) -> list[IterVar]:
        """Vectorize, unroll or parallelize ``axes`` of the stage of ``tensor`` as chosen; return ``axes``."""
        _same_number("annotate", len(self.annotations), axes)
        stage = schedule[tensor]
        for annotation, axis in zip(self.annotations, axes, strict=True):
            match annotation:
                case "none":
                    pass
                case "unroll":
                    stage.unroll(axis)
                case "vectorize":
                    stage.vectorize(axis)
                case "parallel":
                    stage.parallel(axis)
                case _:
                    raise AssertionError(f"annotation {annotation!r}")
        return list(axes)

    def __str__(self) -> str:
        return ",".join(self.annotations)


OPTIONS = (int, float, str, NoneType)
"""The types of the value of an ``OptionChoice``; bools are ints."""


@dataclass(frozen=True)
class OptionChoice:
    """A value that the template interprets: a number, a string, a bool or None."""

    val: int | float | str | bool | None

    def __post_init__(self) -> None:
        arguments.instance("OptionChoice: val", self.val, OPTIONS, "a number, a text or None", ScheduleError)

    def __str__(self) -> str:
        return str(self.val)


Choice: TypeAlias = SplitChoice | ReorderChoice | AnnotateChoice | OptionChoice


def _same_number(what: str, wanted: int, axes: Sequence[IterVar]) -> None:
    if len(axes) != wanted:
        raise ScheduleError(
            f"{what}: {len(axes)} axes given, the knob was defined for {wanted}", Span.of_caller()
        )
