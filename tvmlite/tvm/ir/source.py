"""Where things were written, as TVM's programs say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tvmlite.core import span


class SourceName(str):
    """The name of a source."""

    @property
    def name(self) -> str:
        """As a plain string."""
        return str(self)


@dataclass(frozen=True, init=False)
class Span(span.Span):
    """A place in ``source`` that a program gave a node itself; it is printed."""

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
        """The source, None if the program gave none."""
        return SourceName(self.source) if self.source else None

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very place."""
        return self is other


@dataclass(frozen=True, init=False)
class TextSpan(Span):
    """A place in text that was parsed; ``note`` is the line. Text that is written of it does not have it, so
    that it is the text that was read."""

    def __init__(
        self, source: str, line: int, end_line: int, column: int, end_column: int, note: str
    ) -> None:
        super().__init__(source, line, end_line, column, end_column)
        object.__setattr__(self, "note", note)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.note}"
