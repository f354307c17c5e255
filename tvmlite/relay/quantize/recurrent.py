"""Recurrent layers with int8 weights whose states are rounded in each step, like onnxruntime's
DynamicQuantizeLSTM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core import mapped
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.recurrent.steps import DOT_LENGTH
from tvmlite.relay.quantize.ranges import safe_scales

RECURRENT: Mapping[str, str] = {"nn.lstm_scan": "nn.quantized_lstm_scan"}
"""Operators whose second argument is a recurrence ``(blocks, size, gates, lanes)``, and the operator that
takes it as int8, with a scale, zero point and sum of each column after the third argument."""

LANES_AXIS = 3
"""The ``channel_axis`` of a recurrence's mark if each column has its own scale."""

MAX_CODE = 127
"""The largest code of weights, which are symmetric, so that zero points are 0."""


def is_recurrent(node: Expr) -> bool:
    """Whether ``node`` is a float32 recurrent layer whose recurrence is constant, so that it can be int8."""
    if not (isinstance(node, Call) and node.op in RECURRENT and isinstance(node.args[1], Constant)):
        return False
    return str(node.args[1].dtype) == "float32" and isinstance(_size(node), int)


def _size(call: Call) -> Any:
    return tensor_type_of(call.args[3]).shape[-1]


def with_int8_recurrence(call: Call, recurrence: Constant, by_column: bool) -> Call:
    """``call``, a recurrent layer, with ``recurrence`` as int8, and a scale for each column or just one."""
    with mapped.reading(recurrence.data) as values:
        axes = (1,) if by_column else None
        largest = np.max(np.abs(values), axis=axes, keepdims=True, initial=0.0)
        scales = safe_scales(largest / np.float32(MAX_CODE))
        codes = np.clip(np.rint(values / scales), -MAX_CODE, MAX_CODE).astype(np.int8)
    size = _size(call)
    columns = [_columns(np.broadcast_to(scales[:, 0], codes[:, 0].shape), size)]
    columns += [np.zeros_like(columns[0], np.int32), _columns(codes.sum(axis=1, dtype=np.int32), size)]
    first, _, third, *rest = call.args
    given = Constant(_interleaved(codes), recurrence.span), third, *map(constant, columns)
    return make(RECURRENT[str(call.op)], first, *given, *rest, span=call.span, **dict(call.attrs))


def _columns(values: np.ndarray, size: int) -> np.ndarray:
    """``(blocks, gates, lanes)`` as a vector: the units of each gate, one gate after the other."""
    gates = values.shape[1]
    return np.ascontiguousarray(values.transpose(1, 0, 2).reshape(gates, -1)[:, :size].reshape(-1))


def _interleaved(codes: np.ndarray) -> np.ndarray:
    """``(blocks, size, gates, lanes)`` in the layout of ``recurrent_loops.interleaved``."""
    blocks, size, gates, lanes = codes.shape
    groups = -(-size // DOT_LENGTH)
    padded = np.pad(codes, ((0, 0), (0, groups * DOT_LENGTH - size), (0, 0), (0, 0)))
    parts = padded.reshape(blocks, groups, DOT_LENGTH, gates, lanes).transpose(0, 1, 3, 4, 2)
    return np.ascontiguousarray(parts.reshape(blocks, groups, gates, lanes * DOT_LENGTH))
