"""Operators that rearrange or mask by position: depth_to_space, reverse_sequence, sequence_mask, trilu."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import Dim, Shape, TensorType, normal_dim, same_dim, show_shape
from tvmlite.relay.ops.common import INTEGERS, agree, axis_of, expect, fault, scalar_of
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _image(call: Call, data: TensorType) -> tuple[TensorType, tuple[Dim, Dim, Dim, Dim]]:
    """The data and its extents (batch, channels, height, width), whatever the layout."""
    if call["layout"] not in ("NCHW", "NHWC"):
        raise fault(call, f"layout is {call['layout']!r}, expected NCHW or NHWC")
    if data.ndim != 4:
        raise fault(call, f"data is {show_shape(data.shape)}, expected 4 axes")
    block = call["block_size"]
    if not isinstance(block, int) or block < 1:
        raise fault(call, f"block_size is {block}, expected at least 1")
    return data, _undo_layout(call, data.shape)


def _undo_layout(call: Call, shape: Any) -> Any:
    """``shape`` (or indices) as batch, channels, height, width."""
    batch, *rest = shape
    return (batch, *rest) if call["layout"] == "NCHW" else (batch, rest[2], rest[0], rest[1])


def _laid(call: Call, batch: Any, channels: Any, height: Any, width: Any) -> tuple[Any, ...]:
    """Four extents (or indices) in the call's layout."""
    if call["layout"] == "NCHW":
        return batch, channels, height, width
    return batch, height, width, channels


