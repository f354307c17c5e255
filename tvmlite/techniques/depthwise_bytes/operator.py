"""Depthwise convolutions of uint8 by int8 on blocks of channels, four taps of a row at a time.

The data is ``NCHW16c``, the weight ``OIHW16o4w``: taps of a row of the window in groups of four, padded with
zeros, as ``vpdpbusd`` reads them. Windows thus read up to three pixels past their end, which the padded copy
of the data provides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call, canonical
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import Shape, TensorType, same_shape, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.convolutions.conv import conv_attrs, converted, convolved_numpy
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers
from tvmlite.techniques.depthwise_bytes.instruction import TAPS

DEPTHWISE = "nn.contrib_depthwise_conv2d_taps"
"""The operator's name."""

DTYPES = ("uint8", "int8", "int32"), ("uint8", "int8", "float32")
"""The supported dtypes of data, weight and result."""

TAG = "depthwise_conv2d_taps"
"""The tag of the sums, by which the schedule finds them."""

PADDING_BEFORE = "pixels_before"
"""The attribute of the sums with the number of pixels of padding at the start of a row of the copy."""


def weight_layout(block: int) -> str:
    """The layout of weights in blocks of ``block`` channels, such as ``OIHW16o4w``."""
    return f"OIHW{block}o{TAPS}w"


def _infer(call: Call, data: TensorType, weight: TensorType) -> TensorType:
    given = data.dtype, weight.dtype, call["out_dtype"]
    if given not in DTYPES:
        raise fault(
            call, f"data, weight and out_dtype are {', '.join(given)}; expected uint8, int8, int32 or float32"
        )
    block = windows.check_data(call, data, "data_layout", 2)
    windows.check_rank(call, "weight", weight, 6)
    high, wide = windows.spatial_attr(call, "kernel_size", 2)
    expected = (data.shape[1], 1, high, -(-wide // TAPS), block, TAPS)
    if call["kernel_layout"] != weight_layout(block) or not same_shape(weight.shape, expected):
        raise fault(
            call,
            f"weight is {show_shape(weight.shape)} of kernel_layout {call['kernel_layout']!r}, "
            f"expected {show_shape(expected)} of {weight_layout(block)!r}",
        )
    if windows.spatial_attr(call, "dilation", 2)[1] != 1:
        raise fault(call, f"dilation is {call['dilation']}, expected a dilation of 1 along rows")
    shape = _extents(call, data.shape)
    windows.check_extents(call, shape, data)
    return TensorType((*data.shape[:2], *shape, block), call["out_dtype"])


def _extents(call: Call, shape: Shape) -> Shape:
    """The rows and columns of the result of data of ``shape``."""
    return windows.geometry(call, windows.spatial_attr(call, "kernel_size", 2), 2).extents(shape[2:4])


def _compute(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """The exact sums in int32, converted if ``out_dtype`` is another."""
    shape, (begins, ends) = _extents(call, data.shape), windows.padding_of(call, 2)
    strides, (apart, _) = (
        windows.spatial_attr(call, "strides", 2),
        windows.spatial_attr(call, "dilation", 2),
    )
    high, wide = windows.spatial_attr(call, "kernel_size", 2)
    groups, before = weight.shape[3], -begins[1] % TAPS
    begins, ends = (begins[0], begins[1] + before), (ends[0], ends[1] + groups * TAPS - wide)
    width = begins[1] + data.shape[3] + ends[1]
    if isinstance(width, int):
        ends = ends[0], ends[1] + -width % TAPS
    source = windows.padded(data, begins, ends, 0, trailing=1)
    axes = [te.reduce_axis(n, name) for n, name in ((high, "ky"), (groups, "kx"), (TAPS, "tap"))]
    ky, kx, tap = axes

    def element(n: Any, block: Any, y: Any, x: Any, lane: Any) -> e.Expr:
        row, pixel = y * strides[0] + ky * apart, before + x * strides[1] + kx * TAPS + tap
        value, factor = source[n, block, row, pixel, lane], weight[block, 0, ky, kx, lane, tap]
        return reducers.sum(value.astype("int32") * factor.astype("int32"), axes)

    sums = te.compute(
        (*data.shape[:2], *shape, data.shape[-1]),
        element,
        name="conv",
        tag=TAG,
        attrs={PADDING_BEFORE: begins[1]},
    )
    return converted(sums, call["out_dtype"])


def _numpy(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The reference in numpy: a channels-first convolution of operands without blocks."""
    _, wide = windows.spatial_attr(call, "kernel_size", 2)
    plain = weight.transpose(0, 4, 1, 2, 3, 5).reshape(-1, 1, weight.shape[2], weight.shape[3] * TAPS)
    channels_first = np.moveaxis(data, -1, 2).reshape(data.shape[0], -1, *data.shape[2:4])
    whole = Call(call.op, call.args, canonical({**dict(call.attrs), "out_dtype": "int32"}), call.span)
    sums = convolved_numpy(whole, channels_first, plain[..., :wide], plain.shape[0], 2)
    blocks = sums.reshape(*data.shape[:2], data.shape[-1], *sums.shape[2:])
    return np.ascontiguousarray(np.moveaxis(blocks, 2, -1)).astype(call["out_dtype"])


operator(
    DEPTHWISE,
    infer=_infer,
    reference=_numpy,
    fuse=Fuse.OUT_ELEMWISE_FUSABLE,
    attrs={
        **conv_attrs(2),
        "data_layout": "NCHW16c",
        "kernel_layout": weight_layout(16),
        "kernel_size": REQUIRED,
        "out_dtype": "int32",
    },
    schedule=anchors.CONVOLUTION,
    doc="""The depthwise convolution of uint8 by int8 along two axes, channels in blocks, taps in fours.

    Data and result are in blocks of the weight's length. Taps of a row are side by side, ``dilation`` is of
    rows alone. ``out_dtype`` is int32, or float32, to which sums are converted.
    """,
)(_compute)
