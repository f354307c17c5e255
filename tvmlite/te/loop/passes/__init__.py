"""The passes from structured loops to the legal form that code generators take, each in a file of its name.

``legalize`` (in ``pipeline``) runs them all. It is imported on first use, so that one pass can be imported
without the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvmlite.te.loop.passes.pipeline import legalize

__all__ = ["legalize"]


def __getattr__(name: str) -> Any:
    if name != "legalize":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.pipeline").legalize
