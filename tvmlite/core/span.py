"""Source locations: a line of the user's Python code, or a node of a model."""

from __future__ import annotations

import linecache
import re
import sys
import warnings
from dataclasses import dataclass
from types import FrameType


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    return module.startswith("tvmlite.") or module == "tvmlite"


def _is_of_python(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] in sys.stdlib_module_names


def is_of_user(frame: FrameType) -> bool:
    """Whether ``frame`` runs code outside tvmlite and Python's own library."""
    return not _is_ours(frame) and not _is_of_python(frame)


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
        """The innermost frame outside tvmlite and Python's own library; if there is none, the innermost
        outside tvmlite. (Frames of the library may be between two of ours, as ``contextlib``'s, or call us.)

        Frames are recognized by module name, not by path: a checkout's folder is also a
        prefix of the paths of its tests and tutorials.
        """
        frame = sys._getframe(1)
        while frame.f_back and _is_ours(frame):
            frame = frame.f_back
        nearest = frame
        while frame.f_back and not is_of_user(frame):
            frame = frame.f_back
        chosen = nearest if _is_of_python(frame) else frame
        return Span(chosen.f_code.co_filename, chosen.f_lineno)

    @property
    def node(self) -> str:
        """The name of the model's node, or of its first output if it has no name; empty for other spans."""
        found = re.search(r'^node (?:of output )?"(.*)" \(\w+\)', self.note)
        return found[1] if found else ""

    def __str__(self) -> str:
        where = f"{self.source}:{self.line}" if self.line else self.source
        text = self.note or (linecache.getline(self.source, self.line).strip() if self.line else "")
        return f"{where}: {text}" if text else where


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Call ``warnings.warn`` with ``message`` for the innermost line outside tvmlite and Python's library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and not is_of_user(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
