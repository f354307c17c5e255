"""What a rule of layouts is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Question:
    """A call of ``op``: the layouts of its operands before (``old``, None where unknown) and now (``new``,
    None if nothing has changed yet), the types that the operands had; fields of tuples one by one."""

    op: str
    attrs: Mapping[str, Any]
    new: Sequence[str] | None
    old: Sequence[str | None]
    types: Sequence[Any]
    chosen: bool = False
    """Whether the attributes name a layout that was asked for, rather than the one there was."""

    @property
    def first(self) -> str | None:
        """The new layout of the first operand, or the first one that was known."""
        if self.new is not None:
            return self.new[0]
        return next((one for one in self.old if one is not None), None)

    @property
    def rank(self) -> int:
        """The number of axes of the first operand, before."""
        return len(self.types[0].shape)


@dataclass(frozen=True)
class Answer:
    """The layouts that an operator takes and gives, and its attributes."""

    inputs: Sequence[str | None]
    results: Sequence[str | None]
    attrs: Mapping[str, Any]
