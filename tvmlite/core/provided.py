"""What a room needs of rooms to its right: the package's ``__init__``, right of all of them, gives it.

The room on the left knows a name and what it is called with. It asks when it needs it, and only then is what
provides it loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_GIVERS: dict[str, Callable[[], Any]] = {}


def provide(name: str, give: Callable[[], Any]) -> None:
    """Let those who ask for ``name`` get what ``give()`` returns, in place of what they got before."""
    _GIVERS[name] = give


def provided(name: str) -> Any:
    """What is provided as ``name``."""
    return _GIVERS[name]()
