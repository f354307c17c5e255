"""The argument and the result of a layout rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Question:
    """The argument of a layout rule: a call of ``op`` with its operands' original layouts (``old``, None
    where unknown), their current layouts (``new``, None if nothing has changed yet) and their original
    ``types``. The fields of tuple operands are listed separately."""

    op: str
    attrs: Mapping[str, Any]
    new: Sequence[str] | None
    old: Sequence[str | None]
    types: Sequence[Any]
    chosen: bool = False
    """Whether the attributes name a requested layout instead of the original one."""

    @property
    def first(self) -> str | None:
        """The new layout of the first operand or, if there is none, the first known original layout."""
        if self.new is not None:
            return self.new[0]
        return next((one for one in self.old if one is not None), None)

    @property
    def rank(self) -> int:
        """The original number of axes of the first operand."""
        return len(self.types[0].shape)


@dataclass(frozen=True)
class Answer:
    """The result of a layout rule: the layouts of the operands and results, and the attributes."""

    inputs: Sequence[str | None]
    results: Sequence[str | None]
    attrs: Mapping[str, Any]
