"""Warnings about unusable records, each once in a run that reads the records often."""

from __future__ import annotations

from tvmlite.core.span import warn


class WarnOnce:
    """Warns of each message once, at the user's line; a function for ``note`` of ``compile`` and ``tune``."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def __call__(self, message: str) -> None:
        """Warn of ``message``, unless this object has done so before."""
        if message not in self._reported:
            self._reported.add(message)
            warn(message)
