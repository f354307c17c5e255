"""``relay.op.annotation``: functions of annotations, such as ``compiler_begin``."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.op.functions import find


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return find(f"annotation.{name}")
