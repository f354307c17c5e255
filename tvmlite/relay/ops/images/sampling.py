"""Interpolated reads of an image: taps and weights for a real coordinate, in te and in numpy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tvmlite.relay.ops.common import clamp
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor

CUBIC_ALPHA = -0.75
"""Keys' parameter of cubic interpolation."""

TAP_REACH = 3
"""The distance outside the image from which no tap of any method reads it."""


def clamp_coordinate(x: e.Expr, extent: Any) -> e.Expr:
    """Clamp ``x`` to the range outside of which no tap reads the image."""
    top = (
        e.cast(x.dtype, extent + (TAP_REACH - 1)) if isinstance(extent, e.Expr) else extent + TAP_REACH - 1.0
    )
    return e.Max(*e.match(e.Min(*e.match(x, top)), e.const(-float(TAP_REACH), x.dtype)))


def linear_taps(x: e.Expr) -> list[tuple[e.Expr, e.Expr | None]]:
    """The two indices around ``x`` and their weights."""
    below = e.Call("floor", (x,), x.dtype)
    part, first = x - below, e.cast("int32", below)
    return [(first, 1.0 - part), (first + 1, part)]


def cubic_taps(x: e.Expr) -> list[tuple[e.Expr, e.Expr | None]]:
    """The four indices around ``x`` and Keys' weights."""
    below = e.Call("floor", (x,), x.dtype)
    part, first = x - below, e.cast("int32", below)
    return [(first + step, _cubic_weight(step, _distance(part, step))) for step in (-1, 0, 1, 2)]


def _distance(part: Any, step: int) -> Any:
    return part - float(step) if step <= 0 else float(step) - part


def _cubic_weight(step: int, t: Any) -> Any:
    if step in (0, 1):
        return ((CUBIC_ALPHA + 2) * t - (CUBIC_ALPHA + 3)) * t * t + 1.0
    return ((CUBIC_ALPHA * t - 5 * CUBIC_ALPHA) * t + 8 * CUBIC_ALPHA) * t - 4 * CUBIC_ALPHA


def interpolate(
    data: Tensor,
    lead: tuple[Any, ...],
    taps: list[list[tuple[e.Expr, e.Expr | None]]],
    zeros: bool,
    work: str,
) -> e.Expr:
    """Sum ``data[lead, indices]`` times weights over all combinations of taps.

    Outside, ``data`` is 0 with ``zeros``, else the nearest element.
    """
    extents = data.shape[len(lead) :]
    total: e.Expr | None = None
    for combination in product(*taps):
        places = [clamp(place, n) for (place, _), n in zip(combination, extents, strict=True)]
        weights = [w for _, w in combination if w is not None]
        value = data[(*lead, *places)]
        if weights:
            value = e.cast(work, value)
        if zeros:
            inside = e.all_of([_inside(place, n) for (place, _), n in zip(combination, extents, strict=True)])
            value = e.Select(inside, value, e.const(0, value.dtype))
        for weight in weights:
            value = value * weight
        total = value if total is None else total + value
    assert total is not None
    return total


def _inside(place: e.Expr, extent: Any) -> e.Expr:
    return e.And(place >= 0, e.Less(*e.match(place, extent)))


# --- the same in numpy ------------------------------------------------------------------------------


def linear_taps_numpy(x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """The two indices around each of ``x`` and their weights."""
    below = np.floor(x)
    return [(_to_int(below), 1 - (x - below)), (_to_int(below) + 1, x - below)]


def cubic_taps_numpy(x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """The four indices around each of ``x`` and Keys' weights."""
    below = np.floor(x)
    return [
        (_to_int(below) + step, _cubic_weight(step, np.abs(x - below - step)).astype(x.dtype))
        for step in (-1, 0, 1, 2)
    ]


def _to_int(x: np.ndarray) -> np.ndarray:
    """``x`` as integers: NaN becomes 0, and numbers too large become indices outside every image."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.clip(x, -(2**30), 2**30), nan=0.0).astype(np.int64)


def interpolate_numpy(
    data: np.ndarray,
    lead: tuple[np.ndarray, ...],
    taps: list[list[tuple[np.ndarray, np.ndarray | None]]],
    zeros: bool,
) -> np.ndarray:
    """``interpolate`` for arrays of coordinates; ``lead`` are index arrays."""
    extents = data.shape[len(lead) :]
    total: Any = None
    for combination in product(*taps):
        places = [np.clip(place, 0, n - 1) for (place, _), n in zip(combination, extents, strict=True)]
        value = data[(*lead, *places)]
        if zeros:
            inside = np.logical_and.reduce(
                [(place >= 0) & (place < n) for (place, _), n in zip(combination, extents, strict=True)]
            )
            value = np.where(inside, value, np.zeros((), data.dtype))
        for _, weight in combination:
            if weight is not None:
                value = value * weight
        total = value if total is None else total + value
    return total
