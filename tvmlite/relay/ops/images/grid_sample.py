"""``image.grid_sample``: images sampled at the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, choice, operator
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import FLOAT, expect, expect_extent, fault
from tvmlite.relay.ops.images import sampling
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor


def _infer(call: Call, data: TensorType, grid: TensorType) -> TensorType:
    rank = data.ndim - 2
    if rank not in (2, 3):
        raise fault(call, f"data has {data.ndim} axes, expected 4 or 5")
    windows.check_layout(call, "layout", rank)
    windows.check_rank(call, "grid", grid, rank + 2)
    expect_extent(call, "the grid's batch", grid.shape[0], data.shape[0])
    expect_extent(call, "the grid's second axis", grid.shape[1], rank)
    expect(call, "the grid is", grid.dtype, FLOAT)
    if call["method"] != "nearest" and not dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data.dtype}, method {call['method']!r} expects a float")
    return TensorType((*data.shape[:2], *grid.shape[2:]), data.dtype)


def _borders(call: Call, extent: Any) -> tuple[Any, Any]:
    """The borders of the image: the centres of its outermost pixels, or their edges."""
    return (0.0, extent - 1.0) if call["align_corners"] else (-0.5, extent - 0.5)


def _keeps_outside(call: Call) -> bool:
    """Whether coordinates outside the image are kept, so that each tap decides what it reads.

    Clamping them would change the weights of cubic interpolation at a border (PyTorch does not clamp either).
    """
    return call["padding_mode"] == "zeros" or (call["padding_mode"], call["method"]) == ("border", "bicubic")


def _scaled(call: Call, x: Any, extent: Any) -> Any:
    """Convert a coordinate in -1 ... 1 to a position in pixels."""
    if call["align_corners"]:
        return (x + 1.0) / 2.0 * (extent - 1.0)
    return ((x + 1.0) * extent - 1.0) / 2.0


# --- in te ------------------------------------------------------------------------------------------


def _coordinate(call: Call, x: e.Expr, extent: Any) -> e.Expr:
    """The position for ``x`` in pixels, rounded for "nearest" and moved inside as ``padding_mode`` says."""
    size = e.cast(x.dtype, extent) if isinstance(extent, e.Expr) else float(extent)
    place = _scaled(call, x, size)
    if call["method"] == "nearest":
        place = e.Call("round", (place,), place.dtype)
    low, high = _borders(call, size)
    if _keeps_outside(call):
        return sampling.clamp_coordinate(place, extent)
    if call["padding_mode"] == "border":
        clamped = e.Max(*e.match(e.Min(*e.match(place, size - 1.0)), 0.0))
        outside = e.Or(e.Less(*e.match(place, low)), e.Less(*e.match(high, place)))
        return e.Select(outside, clamped, place)
    return _reflected(place, low, high)


def _reflected(x: e.Expr, low: Any, high: Any) -> e.Expr:
    """Reflect ``x`` at both borders until it is between them."""
    span = e.Max(*e.match(e.convert(high - low, x.dtype), 1e-20))

    def reflect(beyond: e.Expr, near: Any, far: Any, inwards: float) -> e.Expr:
        times = e.Call("trunc", (beyond / span,), x.dtype)
        rest = beyond - times * span
        half = times * 0.5
        even = e.Equal(*e.match(half, e.Call("floor", (half,), x.dtype)))
        return e.Select(even, near + inwards * rest, far - inwards * rest)

    below = reflect(low - x, low, high, 1.0)
    above = reflect(x - high, high, low, -1.0)
    return e.Select(e.Less(*e.match(x, low)), below, e.Select(e.Less(*e.match(high, x)), above, x))


def _taps(call: Call, x: e.Expr, extent: Any) -> list[tuple[e.Expr, e.Expr | None]]:
    if call["method"] == "nearest":
        return [(e.cast("int32", x), None)]
    taps = sampling.linear_taps(x) if call["method"] == "bilinear" else sampling.cubic_taps(x)
    if call["padding_mode"] != "reflection":
        return taps
    size = e.cast(x.dtype, extent) if isinstance(extent, e.Expr) else float(extent)
    low, high = _borders(call, size)
    return [(e.cast("int32", _reflected(e.cast(x.dtype, place), low, high)), w) for place, w in taps]


def _grid_numpy(call: Call, data: np.ndarray, grid: np.ndarray) -> np.ndarray:
    rank = data.ndim - 2
    work = np.float64 if np.float64 in (data.dtype, grid.dtype) else np.float32
    taps = []
    for axis, extent in enumerate(data.shape[2:]):
        x = _coordinate_numpy(call, grid[:, None, rank - 1 - axis].astype(work), extent)
        taps.append(_taps_numpy(call, x, extent))
    lead = np.ix_(*(np.arange(n) for n in data.shape[:2]))
    ones = (1,) * (grid.ndim - 2)
    places = tuple(one.reshape(*one.shape, *ones) for one in lead)
    source = data if call["method"] == "nearest" else data.astype(work)
    result = sampling.interpolate_numpy(source, places, taps, call["padding_mode"] == "zeros")
    return result.astype(data.dtype)


def _coordinate_numpy(call: Call, x: np.ndarray, extent: int) -> np.ndarray:
    place = _scaled(call, x, extent).astype(x.dtype)
    if call["method"] == "nearest":
        place = np.rint(place)
    low, high = _borders(call, extent)
    if _keeps_outside(call):  # infinities are outside too
        return np.clip(place, -sampling.TAP_REACH, extent + sampling.TAP_REACH)
    if call["padding_mode"] == "border":
        return np.where((place < low) | (place > high), np.clip(place, 0, extent - 1), place)
    return _reflected_numpy(place, low, high)


def _reflected_numpy(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Reflect ``x`` at both borders, as a triangle wave."""
    if high <= low:
        return np.full_like(x, low)
    phase = np.mod(x - low, 2 * (high - low))
    return (low + np.minimum(phase, 2 * (high - low) - phase)).astype(x.dtype)


