"""What a room needs of rooms to its right: given to it by the package, which knows all rooms.

The package enters here, when it is imported, how each is made (``provide``); nothing is made, or imported,
before it is asked for. So the room to the left knows a name and what it is to be called with, and no other
room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MAKERS: dict[str, Callable[[], Any]] = {}


def provide(name: str, make: Callable[[], Any]) -> None:
    """Let ``make()`` give what is asked for as ``name``."""
    _MAKERS[name] = make


def provided(name: str) -> Any:
    """What was provided as ``name``."""
    assert name in _MAKERS, f"nothing is provided as {name}"
    return _MAKERS[name]()
