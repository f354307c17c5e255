"""Warnings that point at the user's line, however many of our functions stand between."""

from __future__ import annotations

import sys
import warnings

from tvmlite.core.span import is_of_user


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """``warnings.warn`` of ``message`` at the innermost line outside tvmlite and Python's own library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and not is_of_user(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
