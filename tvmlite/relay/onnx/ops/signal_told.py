"""Fourier transforms of a length, or along an axis, that a run tells: by matrices that it computes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import axes, dims
from tvmlite.relay.onnx.graph.data_dependent_dims import as_extents, name_dims, require
from tvmlite.relay.onnx.graph.node import OnnxNode

Complex = tuple[Expr, Expr | None]


def positive(node: OnnxNode, value: Dim, what: str) -> Dim:
    """``value``, which is at least 1: else the node is refused, or the run stops."""
    if isinstance(value, int):
        if value < 1:
            node.bad(f"{what} is {value}, expected at least 1")
        return value
    (more,) = name_dims(node, [value - 1], f"{what}_beyond_one")
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
    require(node, node.make("equal", found, 1), "axis_found")
    split: list[Dim] = [0, 0, 0]
    for place, is_here in enumerate(here):
        for k, part in enumerate((shape[:place], shape[place : place + 1], shape[place + 1 :])):
            split[k] = dims.simplify(split[k] + axes.either(is_here, math.prod(part, start=1), 0))
    before, have, after = as_extents(node, split, "part")
    rows = []
    for part in parts:
        cube = axes.reshaped(node, part, (before, have, after))
        rows.append(node.reshape(node.transpose(cube, (0, 2, 1)), (dims.simplify(before * after), have)))
    made = make(rows, have)
    count = node.shape(made[0])[1]
    extents = [axes.either(is_here, count, d) for is_here, d in zip(here, shape, strict=True)]
    extents = as_extents(node, extents, "transformed")
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


def mel_weights(node: OnnxNode, bins: Expr, length: Expr, rate: Expr, low: Expr, high: Expr) -> Expr:
    """MelWeightMatrix of numbers that a run tells, ``(length // 2 + 1, bins)``."""
    count = positive(node, node.one_int(bins, "num_mel_bins"), "num_mel_bins")
    size = positive(node, node.one_int(length, "dft_length"), "dft_length")
    rows = dims.simplify(size // 2 + 1)
    edges = _mel_edges(node, count, size, rate, low, high)
    left, middle, right = (
        node.make("strided_window", edges, begin=(k,), strides=(1,), shape=(count,)) for k in range(3)
    )
    at = node.cast(node.reshape(places(node, rows), (rows, 1)), "float64")
    rising = _slope(node, node.make("subtract", at, left), node.make("subtract", middle, left))
    falling = _slope(node, node.make("subtract", right, at), node.make("subtract", right, middle))
    upwards = node.make("where", node.make("less", left, middle), rising, node.const(1, "float64"))
    inside = _all(node, node.make("greater_equal", at, left), node.make("less_equal", at, middle))
    made = node.make("where", inside, upwards, node.const(0, "float64"))
    inside = _all(node, node.make("greater_equal", at, middle), node.make("less", at, right))
    made = node.make("where", inside, falling, made)
    return node.cast(made, node.dtype_attr("output_datatype", "float32"))


def _mel_edges(node: OnnxNode, count: Dim, size: Dim, rate: Expr, low: Expr, high: Expr) -> Expr:
    """Where the triangles begin and end: ``count + 2`` whole numbers, in float64, of bins of the spectrum."""
    first, last = (_mel(node, node.cast(node.reshape(x, ()), "float64")) for x in (low, high))
    points = dims.simplify(count + 2)
    apart = node.make("divide", node.make("subtract", last, first), scalar(node, points, "float64"))
    steps = node.cast(places(node, points), "float64")
    mels = node.make("add", node.make("multiply", steps, apart), first)
    hertz = node.make("exp", node.make("multiply", node.make("divide", mels, 2595.0), math.log(10)))
    hertz = node.make("multiply", node.make("subtract", hertz, 1.0), 700.0)
    scaled = node.make("multiply", hertz, scalar(node, dims.simplify(size + 1), "float64"))
    per_second = node.cast(node.reshape(rate, ()), "float64")
    found = node.make("floor", node.make("divide", scaled, per_second))
    least = node.make("min", found, axis=(0,), keepdims=False)
    most = node.make("max", found, axis=(0,), keepdims=False)
    half = scalar(node, dims.simplify(size // 2), "float64")
    inside = _all(node, node.make("greater_equal", least, 0.0), node.make("less_equal", most, half))
    require(node, inside, "edges_inside")
    return found


def _mel(node: OnnxNode, hertz: Expr) -> Expr:
    ratio = node.make("add", node.make("divide", hertz, 700.0), 1.0)
    return node.make("multiply", node.make("log", ratio), 2595 / math.log(10))


def _slope(node: OnnxNode, part: Expr, whole: Expr) -> Expr:
    return node.make("divide", part, node.make("maximum", whole, 1.0))


def _all(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    return node.make("logical_and", a, b)
