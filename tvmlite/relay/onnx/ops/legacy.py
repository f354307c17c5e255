"""What ONNX's operators meant in opsets 1 to 6, where that differs from opset 7."""

from __future__ import annotations

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import activation, elementwise, matmul, nn, normalize, recurrent, resize, shape
from tvmlite.relay.onnx.ops.cast import cast_to
from tvmlite.relay.onnx.ops.pad import pad_by
from tvmlite.relay.onnx.reading.registry import converter


def _placed(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """``b`` shaped so that numpy's broadcasting puts it where ``axis`` and ``broadcast`` say.

    Without ``broadcast`` the shapes are equal. With it, ``b`` has one element, or its shape is a run of that
    of ``a``, which starts at ``axis``, or ends where ``a`` ends.
    """
    left, right = node.shape(a), node.shape(b)
    if all(dims.equal(d, 1) for d in right) and node.attr("broadcast", 0) and len(right) <= len(left):
        return node.reshape(b, ())
    if not node.attr("broadcast", 0):
        if len(left) != len(right) or any(
            isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(left, right, strict=True)
        ):
            node.bad(f"shapes {show_shape(left)} and {show_shape(right)}, without broadcast=1")
        return b
    start = node.attr("axis", len(left) - len(right))
    if start < 0:
        start += len(left)
    run = left[start : start + len(right)]
    fits = len(run) == len(right) and all(
        not isinstance(x, int) or not isinstance(y, int) or y in (1, x)
        for x, y in zip(run, right, strict=True)
    )
    if not fits:
        node.bad(f"shape {show_shape(right)} is no part of {show_shape(left)} at axis {start}")
    return node.reshape(b, (*right, *(1,) * (len(left) - start - len(right))))


@converter("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Greater", "Less")
def binary(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Broadcasting is asked for by attributes, and of the second operand only."""
    return elementwise.binary(node, a, _placed(node, a, b))


@converter("Div")
def divide(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    return elementwise.divide(node, a, _placed(node, a, b))


@converter("Pow")
def power(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    return elementwise.power(node, a, _placed(node, a, b))


@converter("Cast")
def cast(node: OnnxNode, data: Expr) -> Expr:
    """The type is a name: ``FLOAT``, ``INT64``, ..."""
    return cast_to(node, data, node.dtype_attr("to"))


@converter("Gemm")
def gemm(node: OnnxNode, a: Expr, b: Expr, c: Expr) -> Expr:
    """``broadcast`` says that ``c`` may be smaller than the product."""
    made = matmul.gemm(node, a, b, c)
    if not node.attr("broadcast", 0) and node.rank(c) != 2:
        node.bad(f"C is {show_shape(node.shape(c))}, without broadcast=1")
    return made


@converter("PRelu")
def prelu(node: OnnxNode, data: Expr, slope: Expr) -> Expr:
    """One slope for all, or one for each channel, the second axis."""
    extents = node.shape(slope)
    if all(dims.equal(d, 1) for d in extents):
        return activation.prelu(node, data, node.reshape(slope, ()))
    if len(extents) != 1 or node.rank(data) < 2 or not dims.equal(extents[0], node.shape(data)[1]):
        node.bad(f"slopes are {show_shape(extents)} for data {show_shape(node.shape(data))}")
    return activation.prelu(node, data, node.reshape(slope, (*extents, *(1,) * (node.rank(data) - 2))))


@converter("Selu")
def selu(node: OnnxNode, data: Expr) -> Expr:
    """The defaults have fewer digits than they have since opset 6."""
    return activation.scaled_elu(node, data, node.attr("alpha", 1.6732), node.attr("gamma", 1.0507))


@converter("BatchNormalization")
def batch_norm(
    node: OnnxNode, data: Expr, scale: Expr, bias: Expr, mean: Expr, var: Expr
) -> Expr | list[Expr]:
    if not node.attr("is_test", 0):
        node.unsupported("is_test=0: training")
    return normalize.batch_norm(node, data, scale, bias, mean, var)


@converter("Dropout")
def dropout(node: OnnxNode, data: Expr) -> Expr | list[Expr]:
    """Nothing is dropped in a test; the mask, of the data's type, is then not defined."""
    if not node.attr("is_test", 0) and node.attr("ratio", 0.5):
        node.unsupported("is_test=0: dropping at random")
    return elementwise.identity(node, data)


@converter("Reshape")
def reshape(node: OnnxNode, data: Expr) -> Expr:
    made = shape.resolve_shape(node, node.shape(data), list(node.required("shape")), allowzero=False)
    return node.reshape(data, made)


@converter("Pad")
def pad(node: OnnxNode, data: Expr) -> Expr:
    return pad_by(node, data, node.required("paddings"), float(node.attr("value", 0.0)), None)


@converter("Split")
def split(node: OnnxNode, data: Expr, sizes: Expr | None = None) -> list[Expr]:
    if not node.has("axis"):
        node.unsupported("no axis: which one is not defined")
    return shape.split(node, data, sizes)


@converter("Tile")
def tile(node: OnnxNode, data: Expr, tiles: Expr, axis: Expr) -> Expr:
    """Copies along one axis."""
    (count,), (along,) = node.ints(tiles, "tiles"), node.static_ints(axis, "axis")
    place = node.axis(along, node.rank(data))
    return node.make("tile", data, reps=tuple(count if i == place else 1 for i in range(node.rank(data))))


@converter("Upsample")
def upsample(node: OnnxNode, data: Expr) -> Expr:
    """An image by the factors of its height and width."""
    if node.rank(data) != 4:
        node.bad(f"data of rank {node.rank(data)}, expected an image of 4 axes")
    if node.attr("mode", "nearest") != "nearest":
        node.unsupported(f"mode {node.attr('mode')!r}: how it places its samples is not defined")
    factors = [1.0, 1.0, float(node.required("height_scale")), float(node.required("width_scale"))]
    return resize.upsample_by(node, data, factors)


@converter("LpPool")
def lp_pool(node: OnnxNode, data: Expr) -> Expr:
    """``p`` is a float, and the kernel need not be given: then nothing says what it is."""
    node.required("kernel_shape")
    return nn.lp_pool(node, data)


@converter("RNN")
def rnn(node: OnnxNode, *inputs: Expr) -> list[Expr]:
    return recurrent.rnn(_whole_sequence(node), *inputs)


@converter("LSTM")
def lstm(node: OnnxNode, *inputs: Expr) -> list[Expr]:
    return recurrent.lstm(_whole_sequence(node), *inputs)


@converter("GRU", since=3)
def gru(node: OnnxNode, *inputs: Expr) -> list[Expr]:
    return recurrent.gru(_whole_sequence(node), *inputs)


def _whole_sequence(node: OnnxNode) -> OnnxNode:
    """The node, refused if it names an output that ``output_sequence`` says it has not."""
    if node.wants(0) and not node.attr("output_sequence", 0):
        node.bad("its first output is named, output_sequence is 0")
    return node
