"""Poolings: the maximum or the mean of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, Rounding, operator
from tvmlite.relay.ir.types import Shape, TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.convolutions.conv import converted
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers


def pool_attrs(rank: int, mean: bool) -> dict[str, Any]:
    """The attributes of a pooling with their defaults, as in TVM, plus ``starts_inside``."""
    attrs: dict[str, Any] = {
        "pool_size": (1,) * rank,
        "strides": (1,) * rank,
        "dilation": (1,) * rank,
        "padding": (0,) * (2 * rank),
        "layout": windows.LAYOUTS[rank],
        "out_layout": "",
        "ceil_mode": False,
    }
    return {**attrs, **({"count_include_pad": False} if mean else {}), "starts_inside": False}


def pool_type(rank: int) -> Callable[..., TensorType]:
    """The type relation of poolings over ``rank`` spatial axes."""

    def infer(call: Call, data: TensorType) -> TensorType:
        windows.check_data(call, data, "layout", rank)
        shape = pooled_extents(call, data.shape[2 : 2 + rank], rank)
        windows.check_extents(call, shape, data)
        return TensorType((*data.shape[:2], *shape, *data.shape[2 + rank :]), data.dtype)

    return infer


def pooled_extents(call: Call, sizes: Shape, rank: int) -> Shape:
    """The spatial extents of a pooling's output."""
    geometry = windows.geometry(call, "pool_size", rank)
    return geometry.extents(sizes, call["ceil_mode"], call["starts_inside"])


def _end_padding(call: Call, sizes: Shape, shape: Shape, geometry: windows.Geometry) -> tuple[int, ...]:
    """The padding after the data that covers every window, including those beyond the end in ceil mode."""
    if not call["ceil_mode"]:
        return geometry.ends
    more = []
    for size, n, s, b, f in zip(
        sizes, geometry.covered_extents(shape), geometry.strides, geometry.begins, geometry.ends, strict=True
    ):
        reach = n - b - size
        more.append(max(f, reach) if isinstance(reach, int) else f + s - 1)
    return tuple(more)


def _windows_of(
    call: Call, data: te.Tensor, fill: float | int | e.Expr, rank: int
) -> tuple[Shape, list[te.IterVar], Callable[..., e.Expr]]:
    """Return the pooled shape, the reduce axes, and a function that reads the padded data.

    Its indices are n, c, the window's, and the lane if the layout has blocks of channels.
    """
    geometry = windows.geometry(call, "pool_size", rank)
    sizes, lanes = data.shape[2 : 2 + rank], data.shape[2 + rank :]
    shape = pooled_extents(call, sizes, rank)
    more = _end_padding(call, sizes, shape, geometry)
    source = windows.padded(data, geometry.begins, more, fill, trailing=len(lanes))
    axes = [te.reduce_axis(k, name=f"k{n}") for n, k in enumerate(geometry.kernel)]

    def read(n: Any, c: Any, *at: Any) -> e.Expr:
        return source[(n, c, *geometry.positions(at[:rank], axes), *at[rank:])]

    return (*data.shape[:2], *shape, *lanes), axes, read


def _tag(call: Call, rank: int) -> str:
    return "pool_blocked" if windows.channel_block(call, "layout", rank) else "pool"


def max_pool_compute(rank: int) -> Callable[..., te.Tensor]:
    """Return the tensor expression of max pools: the greatest element of each window.

    Padding is the least finite number, as is a window of only padding, as in TVM and ONNX Runtime.
    """

    def compute(call: Call, data: te.Tensor) -> te.Tensor:
        shape, axes, read = _windows_of(call, data, dtypes.limits(data.dtype)[0], rank)
        return te.compute(
            shape,
            lambda n, c, *at: reducers.max_reduce(read(n, c, *at), axes),
            name="max_pool",
            tag=_tag(call, rank),
        )

    return compute


def avg_pool_compute(rank: int) -> Callable[..., te.Tensor]:
    """Return the tensor expression of average pools: the mean of each window, with or without padding."""

    def compute(call: Call, data: te.Tensor) -> te.Tensor:
        work = _mean_dtype(data.dtype)
        shape, axes, read = _windows_of(call, data, 0, rank)
        total = te.compute(
            shape,
            lambda n, c, *at: reducers.sum(read(n, c, *at).astype(work), axes),
            name="window_sum",
            tag=_tag(call, rank),
        )
        mean = te.compute(
            total.shape,
            lambda n, c, *at: mean_of(
                total[(n, c, *at)], _divisor(call, data.shape[2 : 2 + rank], at[:rank], rank)
            ),
            name="avg_pool",
            tag="elemwise",
        )
        return converted(mean, data.dtype)

    return compute


