"""Poolings whose windows follow from the data: of whole planes, and of planes cut into even regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import Dim, TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.conv import converted, sum_dtype
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers


def global_type(call: Call, data: TensorType) -> TensorType:
    """``(n, c, h, w)`` gives ``(n, c, 1, 1)``; blocks of channels stay behind it."""
    windows.check_data(call, data, "layout", 2)
    return TensorType((*data.shape[:2], 1, 1, *data.shape[4:]), data.dtype)


def global_max_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return data.max(axis=(2, 3), keepdims=True)


def global_avg_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return data.astype(sum_dtype(data.dtype.name)).mean(axis=(2, 3), keepdims=True).astype(data.dtype)


_GLOBAL_ATTRS = {"layout": "NCHW", "out_layout": ""}


@anchored(
    "nn.global_max_pool2d",
    rounding=Rounding.ONCE,
    infer=global_type,
    reference=global_max_numpy,
    attrs=_GLOBAL_ATTRS,
    schedule=anchors.PLANE_REDUCTION,
)
def global_max_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The greatest element of each plane."""
    rows, columns = te.reduce_axis(data.shape[2], "h"), te.reduce_axis(data.shape[3], "w")
    return te.compute(
        (*data.shape[:2], 1, 1, *data.shape[4:]),
        lambda n, c, _h, _w, *lane: reducers.max_reduce(data[(n, c, rows, columns, *lane)], [rows, columns]),
        name="global_max_pool",
        tag="reduce",
    )


@anchored(
    "nn.global_avg_pool2d",
    infer=global_type,
    reference=global_avg_numpy,
    attrs=_GLOBAL_ATTRS,
    schedule=anchors.PLANE_REDUCTION,
)
def global_avg_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The mean of each plane."""
    rows, columns = te.reduce_axis(data.shape[2], "h"), te.reduce_axis(data.shape[3], "w")
    work = sum_dtype(data.dtype)
    total = te.compute(
        (*data.shape[:2], 1, 1, *data.shape[4:]),
        lambda n, c, _h, _w, *lane: reducers.sum(
            data[(n, c, rows, columns, *lane)].astype(work), [rows, columns]
        ),
        name="plane_sum",
        tag="reduce",
    )
    count = e.cast(work, data.shape[2] * data.shape[3])
    mean = te.compute(total.shape, lambda *i: total[i] / count, name="global_avg_pool", tag="elemwise")
    return converted(mean, data.dtype)


def adaptive_type(call: Call, data: TensorType) -> TensorType:
    """``(n, c, h, w)`` gives ``(n, c, *output_size)``; no output_size leaves the plane as it is."""
    windows.check_layout(call, "layout", 2)
    windows.check_rank(call, "data", data, 4)
    size = _output_size(call, data)
    if len(size) != 2:
        raise TypeInferError(f"{call.op}: output_size is {call['output_size']}, expected 2 values", call.span)
    return TensorType((*data.shape[:2], *size), data.dtype)


def _output_size(call: Call, data: Any) -> tuple[Dim, ...]:
    size = call["output_size"]
    if size is None:
        return tuple(data.shape[2:])
    sizes = size if isinstance(size, tuple) else (size,)
    return sizes * 2 if len(sizes) == 1 else sizes


def _region(index: Any, size: Dim, cuts: Dim) -> tuple[Any, Any]:
    """Where region ``index`` of an axis cut into ``cuts`` begins and ends; neighbours may overlap."""
    return index * size // cuts, ((index + 1) * size + (cuts - 1)) // cuts


def _adaptive_stages(call: Call, data: te.Tensor, reducer: Callable[..., Any], dtype: str) -> te.Tensor:
    height, width = data.shape[2:]
    rows, columns = _output_size(call, data)
    down = te.reduce_axis(_longest(height, rows), "h")
    along = te.reduce_axis(_longest(width, columns), "w")

    def element(n: Any, c: Any, y: Any, x: Any) -> e.Expr:
        (top, bottom), (left, right) = _region(y, height, rows), _region(x, width, columns)
        inside = e.all_of([top + down < bottom, left + along < right])
        last_row, last_column = (
            e.Min(*e.match(top + down, height - 1)),
            e.Min(*e.match(left + along, width - 1)),
        )
        return reducer(data[n, c, last_row, last_column].astype(dtype), [down, along], where=inside)

    return te.compute((*data.shape[:2], rows, columns), element, name="regions", tag="reduce")


def _longest(size: Dim, cuts: Dim) -> Dim:
    """No region of ``size`` elements cut into ``cuts`` is longer than this."""
    if isinstance(size, int) and isinstance(cuts, int):
        return max(-(-(i + 1) * size // cuts) - i * size // cuts for i in range(cuts))
    return (size + (cuts - 1)) // cuts + 1


def adaptive_numpy(reduce: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Region by region."""

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        rows, columns = windows.known(_output_size(call, data))
        result = np.empty((*data.shape[:2], rows, columns), data.dtype)
        for y in range(rows):
            for x in range(columns):
                top, bottom = y * data.shape[2] // rows, -(-(y + 1) * data.shape[2] // rows)
                left, right = x * data.shape[3] // columns, -(-(x + 1) * data.shape[3] // columns)
                result[:, :, y, x] = reduce(data[:, :, top:bottom, left:right], axis=(2, 3))
        return result

    return reference


_ADAPTIVE_ATTRS = {"output_size": None, "layout": "NCHW", "out_layout": ""}


@anchored(
    "nn.adaptive_max_pool2d",
    rounding=Rounding.ONCE,
    infer=adaptive_type,
    reference=adaptive_numpy(np.max),
    attrs=_ADAPTIVE_ATTRS,
    schedule=anchors.PLANE_REDUCTION,
    open_attrs=("output_size",),
)
def adaptive_max_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The greatest element of each region."""
    return _adaptive_stages(call, data, reducers.max_reduce, data.dtype)


@anchored(
    "nn.adaptive_avg_pool2d",
    infer=adaptive_type,
    reference=adaptive_numpy(np.mean),
    attrs=_ADAPTIVE_ATTRS,
    schedule=anchors.PLANE_REDUCTION,
    open_attrs=("output_size",),
)
def adaptive_avg_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The mean of each region."""
    work = sum_dtype(data.dtype) if dtypes.is_float(data.dtype) else "float32"
    total = _adaptive_stages(call, data, reducers.sum, work)
    height, width = data.shape[2:]
    rows, columns = _output_size(call, data)

    def mean(n: Any, c: Any, y: Any, x: Any) -> e.Expr:
        (top, bottom), (left, right) = _region(y, height, rows), _region(x, width, columns)
        return total[n, c, y, x] / ((bottom - top) * (right - left)).astype(work)

    result = te.compute(total.shape, mean, name="adaptive_avg_pool", tag="elemwise")
    return converted(result, data.dtype)
