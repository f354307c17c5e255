"""Where things were written, as TVM's programs say it."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.core import span


class SourceName(str):
    """The name of a source."""

    @property
    def name(self) -> str:
        """As a plain string."""
        return str(self)


@dataclass(frozen=True)
class Written(span.Span):
    """A place that a program gave a node itself; it is printed."""

    end_line: int = 0
    column: int = 0
    end_column: int = 0

    @property
    def source_name(self) -> SourceName | None:
        """The source, None if the program gave none."""
        return SourceName(self.source) if self.source else None

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very place."""
        return self is other


def Span(
    source: str | None, line: int = 0, end_line: int = 0, column: int = 0, end_column: int = 0
) -> Written:
    """A place in ``source``."""
    return Written(
        str(source or ""), int(line), end_line=int(end_line), column=int(column), end_column=int(end_column)
    )
