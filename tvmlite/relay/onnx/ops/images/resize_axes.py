"""Resizes one axis after the other, by taps and their weights.

The formulas are shared by two kinds of arithmetic: tensors of the graph, for scales, sizes and regions known
only at run time, and numpy's arrays, for the matrices of an antialias filter known at import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.arithmetic import Operand
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims, name_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.ops.images.resize_taps import NumpyNumbers, coordinate, round_coordinate
from tvmlite.te import expr as e

_TAPS_PER_SIDE = {"linear": 1, "cubic": 2}
"""The number of taps of a method on each side."""

MAX_EXTENT = 2**40
"""The largest extent that a scale may give."""


@dataclass(frozen=True)
class GraphNumbers:
    """Arithmetic on tensors of a float ``dtype``, also for dimensions and Python numbers, as scalars."""

    node: OnnxNode
    dtype: str

    def tensor(self, value: Any) -> Expr:
        """Return ``value`` as a tensor; itself if it is one."""
        if isinstance(value, Expr):
            return value
        is_dim = isinstance(value, e.Expr)
        return self.node.scalar(value, self.dtype) if is_dim else self.node.const(value, self.dtype)

    def number(self, value: Any) -> Operand:
        """Return ``value``, a tensor or a number, as an operand of formulas."""
        return value if isinstance(value, Operand) else Operand(self.node, self.tensor(value))

    def _made(self, name: str, *operands: Operand) -> Operand:
        return Operand(self.node, self.node.make(name, *(one.tensor for one in operands)))

    def floor(self, x: Operand) -> Operand:
        """Return the greatest integer not above ``x``, as a float."""
        return self._made("floor", x)

    def ceil(self, x: Operand) -> Operand:
        """Return the least integer not below ``x``, as a float."""
        return self._made("ceil", x)

    def absolute(self, x: Operand) -> Operand:
        """``|x|``."""
        return self._made("abs", x)

    def select(self, condition: Any, a: Operand, b: Operand) -> Operand:
        """Return ``a`` where ``condition``, on tensors or dimensions, holds, else ``b``."""
        if isinstance(condition, e.Expr):
            condition = self.number(e.Select(condition, e.const(1, e.INDEX), e.const(0, e.INDEX))) > 0
        return self._made("where", condition, a, b)

    def logical_or(self, a: Operand, b: Operand) -> Operand:
        """Return whether at least one of two conditions holds, for each element."""
        return self._made("logical_or", a, b)


@dataclass(frozen=True)
class Axis:
    """Axis ``place`` of extent ``have``, resized to ``extent`` by ``scale`` over the part ``region``.

    The scale is ``given``, or follows from the extents.
    """

    place: int
    have: Dim
    extent: Dim
    scale: Any
    given: bool
    region: tuple[Expr, Expr] | None


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
    """Return ``data`` resized along each of ``axes``; arguments as for ``image.resize2d``."""
    dtype = node.dtype(data)
    if method != "nearest_neighbor" and not dtypes.is_float(dtype):
        node.unsupported(f"mode {node.attr('mode')!r} of {dtype}; it is for floats")
    numbers = GraphNumbers(node, "float64" if dtype == "float64" else "float32")
    made = data if method == "nearest_neighbor" else node.cast(data, numbers.dtype)
    masks: list[Expr] = []
    for axis in _axes(numbers, node.shape(data), axes, scales, sizes, roi):
        positions = node.cast(node.arange(axis.extent), numbers.dtype)
        source = _sources(numbers, axis, mode, numbers.number(positions))
        if mode == "tf_crop_and_resize":
            last = numbers.number(axis.have) - 1
            column = [axis.extent if k == axis.place else 1 for k in range(node.rank(data))]
            masks.append(node.reshape(numbers.logical_or(source < 0, source > last).tensor, column))
        if method == "nearest_neighbor":
            settings = {"coordinate_transformation_mode": mode, "rounding_method": rounding}
            index = node.cast(round_coordinate(settings, numbers, source).tensor, "int64")
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
        factors = [
            node.divide(numbers.tensor(n), numbers.tensor(d)) for n, d in zip(extents, have, strict=True)
        ]
    else:
        extents, factor = _kept_ratio(numbers, have, list(sizes or ()), policy)
        factors = [factor] * count
    regions = None if roi is None else _elements(numbers, roi, 2 * count)
    made: list[Axis] = []
    for i, place in enumerate(places):
        same = dims.equal(extents[i], have[i]) if known is None else known[i] == 1
        if regions is None and same and (scales is not None or policy == "stretch"):
            continue
        region = None if regions is None else (regions[i], regions[i + count])
        given = scales is not None or policy != "stretch"
        made.append(Axis(place, have[i], extents[i], factors[i], given, region))
    return made


def _scaled(numbers: GraphNumbers, have: Sequence[Dim], scales: Expr) -> tuple[list[Dim], list[Expr]]:
    """The extents ``floor(have * scales)``, computed at run time, and the scales, which must be positive."""
    node = numbers.node
    wide = node.cast(scales, "float64")
    lengths = node.cast(node.make("shape_value", values=tuple(have), dtype="int64"), "float64")
    exact = node.multiply(wide, lengths)
    legal = node.make("logical_and", node.greater(wide, 0), node.less(exact, MAX_EXTENT))
    whole = node.make("where", legal, node.make("floor", exact), node.const(-1, "float64"))
    bound = bind_dims(node, node.cast(whole, "int64"), ["extent_by_scale"] * len(have))
    return list(bound), _elements(numbers, scales, len(have))


def _elements(numbers: GraphNumbers, vector: Expr, count: int) -> list[Expr]:
    """The elements of a vector of length ``count``, as scalars."""
    node = numbers.node
    flat = node.cast(node.reshape(vector, (count,)), numbers.dtype)
    return [node.make("take", flat, node.const(i, "int64"), axis=0) for i in range(count)]


def _kept_ratio(
    numbers: GraphNumbers, have: Sequence[Dim], sizes: Sequence[Dim], policy: str
) -> tuple[list[Dim], Expr]:
    """The extents by a common scale, the least or greatest that ``sizes`` require, and that scale."""
    node = numbers.node
    top, bottom = e.convert(sizes[0], e.INDEX), e.convert(have[0], e.INDEX)
    for size, extent in zip(sizes[1:], have[1:], strict=True):
        own, other = size * bottom, top * extent
        better = e.Less(*e.match(own, other) if policy == "not_larger" else e.match(other, own))
        top = e.Select(better, e.convert(size, e.INDEX), top)
        bottom = e.Select(better, e.convert(extent, e.INDEX), bottom)
    up, down = name_dims(node, [top, bottom], "ratio")
    extents = [(up * d * 2 + down) // (down * 2) for d in have]
    return name_dims(node, extents, "kept"), node.divide(numbers.tensor(up), numbers.tensor(down))


def _sources(numbers: Any, axis: Axis, mode: str, x: Any) -> Any:
    """The source coordinates of the positions ``x`` along ``axis``."""
    region = axis.region
    if mode == "align_corners" and axis.given:
        mode, region = "tf_crop_and_resize", (numbers.number(0), _corner(numbers, axis))
    settings = {"coordinate_transformation_mode": mode, "scales": [axis.scale], "roi": region or ()}
    return coordinate(settings, numbers, 0, x, (axis.have, axis.extent))


def _corner(numbers: Any, axis: Axis) -> Any:
    """The end of the region for align_corners: less than 1 if the exact length is not an integer."""
    exact = numbers.number(axis.have) * axis.scale
    last = numbers.number(axis.extent) - 1
    ended = numbers.select(exact > (last + 1), last / (exact - 1), numbers.number(1))
    return numbers.select(last > 0, ended, numbers.number(0))


def _filtered(numbers: GraphNumbers, data: Expr, axis: Axis, source: Operand, method: str) -> Expr:
    """The weighted sums of the taps around each ``source``."""
    node = numbers.node
    steps, width = _steps(numbers, axis, method)
    column = numbers.number(node.reshape(source.tensor, (axis.extent, 1)))
    at, factors = _taps(node, numbers, column, numbers.number(steps), width, axis.have, method)
    weights = factors.tensor
    taken = node.make("take", data, node.cast(at.tensor, "int64"), axis=axis.place)
    shape = [1] * node.rank(taken)
    pair: Sequence[Dim] = node.shape(weights)
    shaped = [*shape[: axis.place], *pair, *shape[axis.place + 2 :]]
    product = node.multiply(taken, node.reshape(weights, shaped))
    return node.make("sum", product, axis=(axis.place + 1,), keepdims=False)


def _steps(numbers: GraphNumbers, axis: Axis, method: str) -> tuple[Expr, Expr | None]:
    """The distances of the taps from the position below, ``(1, taps)``, and with antialias their factor."""
    node = numbers.node
    if not node.attr("antialias", 0):
        reach = _TAPS_PER_SIDE[method]
        return node.const(np.arange(1 - reach, reach + 1)[None], numbers.dtype), None
    width = node.make("minimum", axis.scale, 1)
    first = numbers.floor(numbers.number(-_TAPS_PER_SIDE[method]) / width) + 1
    count = numbers.number(2) - first * 2
    whole = node.reshape(node.cast(count.tensor, "int64"), (1,))
    (taps,) = bind_dims(node, whole, ["taps"])
    steps = node.cast(node.arange(taps), numbers.dtype)
    return node.add(node.reshape(steps, (1, taps)), first.tensor), width


def _taps(
    node: OnnxNode, numbers: Any, source: Any, steps: Any, width: Any, have: Dim, method: str
) -> tuple[Any, Any]:
    """Positions and weights of the taps around the column ``source``, in either arithmetic.

    ``width`` is the factor of distances with antialias; rows of weights are then scaled to a sum of 1.
    """
    base = numbers.ceil(source) - 1
    distance = numbers.absolute(steps - (source - base))
    distance = distance if width is None else distance * width
    weights = _linear(numbers, distance) if method == "linear" else _cubic(node, numbers, distance)
    at = base + steps
    if node.attr("exclude_outside", 0):
        outside = numbers.logical_or(at < 0, at > (numbers.number(have) - 1))
        weights = numbers.select(outside, weights * 0, weights)
    if node.attr("exclude_outside", 0) or width is not None:
        total = _row_sums(node, weights)
        weights = weights / total
    return at, weights


def _row_sums(node: OnnxNode, weights: Any) -> Any:
    if isinstance(weights, Operand):
        return Operand(node, node.make("sum", weights.tensor, axis=(1,), keepdims=True))
    return weights.sum(1, keepdims=True)


def _linear(numbers: Any, distance: Any) -> Any:
    return numbers.select(distance < 1, distance * -1 + 1, distance * 0)


def _cubic(node: OnnxNode, numbers: Any, t: Any) -> Any:
    """Keys' cubic weights."""
    a = float(node.attr("cubic_coeff_a", -0.75))
    inner = (t * (a + 2) - (a + 3)) * t * t + 1
    outer = ((t * a - 5 * a) * t + 8 * a) * t - 4 * a
    far = numbers.select(t < 2, outer, t * 0)
    return numbers.select(t > 1, far, inner)


