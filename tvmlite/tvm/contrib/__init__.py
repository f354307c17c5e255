"""TVM's ``tvm.contrib``, as far as programs that build and run models use it."""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite.tvm.contrib import cblas, cc, utils

__all__ = ["cblas", "cc", "utils"]

_LATER = ("clang", "debugger", "graph_executor", "graph_runtime")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"tvmlite.tvm.contrib.{name}")
    raise AttributeError(f"tvm.contrib has no {name!r} in tvmlite")
