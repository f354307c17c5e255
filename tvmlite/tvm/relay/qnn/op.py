"""The functions of operators on quantized tensors: ``relay.qnn.op.conv2d(...)``."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.absent import known
from tvmlite.tvm.relay.op.composed.requantize import requantize_config
from tvmlite.tvm.relay.op.functions import find

__all__ = ["requantize_config"]


def __getattr__(name: str) -> Any:
    found = known(__name__, name)
    return find(f"qnn.{name}") if found is None else found
