"""The functions of operators on quantized tensors: ``relay.qnn.op.conv2d(...)``."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.absent import missing
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.op.requantize import requantize_config

__all__ = ["requantize_config"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name.startswith("register"):
        return missing(f"relay.qnn.op.{name}", "relay.op.register_legalize takes any operator")
    return find(f"qnn.{name}")