def _taps_numpy(call: Call, x: np.ndarray, extent: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
    if call["method"] == "nearest":
        return [(np.trunc(x).astype(np.int64), None)]
    bilinear = call["method"] == "bilinear"
    taps = sampling.linear_taps_numpy(x) if bilinear else sampling.cubic_taps_numpy(x)
    if call["padding_mode"] != "reflection":
        return taps
    borders = _borders(call, extent)
    return [
        (np.trunc(_reflected_numpy(place.astype(np.float64), *borders)).astype(np.int64), weight)
        for place, weight in taps
    ]


@operator(
    "image.grid_sample",
    infer=_infer,
    reference=_grid_numpy,
    fuse=Fuse.OPAQUE,
    attrs={
        "method": choice("bilinear", "nearest", "bicubic"),
        "layout": "NCHW",
        "padding_mode": choice("zeros", "border", "reflection"),
        "align_corners": True,
    },
)
def grid_sample(call: Call, data: Tensor, grid: Tensor) -> Tensor:
    """Sample ``data[n, c]`` at the points ``grid[n, :, y...]``, whose coordinates are x first, then y and z.

    The image spans -1 ... 1: to the centres of its outermost pixels with ``align_corners``, else to their
    edges.
    """
    rank = data.ndim - 2
    work = "float64" if "float64" in (data.dtype, grid.dtype) else "float32"

    def element(n: e.Expr, c: e.Expr, *at: e.Expr) -> e.Expr:
        taps = []
        for axis, extent in enumerate(data.shape[2:]):
            x = _coordinate(call, e.cast(work, grid[(n, rank - 1 - axis, *at)]), extent)
            taps.append(_taps(call, x, extent))
        value = sampling.interpolate(data, (n, c), taps, call["padding_mode"] == "zeros", work)
        return e.cast(data.dtype, value)

    return compute((*data.shape[:2], *grid.shape[2:]), element, name="grid_sample", tag="injective")
