"""Fourier transforms of a length, or along an axis, that a run tells: by matrices that it computes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.relay.frontend.onnx import axes, demand, dims
from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.ir import Expr
from tvmlite.relay.types import Dim

Complex = tuple[Expr, Expr | None]


def positive(node: OnnxNode, value: Dim, what: str) -> Dim:
    """``value``, which is at least 1: else the node is refused, or the run stops."""
    if isinstance(value, int):
        if value < 1:
            node.bad(f"{what} is {value}, expected at least 1")
        return value
    (more,) = demand.named(node, [value - 1], f"{what}_beyond_one")
    return dims.simplify(more + 1)


def along(
    node: OnnxNode, parts: list[Expr], axis: Dim, make: Callable[[list[Expr], Dim], list[Expr]]
) -> list[Expr]:
    """``make(rows, extent)`` of ``parts``, which are alike, as rows ``(rows, extent)`` along ``axis``.

    The rows that it makes may be longer or shorter, but all as long. ``axis`` may count from the end of
    what has one axis, of fields, more.
    """
    shape, rank = node.shape(parts[0]), node.rank(parts[0])
    here = [axes.is_among(place, [axis], rank + 1) for place in range(rank)]
    found = node.make("shape_value", values=(sum(axes.either(h, 1, 0) for h in here),), dtype="int64")
    demand.require(node, node.make("equal", found, 1), "axis_found")
    split: list[Dim] = [0, 0, 0]
    for place, is_here in enumerate(here):
        for k, part in enumerate((shape[:place], shape[place : place + 1], shape[place + 1 :])):
            split[k] = dims.simplify(split[k] + axes.either(is_here, math.prod(part, start=1), 0))
    before, have, after = demand.settled(node, split, "part")
    rows = []
    for part in parts:
        cube = axes.reshaped(node, part, (before, have, after))
        rows.append(node.reshape(node.transpose(cube, (0, 2, 1)), (dims.simplify(before * after), have)))
    made = make(rows, have)
    count = node.shape(made[0])[1]
    extents = [axes.either(is_here, count, d) for is_here, d in zip(here, shape, strict=True)]
    extents = demand.settled(node, extents, "transformed")
    cubes = [node.transpose(node.reshape(one, (before, after, count)), (0, 2, 1)) for one in made]
    return [axes.reshaped(node, cube, extents) for cube in cubes]


def transform(node: OnnxNode, data: Complex, have: Dim, size: Dim, onesided: bool, inverse: bool) -> Complex:
    """All ``size`` coefficients of rows of ``have``, ``onesided`` the first half; of an inverse that is so,
    the signal.

    In float64: a matrix product of n terms each would else lose digits that a fast transform keeps.
    """
    half = dims.simplify(size // 2 + 1)
    taken, made = (half, size) if inverse and onesided else (size, half if onesided else size)
    real, imaginary = (None if part is None else _fitted(node, part, have, taken) for part in data)
    assert real is not None
    dtype, work = node.dtype(real), "float64"
    real, imaginary = (None if p is None else node.cast(p, work) for p in (real, imaginary))
    assert real is not None
    cosine, sine = _matrices(node, made, taken, size, work)
    if inverse and onesided:
        weights = _mirrored(node, taken, size, work)
        cosine, sine = (node.make("multiply", m, weights) for m in (cosine, sine))
    if not inverse:
        sine = node.make("negative", sine)
    planes = [node.make("nn.dense", real, cosine), node.make("nn.dense", real, sine)]
    if imaginary is not None:
        planes[0] = node.make("subtract", planes[0], node.make("nn.dense", imaginary, sine))
        planes[1] = node.make("add", planes[1], node.make("nn.dense", imaginary, cosine))
    if inverse:
        planes = [node.make("divide", p, scalar(node, size, work)) for p in planes]
    planes = [node.cast(p, dtype) for p in planes]
    return planes[0], None if inverse and onesided else planes[1]


def _fitted(node: OnnxNode, data: Expr, have: Dim, taken: Dim) -> Expr:
    """Rows cut, or filled with zeros, to ``taken``."""
    if dims.equal(have, taken):
        return data
    width = ((0, 0), (0, dims.simplify(taken - have)))
    return node.make("nn.pad", data, pad_width=width, pad_value=0.0)


def _matrices(node: OnnxNode, made: Dim, taken: Dim, size: Dim, dtype: str) -> tuple[Expr, Expr]:
    """Cosines and sines of ``2 pi j k / size``, ``(made, taken)``; whole turns are left out exactly."""
    rows = node.reshape(places(node, made), (made, 1))
    turns = node.make("floor_mod", node.make("multiply", rows, places(node, taken)), scalar(node, size))
    part = node.make("divide", node.cast(turns, dtype), scalar(node, size, dtype))
    angles = node.make("multiply", part, 2 * np.pi)
    return node.make("cos", angles), node.make("sin", angles)


def _mirrored(node: OnnxNode, taken: Dim, size: Dim, dtype: str) -> Expr:
    """How often each of the first coefficients of a real signal counts: all but the ends have a mirror image.

    ``(taken,)``. A real signal has no imaginary part at the ends, where the sines are 0.
    """
    at = places(node, taken)
    middle = node.make("equal", node.make("multiply", at, 2), scalar(node, size))
    alone = node.make("logical_or", node.make("equal", at, 0), middle)
    return node.make("where", alone, node.const(1, dtype), node.const(2, dtype))


def places(node: OnnxNode, count: Dim) -> Expr:
    """``0, 1, ...`` as int64."""
    return node.make("arange", start=0, stop=count, step=1, dtype="int64")


def scalar(node: OnnxNode, value: Dim, dtype: str = "int64") -> Expr:
    return node.cast(node.reshape(node.make("shape_value", values=(value,), dtype="int64"), ()), dtype)
