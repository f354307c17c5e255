"""Convolutions and matrix products in blocked layouts."""

from __future__ import annotations

import re
from typing import Any

from tvmlite import relay
from tvmlite.core import arguments
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.conv import group_conv2d_nchw
from tvmlite.tvm.topi.nn.layers import dense
from tvmlite.tvm.topi.nn.padding import extent, moved
from tvmlite.tvm.topi.operate import operate


def _block(name: str, layout: str) -> str:
    """``layout``, checked to be NCHW with or without blocks of channels."""
    if not re.fullmatch(r"NCHW(\d+c)?", str(layout)):
        raise arguments.refused(f"topi.nn.{name}: layout", layout, "NCHW16c or another block")
    return str(layout)


def _whole_kernel(name: str, kernel: Tensor) -> Tensor:
    """A blocked kernel as OIHW. Its shape is (output blocks, input blocks, height, width, inputs of a block,
    outputs of a block), with an optional last axis for inputs in groups of four."""
    shape = tuple(map(extent, kernel.shape))
    if len(shape) not in (6, 7):
        raise arguments.refused(f"topi.nn.{name}: kernel", shape, "6 or 7 extents")
    order = (0, 5, 1, 4, *range(6, len(shape)), 2, 3)
    inputs = shape[1] * shape[4] * (shape[6] if len(shape) == 7 else 1)
    whole = shape[0] * shape[5], inputs, shape[2], shape[3]
    return operate(name, lambda w: relay.reshape(relay.transpose(w, order), whole), kernel)


def conv2d_NCHWc(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str | None = "float32",
) -> Tensor:
    """Return the convolution of images in the blocked ``layout``, such as ``"NCHW16c"``, with kernels blocked
    in inputs and outputs. If kernels have fewer inputs than ``data`` has channels, it is a grouped one."""
    plain = moved(data, _block("conv2d_NCHWc", layout), "NCHW")
    weight = _whole_kernel("conv2d_NCHWc", kernel)
    groups = extent(plain.shape[1]) // extent(weight.shape[1])
    made = group_conv2d_nchw(plain, weight, stride, padding, dilation, groups, out_dtype)
    return moved(made, "NCHW", _block("conv2d_NCHWc", out_layout))


def conv2d_NCHWc_int8(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str | None = "int32",
    n_elems: int = 4,
) -> Tensor:
    """``conv2d_NCHWc`` of 8-bit ints, with groups of ``n_elems`` inputs innermost in the kernel."""
    return conv2d_NCHWc(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype)


def depthwise_conv2d_NCHWc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str | None = None,
) -> Tensor:
    """Return the depthwise convolution of images in a blocked layout."""
    plain = moved(Input, _block("depthwise_conv2d_NCHWc", layout), "NCHW")
    weight = _whole_kernel("depthwise_conv2d_NCHWc", Filter)
    groups = extent(plain.shape[1])
    made = group_conv2d_nchw(plain, weight, stride, padding, dilation, groups, out_dtype)
    return moved(made, "NCHW", _block("depthwise_conv2d_NCHWc", out_layout))


def dense_pack(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """``dense``, with a ``weight`` that may be packed as (blocks, columns, rows of a block)."""
    if weight.ndim != 3:
        return dense(data, weight, bias, out_dtype)
    blocks, columns, rows = map(extent, weight.shape)
    whole = operate(
        "nn.dense", lambda w: relay.reshape(relay.transpose(w, (0, 2, 1)), (blocks * rows, columns)), weight
    )
    return dense(data, whole, bias, out_dtype)


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:
    """Return images in a blocked layout as NCHW, converted to ``out_dtype``."""
    block = extent(packed_out.shape[4])
    made = moved(packed_out, f"NCHW{block}c", "NCHW")
    return operate("cast", lambda x: relay.cast(x, out_dtype), made) if made.dtype != out_dtype else made


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return NCHWc images multiplied by a scale plus a shift for each channel, both of the shape (blocks,
    channels of a block)."""

    def formula(x: Any, scale: Any, shift: Any) -> Any:
        return relay.add(relay.multiply(x, relay.expand_dims(scale, 1, 2)), relay.expand_dims(shift, 1, 2))

    return operate("scale_shift", formula, Input, Scale, Shift)


__getattr__ = refusing(__name__)
