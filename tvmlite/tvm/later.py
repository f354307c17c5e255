"""Functions of modules that are loaded when they are first called: what prints a node knows the node, and
the node's method must find it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of ``tvmlite.tvm.<module>``."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"tvmlite.tvm.{module}"), name)(*args, **options)

    call.__name__ = call.__qualname__ = name
    return call
