"""``vision.roi_align``: regions of images pooled to one size from interpolated samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, choice
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import loops, windows
from tvmlite.relay.ops.common import FLOAT, clamp, expect, expect_extent, one_dtype
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _infer(call: Call, data: TensorType, rois: TensorType) -> TensorType:
    windows.check_rank(call, "data", data, 4)
    windows.check_layout(call, "layout", 2)
    windows.check_rank(call, "rois", rois, 2)
    expect_extent(call, "the extent of a region", rois.shape[1], 5)
    dtype = one_dtype(call, data, rois)
    expect(call, "data is", dtype, FLOAT)
    return TensorType((rois.shape[0], data.shape[1], *windows.spatial_attr(call, "pooled_size", 2)), dtype)


# --- in numpy, sample by sample ---------------------------------------------------------------------


def _numpy(call: Call, data: np.ndarray, rois: np.ndarray) -> np.ndarray:
    pooled = windows.spatial_attr(call, "pooled_size", 2)
    work = np.float64 if data.dtype == np.float64 else np.float32
    source = data.astype(work)
    result = np.zeros((len(rois), data.shape[1], *pooled), work)
    for r, (batch, *corners) in enumerate(rois.astype(work)):
        plane = source[int(np.clip(batch, 0, len(data) - 1))]
        shift = work(0.5 if call["aligned"] else 0)
        x0, y0, x1, y1 = (c * work(call["spatial_scale"]) - shift for c in corners)
        sizes = [y1 - y0, x1 - x0]
        if not call["aligned"]:
            sizes = [max(s, work(1)) for s in sizes]
        steps = [s / work(p) for s, p in zip(sizes, pooled, strict=True)]
        counts = [call["sample_ratio"] if call["sample_ratio"] > 0 else math.ceil(s) for s in steps]
        for py, px in np.ndindex(*pooled):
            corner = (y0 + py * steps[0], x0 + px * steps[1])
            result[r, :, py, px] = _bin_numpy(call, plane, corner, steps, counts)
    return result.astype(data.dtype)


def _bin_numpy(
    call: Call, plane: np.ndarray, corner: Sequence[Any], steps: Sequence[Any], counts: Sequence[int]
) -> np.ndarray:
    total: np.ndarray | None = None
    for iy, ix in np.ndindex(*(max(n, 0) for n in counts)):
        at = [c + (i + 0.5) * s / n for c, i, s, n in zip(corner, (iy, ix), steps, counts, strict=True)]
        parts = _corners_numpy(plane, at)
        value = np.max(parts, axis=0) if call["mode"] == "weighted_max" else np.sum(parts, axis=0)
        if total is None:
            total = value
        else:
            total = total + value if call["mode"] == "avg" else np.maximum(total, value)
    if total is None:
        return np.zeros(plane.shape[0], plane.dtype)
    return total / max(counts[0] * counts[1], 1) if call["mode"] == "avg" else total


def _corners_numpy(plane: np.ndarray, at: Sequence[Any]) -> list[np.ndarray]:
    """The four pixels around a point, each times its weight; zeros if it is over one pixel outside."""
    sizes = plane.shape[1:]
    if not all(-1 <= p <= n for p, n in zip(at, sizes, strict=True)):
        return [np.zeros(plane.shape[0], plane.dtype)] * 4
    taps = []
    for p, n in zip(at, sizes, strict=True):
        p = min(max(p, 0), n - 1)
        low = int(p)
        taps.append(((low, 1 - (p - low)), (min(low + 1, n - 1), p - low)))
    return [plane[:, y, x] * plane.dtype.type(wy * wx) for y, wy in taps[0] for x, wx in taps[1]]


# --- in loops ---------------------------------------------------------------------------------------


@statement(
    "vision.roi_align",
    infer=_infer,
    reference=_numpy,
    attrs={
        "pooled_size": REQUIRED,
        "spatial_scale": REQUIRED,
        "sample_ratio": -1,
        "layout": "NCHW",
        "mode": choice("avg", "max", "weighted_max"),
        "aligned": False,
    },
)
def roi_align(call: Call, data: Tensor, rois: Tensor) -> Tensor:
    """Pool each region ``(batch, x0, y0, x1, y1)`` to ``pooled_size`` bins of interpolated samples.

    A bin has ``sample_ratio`` samples per axis, or one per pixel if that is not positive. ``aligned`` shifts
    by half a pixel (TVM 0.11's function has no such option). Mode ``avg`` takes the mean of the samples,
    ``max`` the greatest sample, and ``weighted_max`` the greatest of all samples' pixels times their weights,
    as ONNX Runtime does.
    """
    pooled = windows.spatial_attr(call, "pooled_size", 2)
    shape = (rois.shape[0], data.shape[1], *pooled)

    def body(read: loop.Buffer, regions: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def one(r: e.Expr, c: e.Expr, py: e.Expr, px: e.Expr) -> loop.Stmt:
            return _Bin(call, data, read, regions, out).statement(r, c, py, px)

        return loops.nest(shape, one, parallel=True)

    return loops.extern("roi_align", [data, rois], [(shape, data.dtype)], body)[0]


class _Bin:
    """The loops that compute one element of the result."""

    def __init__(
        self, call: Call, data: Tensor, read: loop.Buffer, regions: loop.Buffer, out: loop.Buffer
    ) -> None:
        self.call, self.read, self.regions, self.out = call, read, regions, out
        self.work = "float64" if data.dtype == "float64" else "float32"
        self.batches, _, *self.sizes = data.shape
        self.total = loops.Cell("total", self.work)
        self.has_samples = loops.Cell("taken")

    def number(self, value: float) -> e.Expr:
        return e.const(float(value), self.work)

    def statement(self, r: e.Expr, c: e.Expr, py: e.Expr, px: e.Expr) -> loop.Stmt:
        """Compute and store ``out[r, c, py, px]``."""
        batch = clamp(e.cast(loops.INT, loops.load(self.regions, r, 0)), loops.index(self.batches))
        steps = [self._step(r, axis) for axis in (0, 1)]
        fixed = self.call["sample_ratio"]
        counts = [
            loops.index(fixed) if fixed > 0 else e.cast(loops.INT, e.Call("ceil", (s,), self.work))
            for s in steps
        ]

        def sample(iy: e.Expr, ix: e.Expr) -> loop.Stmt:
            at = [
                self._corner(r, 2 - axis) + e.cast(self.work, p) * s
                + (e.cast(self.work, i) + 0.5) * s / e.cast(self.work, n)
                for axis, p, s, i, n in zip((0, 1), (py, px), steps, (iy, ix), counts, strict=True)
            ]  # fmt: skip
            return self._sample(batch, c, at)

        many = e.Max(*e.match(counts[0] * counts[1], 1))
        value = self.total.value
        if self.call["mode"] == "avg":
            value = value / e.cast(self.work, many)
        rows = [e.Max(*e.match(n, 0)) for n in counts]
        steps_of = loops.over(rows[0], lambda iy: loops.over(rows[1], lambda ix: sample(iy, ix), "ix"), "iy")
        return loops.allocated(
            loop.sequence(
                self.total.set(self.number(0)),
                self.has_samples.set(e.const(0, loops.INT)),
                steps_of,
                loops.store(self.out, (r, c, py, px), value),
            ),
            self.total,
            self.has_samples,
        )

    def _corner(self, r: e.Expr, part: int) -> e.Expr:
        shift = 0.5 if self.call["aligned"] else 0.0
        place = e.cast(self.work, loops.load(self.regions, r, part))
        return place * self.number(self.call["spatial_scale"]) - self.number(shift)

    def _step(self, r: e.Expr, axis: int) -> e.Expr:
        """The extent of a bin along ``axis``, rows first."""
        size = self._corner(r, 4 - axis) - self._corner(r, 2 - axis)
        if not self.call["aligned"]:
            size = e.Max(*e.match(size, self.number(1)))
        return size / self.number(windows.spatial_attr(self.call, "pooled_size", 2)[axis])

    def _sample(self, batch: e.Expr, c: e.Expr, at: Sequence[e.Expr]) -> loop.Stmt:
        taps, inside = [], []
        for p, extent in zip(at, self.sizes, strict=True):
            last = e.cast(self.work, loops.index(extent)) - 1.0
            inside.append(e.And(e.LessEqual(self.number(-1), p), e.LessEqual(p, last + 1.0)))
            clamped = e.Min(*e.match(e.Max(*e.match(p, self.number(0))), last))
            low = e.cast(loops.INT, e.Call("floor", (clamped,), self.work))
            part = clamped - e.cast(self.work, low)
            top = loops.index(extent) - 1
            taps.append(((low, 1.0 - part), (e.Min(*e.match(low + 1, top)), part)))
        parts = [
            e.cast(self.work, loops.load(self.read, batch, c, y, x)) * (wy * wx)
            for y, wy in taps[0]
            for x, wx in taps[1]
        ]
        if self.call["mode"] == "avg":
            more = self.total.set(self.total.value + (((parts[0] + parts[1]) + parts[2]) + parts[3]))
            return loop.If(e.all_of(inside), more)
        if self.call["mode"] == "max":
            best = ((parts[0] + parts[1]) + parts[2]) + parts[3]
        else:
            best = e.Max(e.Max(e.Max(parts[0], parts[1]), parts[2]), parts[3])
        return loop.sequence(
            loop.If(e.all_of(inside), self._update_maximum(best), self._update_maximum(self.number(0))),
            self.has_samples.set(e.const(1, loops.INT)),
        )

    def _update_maximum(self, value: e.Expr) -> loop.Stmt:
        first = e.Equal(*e.match(self.has_samples.value, 0))
        return self.total.set(e.Select(first, value, e.Max(self.total.value, value)))
