"""``vision.roi_pool``: the maximum of bins of regions of images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import loops, windows
from tvmlite.relay.ops.common import FLOAT, clamp, expect, expect_extent, one_dtype
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _regions_type(call: Call, data: TensorType, rois: TensorType) -> TensorType:
    windows.check_layout(call, "layout", 2)
    windows.check_rank(call, "data", data, 4)
    windows.check_rank(call, "rois", rois, 2)
    expect(call, "data is", one_dtype(call, data, rois), FLOAT)
    expect_extent(call, "the second axis of rois", rois.shape[1], 5)
    return TensorType(
        (rois.shape[0], data.shape[1], *windows.spatial_attr(call, "pooled_size", 2)), data.dtype
    )


def _half_up(value: float) -> int:
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def _regions_numpy(call: Call, data: np.ndarray, rois: np.ndarray) -> np.ndarray:
    pooled, sizes = windows.spatial_attr(call, "pooled_size", 2), data.shape[2:]
    result = np.zeros((len(rois), data.shape[1], *pooled), data.dtype)
    for r, (batch, *corners) in enumerate(rois):
        x0, y0, x1, y1 = (_half_up(float(c * data.dtype.type(call["spatial_scale"]))) for c in corners)
        for at in np.ndindex(*pooled):
            part = []
            for i, low, high, cuts, size in zip(at, (y0, x0), (y1, x1), pooled, sizes, strict=True):
                step = np.float32(max(high - low + 1, 1)) / np.float32(cuts)
                first, last = math.floor(np.float32(i) * step), math.ceil(np.float32(i + 1) * step)
                part.append(slice(*(min(max(p + low, 0), size) for p in (first, last))))
            region = data[int(batch), :, part[0], part[1]]
            if region.size:
                result[(r, slice(None), *at)] = region.max(axis=(1, 2))
    return result


@statement(
    "vision.roi_pool",
    infer=_regions_type,
    reference=_regions_numpy,
    attrs={"pooled_size": REQUIRED, "spatial_scale": REQUIRED, "layout": "NCHW"},
)
def roi_pool(call: Call, data: Tensor, rois: Tensor) -> Tensor:
    """The greatest pixel of each of ``pooled_size`` bins of each region ``(batch, x0, y0, x1, y1)``.

    Regions are scaled by ``spatial_scale`` and rounded to pixels. An empty bin gives 0.
    """
    pooled = windows.spatial_attr(call, "pooled_size", 2)
    shape = (rois.shape[0], data.shape[1], *pooled)
    batches, _, *sizes = data.shape

    def body(read: loop.Buffer, regions: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def one(r: e.Expr, c: e.Expr, *at: e.Expr) -> loop.Stmt:
            best, empty = loops.Cell("best", data.dtype), loops.Cell("empty", "bool")
            batch = clamp(e.cast(loops.INT, loops.load(regions, r, 0)), loops.index(batches))
            parts = [
                _bin(call, regions, r, axis, at[axis], pooled[axis], sizes[axis], data.dtype)
                for axis in (0, 1)
            ]

            def pixel(y: e.Expr, x: e.Expr) -> loop.Stmt:
                value = loops.load(read, batch, c, y, x)
                higher = e.Select(empty.value, value, e.Max(best.value, value))
                return loop.sequence(best.set(higher), empty.set(False))

            (top, height), (left, width) = parts
            rows = loops.over(
                height, lambda y: loops.over(width, lambda x: pixel(y, x), "x", start=left), "y", start=top
            )
            start = best.set(e.const(0, data.dtype)), empty.set(True)
            return loops.allocated(
                loop.sequence(*start, rows, loops.store(out, (r, c, *at), best.value)), best, empty
            )

        return loops.nest(shape, one, parallel=True)

    return loops.extern("roi_pool", [data, rois], [(shape, data.dtype)], body)[0]


def _bin(
    call: Call, regions: loop.Buffer, r: e.Expr, axis: int, at: e.Expr, count: int, size: Any, dtype: str
) -> tuple[e.Expr, e.Expr]:
    """Return where a bin begins along ``axis`` (rows first), and its number of pixels."""

    def corner(part: int) -> e.Expr:
        place = loops.load(regions, r, part) * e.const(float(call["spatial_scale"]), dtype)
        up = e.Call("floor", (place + 0.5,), dtype)
        down = e.Call("ceil", (place - 0.5,), dtype)
        return e.cast(loops.INT, e.Select(place >= e.const(0, dtype), up, down))

    low, high = corner(2 - axis), corner(4 - axis)
    step = e.cast("float32", e.Max(*e.match(high - low + 1, 1))) / e.const(float(count), "float32")
    first = e.Call("floor", (e.cast("float32", at) * step,), "float32")
    last = e.Call("ceil", (e.cast("float32", at + 1) * step,), "float32")
    extent = loops.index(size)

    def clamped(place: e.Expr) -> e.Expr:
        return e.Min(*e.match(e.Max(*e.match(e.cast(loops.INT, place) + low, 0)), extent))

    begin, end = clamped(first), clamped(last)
    return begin, e.Max(*e.match(end - begin, 0))
