"""Resize whose scales, sizes or region a run tells: one axis after the other, places and weights computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims, name_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.ops.resize_taps import coordinate, rounded
from tvmlite.te import expr as e

LONGEST = 2**40
"""An extent, in elements, that no scale may exceed."""


@dataclass(frozen=True, eq=False)
class Number:
    """Floats of a graph with Python's operators, for the formulas of ``resize_taps``."""

    node: OnnxNode
    value: Expr

    def _with(self, name: str, *others: Any) -> Number:
        tensors = [o.value if isinstance(o, Number) else o for o in others]
        return Number(self.node, self.node.make(name, self.value, *tensors))

    def __add__(self, other: Any) -> Number:
        return self._with("add", other)

    def __sub__(self, other: Any) -> Number:
        return self._with("subtract", other)

    def __mul__(self, other: Any) -> Number:
        return self._with("multiply", other)

    def __truediv__(self, other: Any) -> Number:
        return self._with("divide", other)

    def __lt__(self, other: Any) -> Number:
        return self._with("less", other)

    def __gt__(self, other: Any) -> Number:
        return self._with("greater", other)

    def called(self, name: str) -> Number:
        return self._with(name)

    def at_most(self, other: Any) -> Number:
        return self._with("minimum", other)

    def at_least(self, other: Any) -> Number:
        return self._with("maximum", other)


@dataclass(frozen=True)
class GraphNumbers:
    """Arithmetic on tensors of a float ``dtype``; dimensions and Python numbers become scalars of it."""

    node: OnnxNode
    dtype: str

    def number(self, value: Any) -> Number:
        if isinstance(value, Number):
            return value
        if isinstance(value, e.Expr):
            whole = self.node.make("shape_value", values=(value,), dtype="int64")
            return Number(self.node, self.node.cast(self.node.reshape(whole, ()), self.dtype))
        return Number(self.node, self.node.const(value, self.dtype))

    def floor(self, x: Number) -> Number:
        return x.called("floor")

    def ceil(self, x: Number) -> Number:
        return x.called("ceil")

    def either(self, condition: Any, a: Number, b: Number) -> Number:
        if isinstance(condition, e.Expr):
            condition = self.number(e.Select(condition, e.const(1, e.INDEX), e.const(0, e.INDEX))) > 0
        return Number(self.node, self.node.make("where", condition.value, a.value, b.value))

    def one_of(self, a: Number, b: Number) -> Number:
        return Number(self.node, self.node.make("logical_or", a.value, b.value))


@dataclass(frozen=True)
class Axis:
    """One axis to resize: to ``extent``, by ``scale``, over the part ``region`` of what it is (or all).

    The scale is ``given``, or follows from the extents.
    """

    place: int
    extent: Dim
    scale: Number
    given: bool
    region: tuple[Number, Number] | None


def resized(
    node: OnnxNode,
    data: Expr,
    axes: Sequence[int],
    scales: Expr | None,
    sizes: Sequence[Dim] | None,
    roi: Expr | None,
    method: str,
    mode: str,
    rounding: str,
) -> Expr:
    """``data`` resized along each of ``axes``; arguments as ``image.resize2d`` has them."""
    dtype = node.dtype(data)
    if method != "nearest_neighbor" and not dtypes.is_float(dtype):
        node.unsupported(f"mode {node.attr('mode')!r} of {dtype}; it is for floats")
    numbers = GraphNumbers(node, "float64" if dtype == "float64" else "float32")
    made = data if method == "nearest_neighbor" else node.cast(data, numbers.dtype)
    masks: list[Expr] = []
    for axis in _axes(numbers, node.shape(data), axes, scales, sizes, roi):
        have = node.shape(data)[axis.place]
        source = _sources(numbers, axis, have, mode)
        if mode == "tf_crop_and_resize":
            last = numbers.number(have) - 1
            column = [axis.extent if k == axis.place else 1 for k in range(node.rank(data))]
            masks.append(node.reshape(numbers.one_of(source < 0, source > last).value, column))
        if method == "nearest_neighbor":
            settings = {"coordinate_transformation_mode": mode, "rounding_method": rounding}
            index = node.cast(rounded(settings, numbers, source).value, "int64")
            made = node.make("take", made, index, axis=axis.place)
        else:
            made = _filtered(numbers, made, axis, source, method)
    made = node.cast(made, dtype)
    fill = node.const(node.attr("extrapolation_value", 0.0), dtype)
    for mask in masks:
        made = node.make("where", mask, fill, made)
    return made


