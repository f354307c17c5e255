"""Converters for opsets 1 to 6, where an operator differs from opset 7."""

from __future__ import annotations

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import activation, matmul
from tvmlite.relay.onnx.ops.images import resize
from tvmlite.relay.onnx.reading.registry import converter


@converter("Gemm")
def gemm(node: OnnxNode, a: Expr, b: Expr, c: Expr) -> Expr:
    """Gemm: ``broadcast`` allows ``c`` to be smaller than the product."""
    made = matmul.gemm(node, a, b, c)
    if not node.flag("broadcast") and node.rank(c) != 2:
        node.bad(f"C is {show_shape(node.shape(c))}, without broadcast=1")
    return made


@converter("PRelu")
def prelu(node: OnnxNode, data: Expr, slope: Expr) -> Expr:
    """PRelu: one slope for all, or one for each channel, the second axis."""
    extents = node.shape(slope)
    if all(dims.equal(d, 1) for d in extents):
        return activation.prelu(node, data, node.reshape(slope, ()))
    if len(extents) != 1 or node.rank(data) < 2 or not dims.equal(extents[0], node.shape(data)[1]):
        node.bad(f"slopes are {show_shape(extents)} for data {show_shape(node.shape(data))}")
    return activation.prelu(node, data, node.reshape(slope, (*extents, *(1,) * (node.rank(data) - 2))))


@converter("Tile")
def tile(node: OnnxNode, data: Expr, tiles: Expr, axis: Expr) -> Expr:
    """Tile: copies along one axis."""
    (count,), (along,) = node.ints(tiles, "tiles"), node.static_ints(axis, "axis")
    place = node.axis(along, node.rank(data))
    return node.make("tile", data, reps=tuple(count if i == place else 1 for i in range(node.rank(data))))


@converter("Upsample")
def upsample(node: OnnxNode, data: Expr) -> Expr:
    """Upsample: an image scaled by factors of its height and width."""
    if node.rank(data) != 4:
        node.bad(f"data of rank {node.rank(data)}, expected an image of 4 axes")
    if node.attr("mode") != "nearest":
        node.unsupported(f"mode {node.attr('mode')!r}: how it places its samples is not defined")
    factors = [1.0, 1.0, float(node.required("height_scale")), float(node.required("width_scale"))]
    return resize.upsample_by(node, data, factors)
