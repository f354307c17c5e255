"""What a room needs of rooms to its right: these give it, as techniques enter themselves in tables.

The room on the left knows a name and what it is called with. The module that provides it enters it here when
it is imported (``provide``); if nobody has imported that yet, it is loaded by name, as techniques are.
"""

from __future__ import annotations

import importlib
from typing import Any

PROVIDERS = {
    "compile": "tvmlite.driver",
    "faster_layers": "tvmlite.tuning.layer_precision.faster_layers",
}
"""The module that provides each name."""

_PROVIDED: dict[str, Any] = {}


def provide(name: str, what: Any) -> None:
    """Let ``what`` be given to those who ask for ``name``, one of ``PROVIDERS``, in place of what was
    before."""
    assert name in PROVIDERS
    _PROVIDED[name] = what


def provided(name: str) -> Any:
    """What was provided as ``name``."""
    if name not in _PROVIDED:
        importlib.import_module(PROVIDERS[name])
    return _PROVIDED[name]
