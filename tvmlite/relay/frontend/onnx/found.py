"""ONNX's operators of results whose extent comes from the data: NonZero, Compress, NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.frontend.onnx import demand
from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.frontend.onnx.registry import converter
from tvmlite.relay.ir import Expr


@converter("NonZero", since=9)
def non_zero(node: OnnxNode, data: Expr) -> Expr:
    """The indices of elements other than 0, a column each."""
    (count,) = demand.bind(node, node.make("count_nonzero", data), ["count"])
    return node.transpose(node.make("argwhere", data, count=count), (1, 0))


@converter("Compress", since=9)
def compress(node: OnnxNode, data: Expr, condition: Expr) -> Expr:
    """What stands, along an axis or of all elements in a row, where the condition holds."""
    axis = node.attr("axis")
    if axis is None:
        data, axis = node.reshape(data, (node.product(node.shape(data)),)), 0
    (count,) = demand.bind(node, node.make("count_nonzero", condition), ["count"])
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
    """Rows (batch, class, box) of the boxes that stay."""
    limits = [
        node.const([default], dtype) if given is None else node.reshape(given, (1,))
        for given, default, dtype in (
            (most, 0, "int64"),
            (overlap, 0.0, "float32"),
            (least, -np.inf, "float32"),
        )
    ]
    center = bool(node.attr("center_point_box", 0))
    found = node.make("vision.all_class_non_max_suppression", boxes, scores, *limits, center_point_box=center)
    (count,) = demand.bind(node, node.field(found, 1), ["count"])
    rows = node.field(found, 0)
    return node.make("strided_window", rows, begin=(0, 0), strides=(1, 1), shape=(count, 3))