def resize_antialiased(
    node: OnnxNode, data: Expr, changed: dict[int, tuple[Dim, Any]], method: str, mode: str
) -> Expr:
    """Return ``data`` with the axes ``changed`` (new extent, scale) resized, antialiased, by matrix products.

    The filter is as wide as the pixels that are combined, and everything is known at import.
    """
    if mode not in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
        node.unsupported(f"antialias=1 with coordinate_transformation_mode {mode!r}")
    dtype, rank = node.dtype(data), node.rank(data)
    work = "float64" if dtype == "float64" else "float32"
    made = node.cast(data, work)
    for place, (extent, factor) in changed.items():
        have = node.shape(made)[place]
        assert isinstance(have, int)
        assert isinstance(extent, int)
        if have == 0 or extent == 0:
            node.bad(f"axis {place} of {have} elements resized to {extent}")
        given = isinstance(factor, float)
        axis = Axis(place, have, extent, np.float64(factor if given else extent / have), given, None)
        order = [*(a for a in range(rank) if a != place), place]
        matrix = node.const(_matrix(node, axis, have, extent, method, mode), work)
        moved = node.make("nn.dense", node.transpose(made, order), matrix)
        made = node.transpose(moved, [order.index(a) for a in range(rank)])
    return node.cast(made, dtype)


def _matrix(node: OnnxNode, axis: Axis, have: int, extent: int, method: str, mode: str) -> np.ndarray:
    """``(extent, have)``: the weight of each source pixel in each new one; each row has the sum 1."""
    node.check_table(extent, have)
    numbers = NumpyNumbers(np.dtype("float64"))
    width = min(axis.scale, 1.0)
    first = int(np.floor(-_TAPS_PER_SIDE[method] / width)) + 1
    with np.errstate(all="ignore"):
        source = _sources(numbers, axis, mode, np.arange(extent, dtype=np.float64))
    if mode == "pytorch_half_pixel" and extent == 1:  # as in onnx's reference
        source = np.full(1, -0.5)
    at, weights = _taps(node, numbers, source[:, None], np.arange(first, 2 - first), width, have, method)
    made = np.zeros((extent, have))
    np.add.at(made, (np.arange(extent)[:, None], np.clip(at, 0, have - 1).astype(np.int64)), weights)
    return made
