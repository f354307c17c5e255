"""Transposed convolutions."""

from __future__ import annotations

from typing import Any

from tvmlite import relay
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import each, extent, sides
from tvmlite.tvm.topi.operate import operate


def _transposed(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any,
    groups: int = 1,
) -> Tensor:
    count = kernel.ndim - 2
    name = f"nn.conv{count}d_transpose"
    size = tuple(map(extent, kernel.shape[2:]))
    steps = each(strides, count)
    around = sides(name, padding, size, (1,) * count)
    make = getattr(relay.nn, f"conv{count}d_transpose")
    return operate(
        name,
        lambda x, w: make(
            x,
            w,
            strides=steps,
            padding=around,
            groups=groups,
            channels=extent(kernel.shape[1]) * groups,
            kernel_size=size,
            output_padding=each(output_padding, count),
            out_dtype=out_dtype or "",
        ),
        data,
        kernel,
    )


def conv1d_transpose_ncw(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, out_dtype: str | None, output_padding: Any
) -> Tensor:
    """Return the transposed convolution of NCW sequences with IOW kernels."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding)


def group_conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Return the transposed convolution of NCW sequences in ``groups`` groups of channels."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, groups)


def conv2d_transpose_nchw(
    Input: Tensor, Filter: Tensor, strides: Any, padding: Any, out_dtype: str | None, output_padding: Any
) -> Tensor:
    """Return the transposed convolution of NCHW images with IOHW kernels."""
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)


def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Return the transposed convolution of NCHW images in ``groups`` groups of channels."""
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, groups)


def conv3d_transpose_ncdhw(
    Input: Tensor, Filter: Tensor, strides: Any, padding: Any, out_dtype: str | None, output_padding: Any
) -> Tensor:
    """Return the transposed convolution of NCDHW volumes with IODHW kernels."""
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding)


def group_conv3d_transpose_ncdhw(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Return the transposed convolution of NCDHW volumes in ``groups`` groups of channels."""
    return _transposed(data, kernel, strides, padding, out_dtype, output_padding, groups)


__getattr__ = refusing(__name__)