def _axes(
    numbers: GraphNumbers,
    shape: Sequence[Dim],
    places: Sequence[int],
    scales: Expr | None,
    sizes: Sequence[Dim] | None,
    roi: Expr | None,
) -> list[Axis]:
    """The axes that may change."""
    node, count = numbers.node, len(places)
    have = [shape[a] for a in places]
    known = None if scales is None else node.known(scales)
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if scales is not None:
        extents, factors = _scaled(numbers, have, scales)
    elif policy == "stretch":
        extents = list(sizes or ())
        factors = [numbers.number(n) / numbers.number(d) for n, d in zip(extents, have, strict=True)]
    else:
        extents, factor = _kept_ratio(numbers, have, list(sizes or ()), policy)
        factors = [factor] * count
    regions = None if roi is None else _one_by_one(numbers, roi, 2 * count)
    made: list[Axis] = []
    for i, place in enumerate(places):
        same = dims.equal(extents[i], have[i]) if known is None else known[i] == 1
        if regions is None and same and (scales is not None or policy == "stretch"):
            continue
        region = None if regions is None else (regions[i], regions[i + count])
        given = scales is not None or policy != "stretch"
        made.append(Axis(place, extents[i], factors[i], given, region))
    return made


def _scaled(numbers: GraphNumbers, have: Sequence[Dim], scales: Expr) -> tuple[list[Dim], list[Number]]:
    """The extents ``floor(have * scales)``, which a run computes, and each scale; one below 0 stops it."""
    node = numbers.node
    wide = node.cast(scales, "float64")
    lengths = node.cast(node.make("shape_value", values=tuple(have), dtype="int64"), "float64")
    exact = node.make("multiply", wide, lengths)
    legal = node.make("logical_and", node.make("greater", wide, 0), node.make("less", exact, LONGEST))
    whole = node.make("where", legal, node.make("floor", exact), node.const(-1, "float64"))
    bound = bind_dims(node, node.cast(whole, "int64"), ["extent_by_scale"] * len(have))
    return list(bound), _one_by_one(numbers, scales, len(have))


def _one_by_one(numbers: GraphNumbers, vector: Expr, count: int) -> list[Number]:
    """The elements of a vector of ``count``, as scalars."""
    node = numbers.node
    flat = node.cast(node.reshape(vector, (count,)), numbers.dtype)
    return [Number(node, node.make("take", flat, node.const(i, "int64"), axis=0)) for i in range(count)]


