"""Access by name to objects of rooms further right; the package's ``__init__`` registers them.

A room may not import from rooms to its right. It asks for an object by name instead, and only then is the
module that has it loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_PROVIDERS: dict[str, Callable[[], Any]] = {}


def provide(name: str, provider: Callable[[], Any]) -> None:
    """Register ``provider`` as the function that returns the object ``name``, in place of an earlier one."""
    _PROVIDERS[name] = provider


def provided(name: str) -> Any:
    """The object registered as ``name``."""
    return _PROVIDERS[name]()
