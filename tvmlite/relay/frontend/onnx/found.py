"""ONNX's operators of results whose extent comes from the data: NonZero, Compress, Unique."""

from __future__ import annotations

from tvmlite.relay.frontend.onnx import demand
from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.frontend.onnx.registry import converter
from tvmlite.relay.ir import Expr


@converter("NonZero", since=9)
def non_zero(node: OnnxNode, data: Expr) -> Expr:
    """The indices of elements other than 0, a column each."""
    (count,) = demand.bind(node, node.make("count_nonzero", data), ["count"])
    return node.transpose(node.make("argwhere", data, count=count), (1, 0))
