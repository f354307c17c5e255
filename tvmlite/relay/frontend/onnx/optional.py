"""ONNX's optional values, where they are tensors: known at import to be there or not."""

from __future__ import annotations

from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.frontend.onnx.registry import converter
from tvmlite.relay.ir import Expr


@converter("OptionalHasElement", since=15)
def has_element(node: OnnxNode, data: Expr | None = None) -> Expr:
    return node.const(data is not None, "bool")


@converter("OptionalGetElement", since=15)
def get_element(node: OnnxNode, data: Expr | None = None) -> Expr:
    if data is None:
        node.bad("of an optional that is empty")
    return data
