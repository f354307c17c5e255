"""Operators that rearrange or mask by position: depth_to_space, reverse_sequence, trilu, interleave."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, at_least, choice
from tvmlite.relay.ir.types import Dim, Shape, TensorType, normal_dim, same_dim, show_shape
from tvmlite.relay.ops.common import INTEGERS, axis_of, expect, expect_extent, fault, replaced, scalar_of
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor

_IMAGE: dict[str, Any] = {"block_size": at_least(1), "layout": choice("NCHW", "NHWC")}


def _channels_first(call: Call, at: Any) -> tuple[Any, Any, Any, Any]:
    """Reorder four extents or indices in the call's layout to batch, channels, height, width."""
    if len(at) != 4:
        raise fault(call, f"data is {show_shape(at)}, expected 4 axes")
    return tuple(at) if call["layout"] == "NCHW" else (at[0], at[3], at[1], at[2])


def _in_layout(call: Call, batch: Any, channels: Any, height: Any, width: Any) -> tuple[Any, ...]:
    """Reorder four extents or indices to the call's layout."""
    if call["layout"] == "NCHW":
        return batch, channels, height, width
    return batch, height, width, channels


def _exact_quotient(call: Call, what: str, extent: Dim, by: int) -> Dim:
    if not same_dim(normal_dim(extent // by * by), extent):
        raise fault(call, f"the {what} is {extent}, expected a multiple of {by}")
    return normal_dim(extent // by)


def _depth_to_space_type(call: Call, data: TensorType) -> TensorType:
    (batch, channels, height, width), block = _channels_first(call, data.shape), call["block_size"]
    out_channels = _exact_quotient(call, "number of channels", channels, block * block)
    return TensorType(_in_layout(call, batch, out_channels, height * block, width * block), data.dtype)


def _by_blocks_numpy(call: Call, data: np.ndarray, cut: Any, order: Any, shape: Any) -> np.ndarray:
    """Reshape channels-first ``data`` to ``cut``, transpose it by ``order``, and reshape it to ``shape``."""
    made = data.reshape(cut).transpose(order).reshape(shape)
    return np.ascontiguousarray(made if call["layout"] == "NCHW" else made.transpose(0, 2, 3, 1))


def _depth_to_space_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    data, b = data if call["layout"] == "NCHW" else data.transpose(0, 3, 1, 2), call["block_size"]
    n, c, h, w = data.shape
    first = call["mode"] == "DCR"
    cut = (n, b, b, c // (b * b), h, w) if first else (n, c // (b * b), b, b, h, w)
    order = (0, 3, 4, 1, 5, 2) if first else (0, 1, 4, 2, 5, 3)
    return _by_blocks_numpy(call, data, cut, order, (n, c // (b * b), h * b, w * b))


@injective(
    "nn.depth_to_space",
    infer=_depth_to_space_type,
    reference=_depth_to_space_numpy,
    attrs={**_IMAGE, "mode": choice("DCR", "CRD")},
)
def depth_to_space(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Move channels to blocks of ``block_size`` x ``block_size`` pixels; "DCR": block before channel."""
    block, (n, c, y, x) = call["block_size"], _channels_first(call, i)
    out_channels = normal_dim(_channels_first(call, data.shape)[1] // (block * block))
    within = y % block * block + x % block
    channel = within * out_channels + c if call["mode"] == "DCR" else c * (block * block) + within
    return data[_in_layout(call, n, channel, y // block, x // block)]


def _space_to_depth_type(call: Call, data: TensorType) -> TensorType:
    (batch, channels, height, width), block = _channels_first(call, data.shape), call["block_size"]
    low, narrow = (
        _exact_quotient(call, "height", height, block),
        _exact_quotient(call, "width", width, block),
    )
    return TensorType(_in_layout(call, batch, channels * block * block, low, narrow), data.dtype)


def _space_to_depth_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    data, b = data if call["layout"] == "NCHW" else data.transpose(0, 3, 1, 2), call["block_size"]
    n, c, h, w = data.shape
    cut, shape = (n, c, h // b, b, w // b, b), (n, c * b * b, h // b, w // b)
    return _by_blocks_numpy(call, data, cut, (0, 3, 5, 1, 2, 4), shape)


@injective("nn.space_to_depth", infer=_space_to_depth_type, reference=_space_to_depth_numpy, attrs=_IMAGE)
def space_to_depth(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Move each block of ``block_size`` x ``block_size`` pixels to channels, block before channel."""
    block, (n, c, y, x) = call["block_size"], _channels_first(call, i)
    channels = _channels_first(call, data.shape)[1]
    within = c // channels
    return data[_in_layout(call, n, c % channels, y * block + within // block, x * block + within % block)]


# --- sequences --------------------------------------------------------------------------------------


def _reverse_type(call: Call, data: TensorType, seq_lengths: TensorType) -> TensorType:
    seq_axis = axis_of(call, call["seq_axis"], data.ndim, "seq_axis")
    batch_axis = axis_of(call, call["batch_axis"], data.ndim, "batch_axis")
    expect(call, "seq_lengths are", seq_lengths.dtype, INTEGERS)
    if seq_axis == batch_axis:
        raise fault(call, f"seq_axis and batch_axis are both {seq_axis}, expected two axes")
    if seq_lengths.ndim != 1:
        raise fault(call, f"seq_lengths have the shape {show_shape(seq_lengths.shape)}, expected one axis")
    expect_extent(call, "the number of seq_lengths", seq_lengths.shape[0], data.shape[batch_axis])
    return data


def _reverse_numpy(call: Call, data: np.ndarray, seq_lengths: np.ndarray) -> np.ndarray:
    result = data.copy()
    out = np.moveaxis(result, (call["batch_axis"], call["seq_axis"]), (0, 1))
    source = np.moveaxis(data, (call["batch_axis"], call["seq_axis"]), (0, 1))
    for row, length in enumerate(np.clip(seq_lengths, 0, source.shape[1])):
        out[row, :length] = source[row, :length][::-1]
    return result


@injective(
    "reverse_sequence",
    infer=_reverse_type,
    reference=_reverse_numpy,
    attrs={"seq_axis": 1, "batch_axis": 0},
)
def reverse_sequence(call: Call, i: Indices, data: Tensor, seq_lengths: Tensor) -> e.Expr:
    """Reverse the first ``seq_lengths[b]`` elements along ``seq_axis``; the others are unchanged."""
    seq_axis, batch_axis = call["seq_axis"] % data.ndim, call["batch_axis"] % data.ndim
    length = e.Min(*e.match(e.cast("int64", seq_lengths[i[batch_axis]]), data.shape[seq_axis]))
    position = e.cast("int64", i[seq_axis])
    return data[replaced(i, seq_axis, e.Select(position < length, length - 1 - position, position))]


def _mask_type(call: Call, data: TensorType, valid_length: TensorType) -> TensorType:
    if data.ndim < 2 or call["axis"] not in (0, 1):
        raise fault(
            call, f"data is {show_shape(data.shape)}, axis is {call['axis']}, expected 0 or 1 of two axes"
        )
    if valid_length.ndim != 1:
        raise fault(call, f"valid_length has the shape {show_shape(valid_length.shape)}, expected one axis")
    expect_extent(call, "the number of valid_length", valid_length.shape[0], data.shape[1 - call["axis"]])
    return data


def _mask_numpy(call: Call, data: np.ndarray, valid_length: np.ndarray) -> np.ndarray:
    steps = np.arange(data.shape[call["axis"]])
    inside = np.expand_dims(steps, 1 - call["axis"]) < np.expand_dims(valid_length, call["axis"])
    inside = inside.reshape(inside.shape + (1,) * (data.ndim - 2))
    return np.where(inside, data, np.array(call["mask_value"]).astype(data.dtype))


@injective(
    "sequence_mask",
    infer=_mask_type,
    reference=_mask_numpy,
    attrs={"mask_value": 0.0, "axis": 0},
    fills=True,
)
def sequence_mask(call: Call, i: Indices, data: Tensor, valid_length: Tensor) -> e.Expr:
    """``data``, but ``mask_value`` from ``valid_length[b]`` on along ``axis``: 0, or 1 for batches first."""
    inside = e.Less(*e.match(i[call["axis"]], valid_length[i[1 - call["axis"]]]))
    return e.Select(inside, data[i], scalar_of(call["mask_value"], data.dtype))


# --- triangles --------------------------------------------------------------------------------------


def _trilu_type(call: Call, data: TensorType) -> TensorType:
    if data.ndim < 2:
        raise fault(call, f"data is {show_shape(data.shape)}, expected at least 2 axes")
    return data


def _trilu_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return (np.triu if call["upper"] else np.tril)(data, call["k"])


@injective(
    "trilu",
    infer=_trilu_type,
    reference=_trilu_numpy,
    attrs={"k": 0, "upper": True},
    open_attrs=("k",),
    fills=True,
)
def trilu(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """The triangle on and above (``upper``) or on and below the ``k``-th diagonal of each matrix, else 0.

    ``k`` is an attribute; in TVM it may be an expression.
    """
    distance = e.cast("int64", i[-1]) - e.cast("int64", i[-2])
    kept = distance >= call["k"] if call["upper"] else distance <= call["k"]
    return e.Select(kept, data[i], e.const(0, data.dtype))


# --- the phases of a transposed convolution --------------------------------------------------------


def _interleave_type(call: Call, data: TensorType) -> TensorType:
    strides, crop = call["strides"], call["crop"]
    if (
        not isinstance(strides, tuple)
        or not strides
        or not all(isinstance(s, int) and s > 0 for s in strides)
    ):
        raise fault(call, f"strides is {strides}, expected at least one, of at least 1")
    if not _are_whole(crop, 0) or len(crop) != 2 * len(strides):
        raise fault(call, f"crop is {crop}, expected {2 * len(strides)} numbers, of at least 0")
    channels, phases = data.shape[1] if data.ndim > 1 else None, math.prod(strides)
    if data.ndim - 2 - len(strides) not in (0, 1):
        raise fault(call, f"data is {show_shape(data.shape)}, expected {len(strides)} spatial axes")
    if not isinstance(channels, int) or channels % phases:
        raise fault(call, f"data is {show_shape(data.shape)}, expected a multiple of {phases} channels")
    return TensorType(_shape(call, data.shape), data.dtype)


def _are_whole(values: Any, least: int) -> bool:
    """Whether ``values`` is a tuple of known whole numbers of at least ``least``."""
    return isinstance(values, tuple) and all(isinstance(one, int) and one >= least for one in values)


def _shape(call: Call, shape: Any) -> Shape:
    strides, rank = call["strides"], len(call["strides"])
    crop = zip(call["crop"][:rank], call["crop"][rank:], strict=True)
    spatial = (
        normal_dim(extent * s - (b + e))
        for extent, s, (b, e) in zip(shape[2 : 2 + rank], strides, crop, strict=True)
    )
    return (shape[0], shape[1] // math.prod(strides), *spatial, *shape[2 + rank :])


def _interleave_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    strides, rank = call["strides"], len(call["strides"])
    n, channels, *spatial = data.shape[: 2 + rank]
    lanes = data.shape[2 + rank :]
    whole = data.reshape(n, *strides, channels // math.prod(strides), *spatial, *lanes)
    order = [0, rank + 1]
    for axis in range(rank):
        order += [rank + 2 + axis, 1 + axis]
    whole = whole.transpose(*order, *range(2 * rank + 2, whole.ndim))
    whole = whole.reshape(n, whole.shape[1], *(q * s for q, s in zip(spatial, strides, strict=True)), *lanes)
    kept = (
        slice(b, y - e) for b, e, y in zip(call["crop"], call["crop"][rank:], whole.shape[2:], strict=False)
    )
    return np.ascontiguousarray(whole[(slice(None), slice(None), *kept)])


@injective(
    "nn.contrib_interleave",
    infer=_interleave_type,
    reference=_interleave_numpy,
    attrs={"strides": REQUIRED, "crop": REQUIRED},
)
def interleave(call: Call, i: Indices, data: te.Tensor) -> Any:
    """Interleave phases that are stored as channels: ``(n, s.. * c, q..)`` to ``(n, c, q * s..)``.

    The channels of phase ``r..`` become the elements ``q * s + r..``; then ``crop`` (begins, then ends) is
    cut off. Channels in blocks, as in ``(n, s.. * c / 16, q.., 16)``, stay in blocks.
    """
    n, c, *rest = i
    strides, rank = call["strides"], len(call["strides"])
    shape = _shape(call, data.shape)
    phase: Any = 0
    places = []
    for y, s, b in zip(rest[:rank], strides, call["crop"], strict=False):
        phase = phase * s + (y + b) % s
        places.append((y + b) // s)
    return data[(n, phase * shape[1] + c, *places, *rest[rank:])]