def _mean_dtype(dtype: str) -> str:
    """The dtype in which a mean is summed and divided."""
    if dtypes.is_float(dtype):
        return "float32" if dtypes.bits(dtype) == 16 else dtype
    return dtype if dtypes.bits(dtype) >= 32 else "int32"


def mean_of(total: e.Expr, count: Any) -> e.Expr:
    """The mean of ``count`` elements with the sum ``total``, rounded towards 0 for integers."""
    divisor = e.cast(total.dtype, count)
    return total / divisor if dtypes.is_float(total.dtype) else e.TruncDiv(total, divisor)


def _divisor(call: Call, sizes: Shape, at: tuple[Any, ...], rank: int) -> Any:
    """The divisor of the mean of the window at ``at``: its elements inside the data, or the padded data."""
    geometry = windows.geometry(call, "pool_size", rank)
    whole, axes = (
        call["count_include_pad"],
        zip(geometry.kernel, geometry.strides, geometry.dilation, strict=True),
    )
    count: Any = 1
    for size, y, (k, s, d), b, f in zip(sizes, at, axes, geometry.begins, geometry.ends, strict=True):
        if not call["ceil_mode"] and (whole or b == f == 0):
            count = count * k
            continue
        start = y * s - b
        low, high = (-b, size + f) if whole else (0, size)
        first = e.Max(*e.match((low - start + (d - 1)) // d, 0))
        last = e.Min(*e.match((high - 1 - start) // d, k - 1))
        count = count * e.Max(*e.match(last - first + 1, 1))
    return count


def pool_numpy(rank: int, mean: bool) -> Callable[..., np.ndarray]:
    """Return the reference of poolings: all windows at once, one kernel position at a time."""

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        sizes, trailing = data.shape[2 : 2 + rank], data.ndim - 2 - rank
        geometry, shape = (
            windows.geometry(call, "pool_size", rank),
            windows.as_ints(pooled_extents(call, sizes, rank)),
        )
        more = _end_padding(call, sizes, tuple(shape), geometry)
        work = np.dtype(_mean_dtype(data.dtype.name)) if mean else data.dtype
        fill = 0 if mean else dtypes.limits(data.dtype.name)[0]
        source = windows.padded_numpy(data.astype(work), geometry.begins, more, fill, trailing)
        counted = np.zeros(source.shape[2 : 2 + rank], np.int64)
        inside = zip(geometry.begins, sizes, geometry.ends, strict=True)
        if mean and call["count_include_pad"]:
            counted[tuple(slice(0, b + n + f) for b, n, f in inside)] = 1
        else:
            counted[tuple(slice(b, b + n) for b, n, _ in inside)] = 1
        result, count = None, np.zeros(shape, np.int64)
        for _, position in geometry.taps():
            view = windows.strided_windows(source, position, shape, geometry.strides, trailing)
            count += windows.strided_windows(counted, position, shape, geometry.strides)
            if result is None:
                result = view.copy()
            else:
                result = result + view if mean else np.maximum(result, view)
        assert result is not None
        if mean:
            result = _mean_numpy(result, np.maximum(count, 1).reshape((*shape, *(1,) * trailing)))
        return result.astype(data.dtype)

    return reference


def _mean_numpy(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    if total.dtype.kind == "f":
        return total / count.astype(total.dtype)
    return np.trunc(total / count).astype(total.dtype)


_POOLING = """The {} of each window along {} axes, channels first.

``strides``, ``dilation`` and ``padding`` are as in a convolution. In ``ceil_mode`` the last window may exceed
the end. With ``starts_inside`` no window begins in the padding at the end, as in PyTorch and ONNX.
"""

for _rank in (1, 2, 3):
    operator(
        f"nn.max_pool{_rank}d",
        infer=pool_type(_rank),
        reference=pool_numpy(_rank, mean=False),
        fuse=Fuse.OUT_ELEMWISE_FUSABLE,
        attrs=pool_attrs(_rank, mean=False),
        schedule=anchors.POOL,
        doc=_POOLING.format("greatest element", _rank),
        rounding=Rounding.NEVER,
        open_attrs=("pool_size",),
    )(max_pool_compute(_rank))
    operator(
        f"nn.avg_pool{_rank}d",
        infer=pool_type(_rank),
        reference=pool_numpy(_rank, mean=True),
        fuse=Fuse.OUT_ELEMWISE_FUSABLE,
        attrs=pool_attrs(_rank, mean=True),
        schedule=anchors.POOL,
        doc=_POOLING.format("mean", _rank) + "``count_include_pad`` counts padding as elements of value 0.\n",
        open_attrs=("pool_size",),
        homogeneous=True,
    )(avg_pool_compute(_rank))
