"""Source locations with the interface of TVM's ``Span`` and ``SourceName``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tvmlite.core import span


class SourceName(str):
    """The name of a source."""

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)


@dataclass(frozen=True, init=False)
class Span(span.Span):
    """A location in ``source`` that a program set on a node explicitly; it is printed with the node."""

    end_line: int
    column: int
    end_column: int
    compared_fields: ClassVar[tuple[str, ...]] = ("source", "line", "end_line", "column", "end_column")

    def __init__(
        self, source: str | None, line: int = 0, end_line: int = 0, column: int = 0, end_column: int = 0
    ) -> None:
        super().__init__(str(source or ""), int(line))
        for name, value in (("end_line", end_line), ("column", column), ("end_column", end_column)):
            object.__setattr__(self, name, int(value))

    @property
    def source_name(self) -> SourceName | None:
        """The name of the source, or None if the program gave none."""
        return SourceName(self.source) if self.source else None

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other


@dataclass(frozen=True, init=False)
class TextSpan(Span):
    """A location in parsed text; ``note`` is the line. It is not printed with the node, so that printing a
    parsed program gives back the text that was read."""

    def __init__(
        self, source: str, line: int, end_line: int, column: int, end_column: int, note: str
    ) -> None:
        super().__init__(source, line, end_line, column, end_column)
        object.__setattr__(self, "note", note)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.note}"
