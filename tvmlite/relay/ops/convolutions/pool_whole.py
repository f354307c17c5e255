"""Global and adaptive poolings of two spatial axes: of whole planes, and of planes cut into even regions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import Dim, TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.convolutions.conv import converted, sum_dtype
from tvmlite.relay.ops.convolutions.pool import mean_of
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers


def global_type(call: Call, data: TensorType) -> TensorType:
    """The type relation: ``(n, c, h, w)`` gives ``(n, c, 1, 1)``; a block of channels stays last."""
    windows.check_data(call, data, "layout", 2)
    return TensorType((*data.shape[:2], 1, 1, *data.shape[4:]), data.dtype)


_global_pool = partial(
    anchored, infer=global_type, attrs={"layout": "NCHW", "out_layout": ""}, schedule=anchors.PLANE_REDUCTION
)


def _planes(data: te.Tensor, reducer: Callable[..., Any], name: str) -> te.Tensor:
    """Apply ``reducer`` to each plane; a sum is computed in ``sum_dtype`` of the data's dtype."""
    rows, columns = te.reduce_axis(data.shape[2], "h"), te.reduce_axis(data.shape[3], "w")
    work = data.dtype if reducer is reducers.max_reduce else sum_dtype(data.dtype)

    def element(n: Any, c: Any, _h: Any, _w: Any, *lane: Any) -> e.Expr:
        return reducer(data[(n, c, rows, columns, *lane)].astype(work), [rows, columns])

    return te.compute((*data.shape[:2], 1, 1, *data.shape[4:]), element, name=name, tag="reduce")


def global_max_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    """The reference of ``nn.global_max_pool2d``; data may end in a block of channels."""
    return data.max(axis=(2, 3), keepdims=True)


@_global_pool("nn.global_max_pool2d", reference=global_max_numpy, rounding=Rounding.NEVER)
def global_max_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The greatest element of each plane: ``(n, c, h, w)`` to ``(n, c, 1, 1)``."""
    return _planes(data, reducers.max_reduce, "global_max_pool")


def global_avg_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    """The reference of ``nn.global_avg_pool2d``, summed in ``sum_dtype``."""
    return data.astype(sum_dtype(data.dtype.name)).mean(axis=(2, 3), keepdims=True).astype(data.dtype)


@_global_pool("nn.global_avg_pool2d", reference=global_avg_numpy, homogeneous=True)
def global_avg_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The mean of each plane: ``(n, c, h, w)`` to ``(n, c, 1, 1)``."""
    total = _planes(data, reducers.sum, "plane_sum")
    count = data.shape[2] * data.shape[3]
    mean = te.compute(
        total.shape, lambda *i: mean_of(total[i], count), name="global_avg_pool", tag="elemwise"
    )
    return converted(mean, data.dtype)


def adaptive_type(call: Call, data: TensorType) -> TensorType:
    """The type relation: ``(n, c, h, w)`` gives ``(n, c, *output_size)``, by default itself."""
    windows.check_layout(call, "layout", 2)
    windows.check_rank(call, "data", data, 4)
    size = _output_size(call, data)
    if len(size) != 2:
        raise fault(call, f"output_size is {call['output_size']}, expected 2 values")
    return TensorType((*data.shape[:2], *size), data.dtype)


def _output_size(call: Call, data: Any) -> tuple[Dim, ...]:
    size = call["output_size"]
    if size is None:
        return tuple(data.shape[2:])
    sizes = size if isinstance(size, tuple) else (size,)
    return sizes * 2 if len(sizes) == 1 else sizes


def _region(index: Any, size: Dim, count: Dim) -> tuple[Any, Any]:
    """Where region ``index`` of an axis cut into ``count`` regions begins and ends; regions may overlap."""
    return index * size // count, ((index + 1) * size + (count - 1)) // count


def _adaptive_stages(call: Call, data: te.Tensor, reducer: Callable[..., Any], dtype: str) -> te.Tensor:
    height, width = data.shape[2:]
    rows, columns = _output_size(call, data)
    down = te.reduce_axis(_max_region_extent(height, rows), "h")
    along = te.reduce_axis(_max_region_extent(width, columns), "w")

    def element(n: Any, c: Any, y: Any, x: Any) -> e.Expr:
        (top, bottom), (left, right) = _region(y, height, rows), _region(x, width, columns)
        inside = e.all_of([top + down < bottom, left + along < right])
        last_row = e.Min(*e.match(top + down, height - 1))
        last_column = e.Min(*e.match(left + along, width - 1))
        return reducer(data[n, c, last_row, last_column].astype(dtype), [down, along], where=inside)

    return te.compute((*data.shape[:2], rows, columns), element, name="regions", tag="reduce")


def _max_region_extent(size: Dim, count: Dim) -> Dim:
    """The longest of ``count`` regions of ``size`` elements; an upper bound if one is unknown."""
    if isinstance(size, int) and isinstance(count, int):
        return max(-(-(i + 1) * size // count) - i * size // count for i in range(count))
    return (size + (count - 1)) // count + 1


def adaptive_numpy(reduce: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the reference: ``reduce`` of each region, one after the other."""

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        rows, columns = windows.as_ints(_output_size(call, data))
        result = np.empty((*data.shape[:2], rows, columns), data.dtype)
        for y in range(rows):
            for x in range(columns):
                top, bottom = y * data.shape[2] // rows, -(-(y + 1) * data.shape[2] // rows)
                left, right = x * data.shape[3] // columns, -(-(x + 1) * data.shape[3] // columns)
                result[:, :, y, x] = reduce(data[:, :, top:bottom, left:right], axis=(2, 3))
        return result

    return reference


_adaptive = partial(
    anchored,
    infer=adaptive_type,
    attrs={"output_size": None, "layout": "NCHW", "out_layout": ""},
    schedule=anchors.PLANE_REDUCTION,
    open_attrs=("output_size",),
)


@_adaptive("nn.adaptive_max_pool2d", reference=adaptive_numpy(np.max), rounding=Rounding.NEVER)
def adaptive_max_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The greatest element of each of ``output_size`` regions of each plane; neighbours may overlap."""
    return _adaptive_stages(call, data, reducers.max_reduce, data.dtype)


@_adaptive("nn.adaptive_avg_pool2d", reference=adaptive_numpy(np.mean), homogeneous=True)
def adaptive_avg_pool2d(call: Call, data: te.Tensor) -> te.Tensor:
    """The mean of each of ``output_size`` regions of each plane; neighbours may overlap."""
    work = sum_dtype(data.dtype) if dtypes.is_float(data.dtype) else "float32"
    total = _adaptive_stages(call, data, reducers.sum, work)
    height, width = data.shape[2:]
    rows, columns = _output_size(call, data)

    def mean(n: Any, c: Any, y: Any, x: Any) -> e.Expr:
        (top, bottom), (left, right) = _region(y, height, rows), _region(x, width, columns)
        return mean_of(total[n, c, y, x], (bottom - top) * (right - left))

    result = te.compute(total.shape, mean, name="adaptive_avg_pool", tag="elemwise")
    return converted(result, data.dtype)
