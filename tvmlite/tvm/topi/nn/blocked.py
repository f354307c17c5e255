"""Convolutions and products of data and weights in blocks of channels."""

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
    """``layout`` itself, if it is NCHW in blocks of channels."""
    if not re.fullmatch(r"NCHW(\d+c)?", str(layout)):
        raise arguments.refused(f"topi.nn.{name}: layout", layout, "NCHW16c or another block")
    return str(layout)


def _whole_kernel(name: str, kernel: Tensor) -> Tensor:
    """A kernel of (output blocks, input blocks, height, width, inputs, outputs of a block), where inputs may
    be in fours behind the outputs, as OIHW."""
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
    """A convolution of images whose channels are in blocks, as ``layout`` says (``"NCHW16c"``), by kernels
    in blocks of both; of fewer inputs than there are channels, in groups of so many."""
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
    """``conv2d_NCHWc`` of bytes; in the kernel ``n_elems`` inputs are together."""
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
    """Each channel of images whose channels are in blocks by kernels of its own."""
    plain = moved(Input, _block("depthwise_conv2d_NCHWc", layout), "NCHW")
    weight = _whole_kernel("depthwise_conv2d_NCHWc", Filter)
    groups = extent(plain.shape[1])
    made = group_conv2d_nchw(plain, weight, stride, padding, dilation, groups, out_dtype)
    return moved(made, "NCHW", _block("depthwise_conv2d_NCHWc", out_layout))


def dense_pack(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """Rows of ``data`` times rows of ``weight``, which may be packed: (blocks, columns, rows of a block)."""
    if weight.ndim != 3:
        return dense(data, weight, bias, out_dtype)
    blocks, columns, rows = map(extent, weight.shape)
    whole = operate(
        "nn.dense", lambda w: relay.reshape(relay.transpose(w, (0, 2, 1)), (blocks * rows, columns)), weight
    )
    return dense(data, whole, bias, out_dtype)


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:
    """Images whose channels are in blocks as NCHW."""
    block = extent(packed_out.shape[4])
    made = moved(packed_out, f"NCHW{block}c", "NCHW")
    return operate("cast", lambda x: relay.cast(x, out_dtype), made) if made.dtype != out_dtype else made


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Each channel of NCHWc images times its scale plus its shift: (blocks, channels of a block)."""

    def formula(x: Any, scale: Any, shift: Any) -> Any:
        return relay.add(relay.multiply(x, relay.expand_dims(scale, 1, 2)), relay.expand_dims(shift, 1, 2))

    return operate("scale_shift", formula, Input, Scale, Shift)


__getattr__ = refusing(__name__)
