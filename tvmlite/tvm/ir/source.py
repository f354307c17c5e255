"""Where things were written, as TVM's programs say it."""

from __future__ import annotations

from tvmlite.core import span


class SourceName(str):
    """The name of a source."""

    @property
    def name(self) -> str:
        """As a plain string."""
        return str(self)


class Written(span.Span):
    """A place that a program gave a node itself; it is printed."""


def Span(source: str, line: int = 0, end_line: int = 0, column: int = 0, end_column: int = 0) -> Written:
    """A place in ``source``."""
    return Written(str(source), int(line))
