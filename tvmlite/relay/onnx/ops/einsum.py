"""ONNX's Einsum: Relay's, with operands whose extents are made to match."""

from __future__ import annotations

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.nodes import Call, Expr, Tuple
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape, common_extent
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.relay.ops.products.einsum import letters_of


@converter("Einsum", since=12)
def einsum(node: OnnxNode, *inputs: Expr) -> Expr:
    """Einsum: the extents of a letter are equal or 1, which is checked at run time if it is not known."""
    equation = node.required("equation")
    try:
        names, _ = letters_of(Call("einsum", ()), equation, [node.rank(one) for one in inputs])
    except TypeInferError as error:
        node.bad(error.message.removeprefix("einsum: "))
    shapes = [node.shape(value) for value in inputs]
    met: dict[str, list[Dim]] = {}
    for letters, shape in zip(names, shapes, strict=True):
        for letter, extent in zip(letters, shape, strict=True):
            met.setdefault(letter, []).append(extent)
    size = {letter: common_extent(node, extents, shapes) for letter, extents in met.items()}
    fitted = []
    for letters, value, shape in zip(names, inputs, shapes, strict=True):
        wanted = (d if dims.equal(d, 1) else size[c] for c, d in zip(letters, shape, strict=True))
        fitted.append(assume_shape(node, value, tuple(wanted)))
    return node.make("einsum", Tuple(tuple(fitted)), equation=equation)
