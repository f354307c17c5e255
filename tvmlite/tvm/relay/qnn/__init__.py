"""``relay.qnn``: operators on quantized tensors, as ``relay.qnn.conv2d`` or ``relay.qnn.op.conv2d``."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.qnn import op, transform

__all__ = ["op", "transform"]


def __getattr__(name: str) -> Any:
    return getattr(op, name)
