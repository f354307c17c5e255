"""The passes under the module that TVM has them in: ``tvm.relay.transform.transform``."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("tvmlite.tvm.relay.transform"), name)
