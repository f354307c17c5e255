"""ONNX's MelWeightMatrix: a constant if all is known at import, else computed by the graph."""

from __future__ import annotations

import math

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.data_dependent_dims import require, require_positive
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter


@converter("MelWeightMatrix", since=17)
def mel_weight_matrix(node: OnnxNode, bins: Expr, length: Expr, rate: Expr, low: Expr, high: Expr) -> Expr:
    """MelWeightMatrix: triangles over the spectrum, equidistant in mel; a constant if all is known."""
    if any(node.is_dynamic(x) for x in (bins, length, rate, low, high)):
        return _dynamic_matrix(node, bins, length, rate, low, high)
    count, size = int(node.number(bins, "num_mel_bins")), int(node.number(length, "dft_length"))
    per_second = int(node.number(rate, "sample_rate"))
    edges = [
        float(node.number(x, name)) for x, name in ((low, "lower_edge_hertz"), (high, "upper_edge_hertz"))
    ]
    if count < 1 or size < 1 or per_second < 1:
        node.bad(f"{count} bins of a transform of length {size} at {per_second} a second")
    first, last = (2595 * math.log10(1 + hertz / 700) for hertz in edges)
    mels = np.arange(count + 2) * ((last - first) / (count + 2)) + first
    places = np.floor((size + 1) * (700 * (10 ** (mels / 2595) - 1)) / per_second).astype(np.int64)
    if places.min() < 0 or places.max() > size // 2:
        node.bad(f"edges {edges} lie outside of the spectrum")
    made = np.zeros((size // 2 + 1, count))
    for k, (left, middle, right) in enumerate(zip(places, places[1:], places[2:], strict=False)):
        rows = np.arange(len(made))
        rising = (rows >= left) & (rows <= middle)
        made[rising, k] = (rows[rising] - left) / (middle - left) if middle > left else 0
        if middle == left:
            made[middle, k] = 1
        if right > middle:
            falling = (rows >= middle) & (rows < right)
            made[falling, k] = (right - rows[falling]) / (right - middle)
    return node.const(made, dtypes.check(node.dtype_attr("output_datatype", "float32")))


def _dynamic_matrix(node: OnnxNode, bins: Expr, length: Expr, rate: Expr, low: Expr, high: Expr) -> Expr:
    """The matrix for numbers known only at run time, ``(length // 2 + 1, bins)``."""
    count = require_positive(node, node.one_int(bins, "num_mel_bins"), "num_mel_bins")
    size = require_positive(node, node.one_int(length, "dft_length"), "dft_length")
    rows = dims.simplify(size // 2 + 1)
    edges = _mel_edges(node, count, size, rate, low, high)
    left, middle, right = (
        node.make("strided_window", edges, begin=(k,), strides=(1,), shape=(count,)) for k in range(3)
    )
    at = node.cast(node.reshape(node.arange(rows), (rows, 1)), "float64")
    rising = _slope(node, node.subtract(at, left), node.subtract(middle, left))
    falling = _slope(node, node.subtract(right, at), node.subtract(right, middle))
    upwards = node.make("where", node.less(left, middle), rising, node.const(1, "float64"))
    inside = node.make("logical_and", node.greater_equal(at, left), node.less_equal(at, middle))
    made = node.make("where", inside, upwards, node.const(0, "float64"))
    inside = node.make("logical_and", node.greater_equal(at, middle), node.less(at, right))
    made = node.make("where", inside, falling, made)
    return node.cast(made, node.dtype_attr("output_datatype", "float32"))


def _mel_edges(node: OnnxNode, count: Dim, size: Dim, rate: Expr, low: Expr, high: Expr) -> Expr:
    """The ends of the triangles: ``count + 2`` bin numbers of the spectrum, integers in float64."""
    first, last = (_mel(node, node.cast(node.reshape(x, ()), "float64")) for x in (low, high))
    points = dims.simplify(count + 2)
    spacing = node.divide(node.subtract(last, first), node.scalar(points, "float64"))
    steps = node.cast(node.arange(points), "float64")
    mels = node.add(node.multiply(steps, spacing), first)
    hertz = node.make("exp", node.multiply(node.divide(mels, 2595.0), math.log(10)))
    hertz = node.multiply(node.subtract(hertz, 1.0), 700.0)
    scaled = node.multiply(hertz, node.scalar(dims.simplify(size + 1), "float64"))
    per_second = node.cast(node.reshape(rate, ()), "float64")
    found = node.make("floor", node.divide(scaled, per_second))
    least = node.make("min", found, axis=(0,), keepdims=False)
    most = node.make("max", found, axis=(0,), keepdims=False)
    half = node.scalar(dims.simplify(size // 2), "float64")
    inside = node.make("logical_and", node.greater_equal(least, 0.0), node.less_equal(most, half))
    require(node, inside, "edges_inside")
    return found


def _mel(node: OnnxNode, hertz: Expr) -> Expr:
    ratio = node.add(node.divide(hertz, 700.0), 1.0)
    return node.multiply(node.make("log", ratio), 2595 / math.log(10))


def _slope(node: OnnxNode, part: Expr, whole: Expr) -> Expr:
    return node.divide(part, node.make("maximum", whole, 1.0))
