"""ONNX's operators of data-dependent extents: NonZero, Compress, Unique, NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter


@converter("NonZero", since=9)
def non_zero(node: OnnxNode, data: Expr) -> Expr:
    """NonZero: the indices of nonzero elements, a column for each."""
    (count,) = bind_dims(node, node.make("count_nonzero", data), ["count"])
    return node.transpose(node.make("argwhere", data, count=count), (1, 0))


@converter("Compress", since=9)
def compress(node: OnnxNode, data: Expr, condition: Expr) -> Expr:
    """Compress: the elements, along an axis or of the flattened data, for which the condition holds."""
    axis = node.attr("axis")
    if axis is None:
        data, axis = node.reshape(data, (node.product(node.shape(data)),)), 0
    (count,) = bind_dims(node, node.make("count_nonzero", condition), ["count"])
    chosen = node.reshape(node.make("argwhere", condition, count=count), (count,))
    return node.make("take", data, chosen, axis=node.axis(axis, node.rank(data)))


@converter("NonMaxSuppression", since=10)
def non_max_suppression(
    node: OnnxNode,
    boxes: Expr,
    scores: Expr,
    most: Expr | None = None,
    overlap: Expr | None = None,
    least: Expr | None = None,
) -> Expr:
    """NonMaxSuppression: rows (batch, class, box) of the selected boxes."""
    limits = [
        node.const([default], dtype) if given is None else node.reshape(given, (1,))
        for given, default, dtype in (
            (most, 0, "int64"),
            (overlap, 0.0, "float32"),
            (least, -np.inf, "float32"),
        )
    ]
    center = node.flag("center_point_box")
    found = node.make("vision.all_class_non_max_suppression", boxes, scores, *limits, center_point_box=center)
    (count,) = bind_dims(node, node.field(found, 1), ["count"])
    rows = node.field(found, 0)
    return node.make("strided_window", rows, begin=(0, 0), strides=(1, 1), shape=(count, 3))


MAX_COLUMNS = 64
"""The most elements of a slice in Unique: slices are sorted by one element after the other."""


@converter("Unique", since=11)
def unique(node: OnnxNode, data: Expr) -> list[Expr]:
    """Unique: the distinct elements, or slices along an axis; with the position of each one's first
    occurrence, the index of each element among them, and their numbers of occurrences. Sorted, or in order of
    first occurrence."""
    axis = node.attr("axis")
    if axis is None:
        data = node.reshape(data, (node.product(node.shape(data)),))
    axis = 0 if axis is None else node.axis(axis, node.rank(data))
    order, begins = _sorted_slices(node, data, axis)
    (total,) = node.shape(order)
    (count,) = bind_dims(node, node.make("count_nonzero", begins), ["count"])
    positions = node.reshape(node.make("argwhere", begins, count=count), (count,))
    firsts = node.make("take", order, positions, axis=0)
    group = node.subtract(node.make("cumsum", node.cast(begins, "int64"), axis=0, dtype="int64"), 1)
    if not node.flag("sorted"):
        by_first = node.make("argsort", firsts, axis=0, dtype="int64")
        group = node.make("take", node.make("argsort", by_first, axis=0, dtype="int64"), group, axis=0)
        firsts = node.make("take", firsts, by_first, axis=0)
    zeros, ones = node.full(0, (total,), "int64"), node.full(1, (total,), "int64")
    inverse = node.make("scatter_elements", zeros, order, group, axis=0, reduction="update")
    none = node.full(0, (count,), "int64")
    counts = node.make("scatter_elements", none, group, ones, axis=0, reduction="add")
    return [node.make("take", data, firsts, axis=axis), firsts, inverse, counts]


def _sorted_slices(node: OnnxNode, data: Expr, axis: int) -> tuple[Expr, Expr]:
    """The order of the slices along ``axis``, and which, in that order, differ from the one before."""
    shape, rank = node.shape(data), node.rank(data)
    width = node.product([d for k, d in enumerate(shape) if k != axis])
    if not isinstance(width, int) or width > MAX_COLUMNS:
        node.unsupported(f"slices of {width} elements, at most {MAX_COLUMNS} are compared")
    total = shape[axis]
    moved = node.transpose(data, [axis, *(k for k in range(rank) if k != axis)])
    rows = node.reshape(moved, (total, width))
    places = node.arange(total)
    order = places
    for column in range(width - 1, -1, -1):
        cells = node.make("take", rows, node.const(column, "int64"), axis=1)
        rank_of = node.make("argsort", node.make("take", cells, order, axis=0), axis=0, dtype="int64")
        order = node.make("take", order, rank_of, axis=0)
    ordered = node.make("take", rows, order, axis=0)
    previous = node.make("maximum", node.subtract(places, 1), 0)
    differs = node.make("not_equal", ordered, node.make("take", ordered, previous, axis=0))
    begins = node.make("logical_or", node.make("any", differs, axis=(1,)), node.make("equal", places, 0))
    return order, begins
