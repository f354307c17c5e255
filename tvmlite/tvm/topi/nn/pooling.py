"""Pooling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite import relay
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
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
    first = f"NC{'DHW'[3 - count :]}"
    options: dict[str, Any] = {
        "pool_size": each(kernel, count),
        "strides": each(stride, count),
        "dilation": each(dilation, count),
        "padding": each(padding, 2 * count),
        "layout": first,
        "ceil_mode": ceil_mode,
    }
    if pool_type == "avg":
        options["count_include_pad"] = count_include_pad
    ours = moved(data, layout, first)
    if ceil_mode and (beyond := _windows_beyond(ours.shape[2:], options)):
        if pool_type == "avg" and count_include_pad:
            raise UnsupportedError(
                f"topi.nn.pool{count}d: with ceil_mode a window begins in the padding at the end, and "
                "count_include_pad counts it",
                Span.of_caller(),
                hint="give the padding at the end in full, and ceil_mode=False",
            )
        before, after = options["padding"][:count], options["padding"][count:]
        options["padding"] = (*before, *(one + more for one, more in zip(after, beyond, strict=True)))
        options["ceil_mode"] = False
    made = operate(f"nn.pool{count}d", lambda x: make(x, **options), ours)
    return moved(made, first, layout)


def _windows_beyond(shape: Any, options: Mapping[str, Any]) -> list[int]:
    """The padding at the ends that TVM's ``ceil_mode`` adds, if a window would begin behind the data: there
    relay's, as ONNX's, has none. Empty otherwise."""
    count = len(shape)
    found, behind = [], False
    for axis, extent in enumerate(shape):
        if not isinstance(extent, int):
            return []
        before, after = options["padding"][axis], options["padding"][count + axis]
        reach = (options["pool_size"][axis] - 1) * options["dilation"][axis] + 1
        step = options["strides"][axis]
        found.append(-(extent + before + after - reach) % step)
        last = extent + before + after + found[-1] - reach
        behind = behind or last >= extent + before
    return found if behind else []


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
    """The maximum or average of windows of sequences."""
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
    """The maximum or average of windows of images."""
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
    """The maximum or average of windows of volumes."""
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
    """``pool2d`` of undilated windows, as older programs call it."""
    return pool2d(data, kernel, stride, 1, padding, pool_type, ceil_mode, layout, count_include_pad)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The maximum or average of whole images."""
    make = getattr(relay.nn, f"global_{_kind(pool_type)}_pool2d")
    return moved(operate("nn.global_pool", make, moved(data, layout, "NCHW")), "NCHW", layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The maximum or average of as many windows as ``output_size`` has elements."""
    make = getattr(relay.nn, f"adaptive_{_kind(pool_type)}_pool2d")
    size = each(output_size, 2)
    made = operate("nn.adaptive_pool", lambda x: make(x, size), moved(data, layout, "NCHW"))
    return moved(made, "NCHW", layout)


__getattr__ = refusing(__name__)
