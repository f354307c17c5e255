"""Quantised operators of the domain com.microsoft: between quantised tensors, the arithmetic of reals."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import broadcast_all
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import matmul, nn, quant, recurrent
from tvmlite.relay.onnx.ops.index import from_front
from tvmlite.relay.onnx.ops.microsoft import DOMAIN, _add, _transposed, unpacked
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.relay.ops.recurrent_loops import LANES
from tvmlite.te.intrin.x86 import QUAD


@converter("QuantizeLinear", domain=DOMAIN)
def quantize_linear(node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None = None) -> Expr:
    return quant.quantize_linear(node, data, scale, zero)


@converter("DequantizeLinear", domain=DOMAIN)
def dequantize_linear(node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None = None) -> Expr:
    return quant.dequantize(node, data, scale, zero)


@converter("QLinearAdd", "QLinearMul", domain=DOMAIN)
def qlinear_binary(
    node: OnnxNode,
    a: Expr,
    a_scale: Expr,
    a_zero: Expr | None,
    b: Expr,
    b_scale: Expr,
    b_zero: Expr | None,
    out_scale: Expr,
    out_zero: Expr | None = None,
) -> Expr:
    left, right = quant.dequantize(node, a, a_scale, a_zero), quant.dequantize(node, b, b_scale, b_zero)
    operator = "add" if node.op_type == "QLinearAdd" else "multiply"
    made = node.make(operator, *broadcast_all(node, left, right))
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(a))


@converter("QLinearSigmoid", "QLinearLeakyRelu", domain=DOMAIN)
def qlinear_unary(
    node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None, out_scale: Expr, out_zero: Expr | None = None
) -> Expr:
    real = quant.dequantize(node, data, scale, zero)
    if node.op_type == "QLinearSigmoid":
        made = node.make("sigmoid", real)
    else:
        made = node.make("nn.leaky_relu", real, alpha=node.attr("alpha", 0.01))
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(data))


@converter("QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_global_average(
    node: OnnxNode, data: Expr, scale: Expr, zero: Expr, out_scale: Expr, out_zero: Expr
) -> Expr:
    if node.attr("channels_last", 0):
        node.unsupported("channels_last=1")
    real = quant.dequantize(node, data, scale, zero)
    made = node.make("mean", real, axis=tuple(range(2, node.rank(data))), keepdims=True)
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(data))


@converter("QLinearConcat", domain=DOMAIN)
def qlinear_concat(node: OnnxNode, out_scale: Expr, out_zero: Expr, *inputs: Expr) -> Expr:
    """Each three inputs are data, scale and zero point."""
    triples = [inputs[i : i + 3] for i in range(0, len(inputs), 3)]
    reals = [quant.dequantize(node, *triple) for triple in triples]
    axis = node.axis(node.required("axis"), node.rank(inputs[0]))
    made = node.many("concatenate", reals, axis=axis)
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(out_zero))


@converter("QGemm", domain=DOMAIN)
def qgemm(
    node: OnnxNode,
    a: Expr,
    a_scale: Expr,
    a_zero: Expr,
    b: Expr,
    b_scale: Expr,
    b_zero: Expr,
    bias: Expr | None = None,
    out_scale: Expr | None = None,
    out_zero: Expr | None = None,
) -> Expr:
    """An integer product with an int32 bias; real unless an output scale is given."""
    left, right = (
        _transposed(node, x) if node.attr(name, 0) else x for x, name in ((a, "transA"), (b, "transB"))
    )
    total = _add(node, matmul.matmul_integer(node, left, right, a_zero, b_zero), bias)
    factor = a_scale * b_scale
    factor = (factor * node.attr("alpha", 1.0)) if node.attr("alpha", 1.0) != 1.0 else factor
    if all(dims.equal(d, 1) for d in node.shape(factor)):
        factor = node.reshape(factor, ())
    real = node.cast(total, "float32") * factor
    if out_scale is None:
        return real
    kind = "uint8" if out_zero is None else node.dtype(out_zero)
    assert dtypes.bits(kind) == 8
    return quant.quantize(node, real, out_scale, out_zero, kind)


@converter("QLinearSoftmax", domain=DOMAIN)
def qlinear_softmax(
    node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None, out_scale: Expr, out_zero: Expr
) -> Expr:
    """``opset`` determines which Softmax: before 13 all axes from ``axis`` on are one."""
    real, shape = quant.dequantize(node, data, scale, zero), node.shape(data)
    axis = node.axis(node.attr("axis", -1), len(shape))
    if node.required("opset") >= 13:
        made = node.make("nn.softmax", real, axis=axis)
    else:
        flat = node.reshape(real, (node.product(shape[:axis]), node.product(shape[axis:])))
        made = node.reshape(node.make("nn.softmax", flat, axis=1), shape)
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(data))


@converter("QLinearAveragePool", domain=DOMAIN)
def qlinear_average_pool(
    node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None, out_scale: Expr, out_zero: Expr | None = None
) -> Expr:
    if node.attr("channels_last", 0):
        node.unsupported("channels_last=1")
    made = nn.pool(node, quant.dequantize(node, data, scale, zero), "avg", 0.0)
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(data))


@converter("QLinearWhere", domain=DOMAIN)
def qlinear_where(
    node: OnnxNode,
    condition: Expr,
    a: Expr,
    a_scale: Expr,
    a_zero: Expr,
    b: Expr,
    b_scale: Expr,
    b_zero: Expr,
    out_scale: Expr,
    out_zero: Expr,
) -> Expr:
    left, right = quant.dequantize(node, a, a_scale, a_zero), quant.dequantize(node, b, b_scale, b_zero)
    made = node.make("where", *broadcast_all(node, condition, left, right))
    return quant.quantize(node, made, out_scale, out_zero, node.dtype(out_zero))


@converter("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(
    node: OnnxNode, data: Expr, indices: Expr, scales: Expr, zeros: Expr | None = None
) -> Expr:
    """Rows picked by their indices, then made real, a scale and zero point a block; a byte holds several."""
    bits, middle = node.attr("bits", 4), 0
    if node.dtype(data) == "uint8":
        data = _codes(node, data, bits)
        middle = 1 << (bits - 1)
        zeros = None if zeros is None else _codes(node, zeros, bits)
    elif not dtypes.is_int(node.dtype(data)):
        node.unsupported(f"of {node.dtype(data)}")
    rank = node.rank(data)
    axis = node.axis(node.attr("gather_axis", 0), rank, "gather_axis")
    blocked = node.axis(node.attr("quantize_axis", 1), rank, "quantize_axis")
    if axis == blocked:
        node.unsupported("gather_axis equal to quantize_axis")
    places = from_front(node, indices, node.shape(data)[axis])
    picked, factors, *points = (
        node.make("take", x, places, axis=axis) for x in (data, scales, *([] if zeros is None else [zeros]))
    )
    blocked += node.rank(indices) - 1 if blocked > axis else 0
    shape, block = node.shape(picked), node.attr("block_size", 128)
    moved = node.cast(picked, "float32") - float(middle)
    if points:
        wide = quant.spread_blocks(node, node.cast(points[0], "float32"), shape, blocked, block)
        moved = node.cast(picked, "float32") - wide
    wide = quant.spread_blocks(node, node.cast(factors, "float32"), shape, blocked, block)
    return node.cast(moved * wide, node.dtype(scales))


def _codes(node: OnnxNode, data: Expr, bits: int) -> Expr:
    """The codes that lie side by side in the bytes of a constant, a byte each."""
    if bits not in (2, 4, 8):
        node.bad(f"bits is {bits}, expected 2, 4 or 8")
    if not isinstance(data, Constant):
        node.unsupported("codes that are not constant")
    return Constant(unpacked(data.data, bits), node.span)


@converter("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    recurrence: Expr,
    bias: Expr | None,
    lengths: Expr | None,
    initial: Expr | None,
    cell: Expr | None,
    peephole: Expr | None,
    weight_scale: Expr,
    weight_zero: Expr,
    recurrence_scale: Expr,
    recurrence_zero: Expr,
) -> list[Expr]:
    """An LSTM of integer weights, which lie input first.

    What is multiplied with them is rounded to 8 bits as onnxruntime does it: all inputs by one scale, and at
    each step the hidden state, each sample's by its own (onnxruntime: those of a thread by theirs).
    """
    whole: dict[Expr, list[Expr]] = {}

    def products(direction: int, inputs: Expr) -> Expr:
        if inputs not in whole:
            whole[inputs] = quant.dynamic_quantize(node, inputs)
        codes, scale, zero = whole[inputs]
        columns, own, own_zero = (_part(node, x, direction) for x in (weight, weight_scale, weight_zero))
        total = node.cast(matmul.matmul_integer(node, codes, columns, zero, own_zero), "float32")
        factor = scale * own
        return total * factor

    def recurrent_weight(direction: int) -> tuple[Expr, list[Expr]]:
        parts = (_part(node, x, direction) for x in (recurrence, recurrence_scale, recurrence_zero))
        return _in_quads(node, *parts)

    rows_last = [node.transpose(x, (0, 2, 1)) for x in (weight, recurrence)]
    quantized = recurrent.Quantized(products, recurrent_weight)
    return recurrent.lstm(node, data, *rows_last, bias, lengths, initial, cell, peephole, quantized)


def _part(node: OnnxNode, value: Expr, direction: int) -> Expr:
    """What ``value`` has for a direction."""
    if isinstance(value, Constant):
        return Constant(value.data[direction], node.span)
    picked = node.slice(value, [0], [direction], [direction + 1])
    return node.reshape(picked, node.shape(value)[1:])


def _in_quads(node: OnnxNode, weight: Expr, scale: Expr, zero: Expr) -> tuple[Expr, list[Expr]]:
    """A recurrence ``(size, gates * size)`` as nn.quantized_lstm_scan takes it; a scale, zero point and sum
    of each column."""
    size, columns = node.shape(weight)
    assert isinstance(size, int)
    assert isinstance(columns, int)
    moved = 128 if node.dtype(weight) == "uint8" else 0
    weight, zero = ((node.cast(x, "int32") - moved) for x in (weight, zero))
    zero, scale = (node.broadcast_to(node.reshape(x, (-1,)), (columns,)) for x in (zero, scale))
    sums = node.make("sum", weight - zero, axis=(0,), keepdims=False)
    gates, blocks, quads = columns // size, -(-size // LANES), -(-size // QUAD)
    made = node.reshape(weight, (size, gates, size))
    width = ((0, quads * QUAD - size), (0, 0), (0, blocks * LANES - size))
    made = node.cast(node.make("nn.pad", made, pad_width=width, pad_value=0.0), "int8")
    made = node.reshape(made, (quads, QUAD, gates, blocks, LANES))
    made = node.transpose(made, (3, 0, 2, 4, 1))
    return node.reshape(made, (blocks, quads, gates, LANES * QUAD)), [scale, zero, sums]
