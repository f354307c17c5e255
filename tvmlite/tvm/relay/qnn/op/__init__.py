"""``relay.qnn.op``: functions for the operators on quantized tensors, such as ``conv2d``."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.absent import known
from tvmlite.tvm.relay.op import register_op_attr
from tvmlite.tvm.relay.op.composed.requantize import requantize_config
from tvmlite.tvm.relay.op.functions import find

__all__ = ["register_qnn_legalize", "requantize_config"]


def register_qnn_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Register the rule by which ``relay.qnn.transform.Legalize`` replaces calls of ``op_name``."""
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def __getattr__(name: str) -> Any:
    found = known(__name__, name)
    return find(f"qnn.{name}") if found is None else found
