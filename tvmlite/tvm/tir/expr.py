"""``tvm.tir.expr``: names of ``tvm.tir``, as they may also be imported."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("tvmlite.tvm.tir"), name)