def _divided(call: Call, what: str, extent: Dim, by: int) -> Dim:
    if not same_dim(normal_dim(extent // by * by), extent):
        raise fault(call, f"the {what} is {extent}, expected a multiple of {by}")
    return normal_dim(extent // by)


def _depth_to_space_shape(call: Call, data: TensorType) -> tuple[TensorType, Shape]:
    checked, (batch, channels, height, width) = _image(call, data)
    if call["mode"] not in ("DCR", "CRD"):
        raise fault(call, f"mode is {call['mode']!r}, expected DCR or CRD")
    block = call["block_size"]
    fewer = _divided(call, "number of channels", channels, block * block)
    return checked, _laid(call, batch, fewer, normal_dim(height * block), normal_dim(width * block))


def _depth_to_space_type(call: Call, data: TensorType) -> TensorType:
    checked, shape = _depth_to_space_shape(call, data)
    return TensorType(shape, checked.dtype)


def _channels_first(call: Call, data: np.ndarray) -> np.ndarray:
    return data if call["layout"] == "NCHW" else data.transpose(0, 3, 1, 2)


def _as_laid(call: Call, data: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(data if call["layout"] == "NCHW" else data.transpose(0, 2, 3, 1))


def _depth_to_space_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    data, b = _channels_first(call, data), call["block_size"]
    n, c, h, w = data.shape
    if call["mode"] == "DCR":
        blocks = data.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = data.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return _as_laid(call, blocks.reshape(n, c // (b * b), h * b, w * b))


@injective(
    "nn.depth_to_space",
    infer=_depth_to_space_type,
    reference=_depth_to_space_numpy,
    attrs={"block_size": REQUIRED, "layout": "NCHW", "mode": "DCR"},
)
def depth_to_space(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Blocks of channels spread over ``block_size`` x ``block_size`` pixels; "DCR": block before channel."""
    block = call["block_size"]
    checked = TensorType(data.shape, data.dtype)
    shape = _depth_to_space_shape(call, checked)[1]
    fewer = _undo_layout(call, shape)[1]
    n, c, y, x = _undo_layout(call, i)
    within = y % block * block + x % block
    channel = within * fewer + c if call["mode"] == "DCR" else c * (block * block) + within
    return data[_laid(call, n, channel, y // block, x // block)]


def _space_to_depth_type(call: Call, data: TensorType) -> TensorType:
    checked, (batch, channels, height, width) = _image(call, data)
    block = call["block_size"]
    low, narrow = _divided(call, "height", height, block), _divided(call, "width", width, block)
    return TensorType(_laid(call, batch, normal_dim(channels * block * block), low, narrow), checked.dtype)


def _space_to_depth_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    data, b = _channels_first(call, data), call["block_size"]
    n, c, h, w = data.shape
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return _as_laid(call, blocks.reshape(n, c * b * b, h // b, w // b))


@injective(
    "nn.space_to_depth",
    infer=_space_to_depth_type,
    reference=_space_to_depth_numpy,
    attrs={"block_size": REQUIRED, "layout": "NCHW"},
)
def space_to_depth(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Each block of ``block_size`` x ``block_size`` pixels as channels, block before channel."""
    block = call["block_size"]
    channels = _undo_layout(call, data.shape)[1]
    n, c, y, x = _undo_layout(call, i)
    within = c // channels
    return data[_laid(call, n, c % channels, y * block + within // block, x * block + within % block)]


# --- sequences --------------------------------------------------------------------------------------


def _reverse_type(call: Call, data: TensorType, seq_lengths: TensorType) -> TensorType:
    seq_axis = axis_of(call, call["seq_axis"], data.ndim, "seq_axis")
    batch_axis = axis_of(call, call["batch_axis"], data.ndim, "batch_axis")
    expect(call, "seq_lengths are", seq_lengths.dtype, INTEGERS)
    if seq_axis == batch_axis:
        raise fault(call, f"seq_axis and batch_axis are both {seq_axis}, expected two axes")
    if seq_lengths.ndim != 1:
        raise fault(call, f"seq_lengths have the shape {show_shape(seq_lengths.shape)}, expected one axis")
    agree(call, "the number of seq_lengths", seq_lengths.shape[0], data.shape[batch_axis])
    return data


def _reverse_numpy(call: Call, data: np.ndarray, seq_lengths: np.ndarray) -> np.ndarray:
    result = data.copy()
    out = np.moveaxis(result, (call["batch_axis"], call["seq_axis"]), (0, 1))
    source = np.moveaxis(data, (call["batch_axis"], call["seq_axis"]), (0, 1))
    for row, length in enumerate(np.clip(seq_lengths, 0, source.shape[1])):
        out[row, :length] = source[row, :length][::-1]
    return result


@injective(
    "reverse_sequence", infer=_reverse_type, reference=_reverse_numpy, attrs={"seq_axis": 1, "batch_axis": 0}
)
def reverse_sequence(call: Call, i: Indices, data: Tensor, seq_lengths: Tensor) -> e.Expr:
    """The first ``seq_lengths[b]`` elements along ``seq_axis`` in reverse, the others as they are."""
    seq_axis, batch_axis = call["seq_axis"] % data.ndim, call["batch_axis"] % data.ndim
    length = e.Min(*e.match(e.cast("int64", seq_lengths[i[batch_axis]]), data.shape[seq_axis]))
    position = e.cast("int64", i[seq_axis])
    source = e.Select(position < length, length - 1 - position, position)
    return data[(*i[:seq_axis], source, *i[seq_axis + 1 :])]


def _mask_type(call: Call, data: TensorType, valid_length: TensorType) -> TensorType:
    if data.ndim < 2 or call["axis"] not in (0, 1):
        raise fault(
            call, f"data is {show_shape(data.shape)}, axis is {call['axis']}, expected 0 or 1 of two axes"
        )
    if valid_length.ndim != 1:
        raise fault(call, f"valid_length has the shape {show_shape(valid_length.shape)}, expected one axis")
    agree(call, "the number of valid_length", valid_length.shape[0], data.shape[1 - call["axis"]])
    return data


def _mask_numpy(call: Call, data: np.ndarray, valid_length: np.ndarray) -> np.ndarray:
    steps = np.arange(data.shape[call["axis"]])
    inside = steps[:, None] < valid_length[None] if call["axis"] == 0 else steps[None] < valid_length[:, None]
    inside = inside.reshape(inside.shape + (1,) * (data.ndim - 2))
    return np.where(inside, data, np.array(call["mask_value"]).astype(data.dtype))


@injective("sequence_mask", infer=_mask_type, reference=_mask_numpy, attrs={"mask_value": 0.0, "axis": 0})
def sequence_mask(call: Call, i: Indices, data: Tensor, valid_length: Tensor) -> e.Expr:
    """``mask_value`` from ``valid_length[b]`` on along ``axis``; the batch is the other of the first two."""
    axis = call["axis"]
    value = scalar_of(call["mask_value"], data.dtype)
    inside = e.Less(*e.match(i[axis], valid_length[i[1 - axis]]))
    return e.Select(inside, data[i], value)


# --- triangles --------------------------------------------------------------------------------------


def _trilu_type(call: Call, data: TensorType) -> TensorType:
    if data.ndim < 2:
        raise fault(call, f"data is {show_shape(data.shape)}, expected at least 2 axes")
    return data


def _trilu_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.triu(data, call["k"]) if call["upper"] else np.tril(data, call["k"])


@injective(
    "trilu", infer=_trilu_type, reference=_trilu_numpy, attrs={"k": 0, "upper": True}, open_attrs=("k",)
)
def trilu(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """The triangle on and above (``upper``) or on and below the ``k``-th diagonal of each matrix, else 0.

    ``k`` is known when the model is compiled; in TVM it may be an expression.
    """
    zero, k = e.const(0, data.dtype), call["k"]
    row, column = e.cast("int64", i[-2]), e.cast("int64", i[-1])
    kept = column - row >= k if call["upper"] else column - row <= k
    return e.Select(kept, data[i], zero)