def _kept_ratio(
    numbers: GraphNumbers, have: Sequence[Dim], sizes: Sequence[Dim], policy: str
) -> tuple[list[Dim], Number]:
    """Extents of one scale for all axes, the least or greatest that ``sizes`` ask for, and that scale."""
    node = numbers.node
    top, bottom = e.convert(sizes[0], e.INDEX), e.convert(have[0], e.INDEX)
    for size, extent in zip(sizes[1:], have[1:], strict=True):
        own, other = size * bottom, top * extent
        better = e.Less(*e.match(own, other) if policy == "not_larger" else e.match(other, own))
        top = e.Select(better, e.convert(size, e.INDEX), top)
        bottom = e.Select(better, e.convert(extent, e.INDEX), bottom)
    up, down = name_dims(node, [top, bottom], "ratio")
    extents = [(up * d * 2 + down) // (down * 2) for d in have]
    return name_dims(node, extents, "kept"), numbers.number(up) / numbers.number(down)


def _sources(numbers: GraphNumbers, axis: Axis, have: Dim, mode: str) -> Number:
    """The source coordinate of each place along ``axis``."""
    region = axis.region
    if mode == "align_corners" and axis.given:
        mode, region = "tf_crop_and_resize", (numbers.number(0), _corner(numbers, axis, have))
    settings = {"coordinate_transformation_mode": mode, "scales": [axis.scale], "roi": region or ()}
    places = numbers.node.make("arange", start=0, stop=axis.extent, step=1, dtype="int64")
    x = Number(numbers.node, numbers.node.cast(places, numbers.dtype))
    return coordinate(settings, numbers, 0, x, (have, axis.extent))


def _corner(numbers: GraphNumbers, axis: Axis, have: Dim) -> Number:
    """Where the last place lies: short of the corner when the exact length is no whole number."""
    exact = numbers.number(have) * axis.scale
    last = numbers.number(axis.extent) - 1
    ended = numbers.either(exact > (last + 1), last / (exact - 1), numbers.number(1))
    return numbers.either(last > 0, ended, numbers.number(0))


def _filtered(numbers: GraphNumbers, data: Expr, axis: Axis, source: Number, method: str) -> Expr:
    """The weighted sums of the taps around each ``source``."""
    node = numbers.node
    have = node.shape(data)[axis.place]
    steps, width = _steps(numbers, axis, method)
    column = Number(node, node.reshape(source.value, (axis.extent, 1)))
    base = column.called("ceil") - 1
    distance = (steps - (column - base)).called("abs")
    distance = distance if width is None else distance * width
    weights = _linear(distance) if method == "linear" else _keys(numbers, distance)
    at = base + steps
    if node.attr("exclude_outside", 0):
        weights = numbers.either(
            numbers.one_of(at < 0, at > (numbers.number(have) - 1)), weights * 0, weights
        )
    if node.attr("exclude_outside", 0) or width is not None:
        weights = weights / Number(node, node.make("sum", weights.value, axis=(1,), keepdims=True))
    taken = node.make("take", data, node.cast(at.value, "int64"), axis=axis.place)
    shape = [1] * node.rank(taken)
    pair: Sequence[Dim] = node.shape(weights.value)
    shaped = [*shape[: axis.place], *pair, *shape[axis.place + 2 :]]
    product = node.make("multiply", taken, node.reshape(weights.value, shaped))
    return node.make("sum", product, axis=(axis.place + 1,), keepdims=False)


def _steps(numbers: GraphNumbers, axis: Axis, method: str) -> tuple[Number, Number | None]:
    """Distances of the taps from the place below, ``(1, taps)``; with antialias, how they shrink."""
    node = numbers.node
    reach = 1 if method == "linear" else 2
    if not node.attr("antialias", 0):
        return Number(node, node.const(np.arange(1 - reach, reach + 1)[None], numbers.dtype)), None
    width = axis.scale.at_most(1)
    first = (numbers.number(-reach) / width).called("floor") + 1
    count = numbers.number(2) - first * 2
    whole = node.reshape(node.cast(count.value, "int64"), (1,))
    (taps,) = bind_dims(node, whole, ["taps"])
    steps = node.cast(node.make("arange", start=0, stop=taps, step=1, dtype="int64"), numbers.dtype)
    return Number(node, node.reshape(steps, (1, taps))) + first, width


def _linear(distance: Number) -> Number:
    return (distance * -1 + 1).at_least(0)


def _keys(numbers: GraphNumbers, t: Number) -> Number:
    """Keys' cubic weights."""
    a = float(numbers.node.attr("cubic_coeff_a", -0.75))
    inner = (t * (a + 2) - (a + 3)) * t * t + 1
    outer = ((t * a - 5 * a) * t + 8 * a) * t - 4 * a
    far = numbers.either(t < 2, outer, t * 0)
    return numbers.either(t > 1, far, inner)
