"""Pooling layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import relay
from tvmlite.core.dtype import numpy_of
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.layers import pad
from tvmlite.tvm.topi.nn.padding import each, moved
from tvmlite.tvm.topi.operate import operate


def _pool(
    count: int,
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
) -> Tensor:
    make = getattr(relay.nn, f"{_kind(pool_type)}_pool{count}d")
    first = f"NC{'DHW'[3 - count :]}" if count > 1 else "NCW"
    around = each(padding, 2 * count)
    given = moved(data, layout, first)
    if pool_type == "max" and "float" in data.dtype and (ceil_mode or any(around)):
        # As in TVM, padding is the lowest finite number, which is the maximum of a window of padding only.
        tail = each(stride, count) if ceil_mode else (1,) * count
        behind = (n + step - 1 for n, step in zip(around[count:], tail, strict=True))
        least = float(np.finfo(numpy_of(data.dtype)).min)
        given = pad(given, (0, 0, *around[:count]), (0, 0, *behind), least)
        around, ceil_mode = (0,) * 2 * count, False
    options: dict[str, Any] = {
        "pool_size": each(kernel, count),
        "strides": each(stride, count),
        "dilation": each(dilation, count),
        "padding": around,
        "layout": first,
        "ceil_mode": ceil_mode,
    }
    if pool_type == "avg":
        options["count_include_pad"] = count_include_pad
    made = operate(f"nn.pool{count}d", lambda x: make(x, **options), given)
    return moved(made, first, layout)


def _kind(pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise TensorExpressionError(
            f"topi: pool_type is {pool_type!r}, expected max or avg", Span.of_caller()
        )
    return pool_type


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the maximum or average of each window of sequences."""
    options = (pool_type, ceil_mode, layout, count_include_pad)
    return _pool(1, data, kernel, stride, dilation, padding, *options)


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the maximum or average of each window of images."""
    options = (pool_type, ceil_mode, layout, count_include_pad)
    return _pool(2, data, kernel, stride, dilation, padding, *options)


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the maximum or average of each window of volumes."""
    options = (pool_type, ceil_mode, layout, count_include_pad)
    return _pool(3, data, kernel, stride, dilation, padding, *options)


def pool(
    data: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """``pool2d`` without dilation, under its older name."""
    return pool2d(data, kernel, stride, 1, padding, pool_type, ceil_mode, layout, count_include_pad)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the maximum or average of each channel of whole images."""
    make = getattr(relay.nn, f"global_{_kind(pool_type)}_pool2d")
    return moved(operate("nn.global_pool", make, moved(data, layout, "NCHW")), "NCHW", layout)


def _adaptive(count: int, data: Tensor, output_size: Any, pool_type: str, layout: str) -> Tensor:
    make = getattr(relay.nn, f"adaptive_{_kind(pool_type)}_pool{count}d")
    size, first = each(output_size, count), f"NC{'DHW'[3 - count :]}" if count > 1 else "NCW"
    made = operate("nn.adaptive_pool", lambda x: make(x, size), moved(data, layout, first))
    return moved(made, first, layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the maximum or average of windows of images that are chosen so that the result has the size
    ``output_size``."""
    return _adaptive(2, data, output_size, pool_type, layout)


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """``adaptive_pool`` of sequences."""
    return _adaptive(1, data, output_size, pool_type, layout)


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:
    """``adaptive_pool`` of volumes."""
    return _adaptive(3, data, output_size, pool_type, layout)


__getattr__ = refusing(__name__)
