"""Where a thing was written: the user's Python line, or a node of a model."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass


def _is_ours(module: str) -> bool:
    return module.startswith("tvmlite.") or module == "tvmlite"


@dataclass(frozen=True)
class Span:
    """A place in the user's input, printed at the end of errors.

    ``source`` is a file's name; ``line`` its line (0: no line); ``note`` names a node of a
    model, as in ``node "Conv_3" (Conv)``.
    """

    source: str
    line: int = 0
    note: str = ""

    @staticmethod
    def of_caller() -> Span:
        """The innermost frame outside tvmlite.

        Frames are told apart by module name, not by path: a checkout's folder would also be a
        prefix of its own tests and tutorials.
        """
        frame = sys._getframe(1)
        while frame.f_back and _is_ours(frame.f_globals.get("__name__", "")):
            frame = frame.f_back
        return Span(frame.f_code.co_filename, frame.f_lineno)

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        text = self.note or (linecache.getline(self.source, self.line).strip() if self.line else "")
        return f"{where}: {text}" if text else where
