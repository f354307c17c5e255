"""Resize with antialias: when shrinking, the filter is as wide as the pixels that become one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph.node import OnnxNode


def resized(node: OnnxNode, data: Expr, whole: dict[int, tuple[Dim, Any]], method: str, mode: str) -> Expr:
    """``data`` with each axis of ``whole`` (new extent, factor) resized: one matrix product an axis."""
    if mode not in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
        node.unsupported(f"antialias=1 with coordinate_transformation_mode {mode!r}")
    dtype, rank = node.dtype(data), node.rank(data)
    work = "float64" if dtype == "float64" else "float32"
    made = node.cast(data, work)
    for axis, (extent, factor) in whole.items():
        have = node.shape(made)[axis]
        assert isinstance(have, int)
        assert isinstance(extent, int)
        if have == 0 or extent == 0:
            node.bad(f"axis {axis} of {have} elements resized to {extent}")
        scale = factor if isinstance(factor, float) else extent / have
        matrix = weights(have, extent, scale, method, mode, node)
        order = [*(a for a in range(rank) if a != axis), axis]
        moved = node.make("nn.dense", node.transpose(made, order), node.const(matrix, work))
        made = node.transpose(moved, [order.index(a) for a in range(rank)])
    return node.cast(made, dtype)


def weights(have: int, extent: int, scale: float, method: str, mode: str, node: OnnxNode) -> np.ndarray:
    """``(extent, have)``: how much of each source pixel a new one takes; each row adds up to 1."""
    alpha, exclude = node.attr("cubic_coeff_a", -0.75), node.attr("exclude_outside", 0)
    node.check_table(extent, have)
    width = min(scale, 1.0)
    first = int(np.floor((-1 if method == "linear" else -2) / width)) + 1
    steps = np.arange(first, 2 - first)
    made = np.zeros((extent, have))
    for k in range(extent):
        place = _source(mode, k, have, extent, scale)
        base = int(np.ceil(place)) - 1
        distance = np.abs(steps - (place - base)) * width
        taps = np.clip(1 - distance, 0, None) if method == "linear" else _keys(distance, alpha)
        at = base + steps
        if exclude:
            taps = np.where((at >= 0) & (at < have), taps, 0)
        np.add.at(made[k], np.clip(at, 0, have - 1), taps / taps.sum())
    return made


def _source(mode: str, k: int, have: int, extent: int, scale: float) -> float:
    if mode == "align_corners":
        whole = scale * have
        return 0.0 if whole == 1 else k * (have - 1) / (whole - 1)
    if mode == "asymmetric":
        return k / scale
    if mode == "pytorch_half_pixel" and extent == 1:
        return -0.5
    return (k + 0.5) / scale - 0.5


def _keys(t: np.ndarray, a: float) -> np.ndarray:
    inner = (a + 2) * t**3 - (a + 3) * t**2 + 1
    outer = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return np.where(t <= 1, inner, np.where(t < 2, outer, 0))
