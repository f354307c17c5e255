"""``tvm.tir.stmt``: names of ``tvm.tir``, as they may also be imported."""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite.tvm.absent import no_name


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise no_name(__name__, name)
    return getattr(importlib.import_module("tvmlite.tvm.tir"), name)
