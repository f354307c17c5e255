"""Quantized operators of the domain com.microsoft, computed as float operators between quantized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import matmul, recurrent
from tvmlite.relay.onnx.ops.microsoft.layers import DOMAIN, add_optional, transposed, unpacked
from tvmlite.relay.onnx.ops.quantized import quant
from tvmlite.relay.onnx.ops.shapes.index import normalize_indices
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.relay.ops.recurrent import steps

_FLOAT_OPERATORS = {
    "QLinearAdd": ("Add", 0, 2),
    "QLinearAveragePool": ("AveragePool", 0, 1),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", 0, 1),
    "QLinearLeakyRelu": ("LeakyRelu", 0, 1),
    "QLinearSigmoid": ("Sigmoid", 0, 1),
    "QLinearSoftmax": ("Softmax", 0, 1),
    "QLinearWhere": ("Where", 1, 2),
}
"""ONNX's float operator; the number of leading inputs that are not quantized; the number of those after them
with three each: codes, scale and zero point. The last inputs are the result's scale and zero point."""


@converter(*_FLOAT_OPERATORS, domain=DOMAIN)
def qlinear(node: OnnxNode, *inputs: Expr | None) -> Expr:
    """Quantized operators by float ones; before ``opset`` 13 Softmax is over all axes from ``axis`` on."""
    operator, begin, count = _FLOAT_OPERATORS[node.op_type]
    end = begin + 3 * count
    if not end < len(inputs) <= end + 2:
        node.bad(f"has {len(inputs)} inputs, expected {end + 1} or {end + 2}")
    scale, zero = (*inputs[end:], None)[:2]
    return _by_float_operator(node, operator, inputs[:begin], inputs[begin:end], scale, zero)


@converter("QLinearConcat", domain=DOMAIN)
def qlinear_concat(node: OnnxNode, scale: Expr, zero: Expr, *inputs: Expr | None) -> Expr:
    """QLinearConcat: the inputs are three each: codes, scale and zero point."""
    if not inputs or len(inputs) % 3 == 1:
        node.bad(f"has {len(inputs) + 2} inputs, expected 2 and 3 for each part")
    return _by_float_operator(node, "Concat", (), inputs, scale, zero)


def _by_float_operator(
    node: OnnxNode,
    operator: str,
    others: Sequence[Expr | None],
    quantized: Sequence[Expr | None],
    scale: Expr | None,
    zero: Expr | None,
) -> Expr:
    """ONNX's float ``operator`` between quantized tensors.

    onnxruntime's formulas for addition and multiplication round differently on each kind of processor; a
    result of ours may be a step off if the exact one is halfway between two.
    """
    triples = [(*quantized[i : i + 3], None)[:3] for i in range(0, len(quantized), 3)]
    for n, (x, own, point) in enumerate(triples):
        _check_one(node, f"of input {n}", x, own, point)
    _check_one(node, "of the result", None, scale, zero)
    reals = [quant.dequantize(node, x, own, point) for x, own, point in triples if x and own]
    if scale is None or len(reals) < len(triples):
        node.bad("a tensor or its scale is missing")
    last = bool(node.flag("channels_last"))
    reals = [_move_channels(node, x, 1) for x in reals] if last else reals
    made = node.plain(operator, *others, *reals, opset=node.attr("opset", 0))
    made = _move_channels(node, made, -1) if last else made
    kind = node.dtype(quantized[0] or scale if zero is None else zero)
    return quant.quantize(node, made, scale, zero, kind)


def _check_one(node: OnnxNode, which: str, data: Expr | None, scale: Expr | None, zero: Expr | None) -> None:
    """Reject a scale or zero point that is not one number, or a zero point of another dtype than the data."""
    matmul.check_parameter(node, f"the scale {which}", scale, 1)
    dtype = "" if data is None else node.dtype(data)
    matmul.check_parameter(node, f"the zero point {which}", zero, 1, dtype)


def _move_channels(node: OnnxNode, data: Expr, place: int) -> Expr:
    """``data`` with its channels, which are last or at axis 1, moved to axis ``place``, 1 or -1."""
    axes = list(range(node.rank(data)))
    axes.insert(place if place > 0 else len(axes), axes.pop(-1 if place > 0 else 1))
    return node.transpose(data, axes)


@converter("QLinearMul", domain=DOMAIN)
def qlinear_mul(node: OnnxNode, *inputs: Expr | None) -> Expr:
    """QLinearMul: the integers' product times ``a_scale * b_scale / scale``, one factor as in onnxruntime."""
    if not 7 <= len(inputs) <= 8:
        node.bad(f"has {len(inputs)} inputs, expected 7 or 8")
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = (*inputs, None)[:8]
    if a is None or a_scale is None or b is None or b_scale is None or scale is None:
        node.bad("a tensor or its scale is missing")
    for n, triple in enumerate(((a, a_scale, a_zero), (b, b_scale, b_zero))):
        _check_one(node, f"of input {n}", *triple)
    _check_one(node, "of the result", a, scale, zero)
    pair = ((a, a_zero), (b, b_zero))
    left, right = (matmul.centred(node, x, None if z is None else node.reshape(z, ()), True) for x, z in pair)
    factor, divisor = (node.reshape(x, ()) for x in (node.multiply(a_scale, b_scale), scale))
    kind = node.dtype(a)
    point = node.const(0, kind) if zero is None else node.reshape(zero, ())
    product = node.cast(node.multiply(left, right), "float32")
    moved = node.add(node.multiply(product, node.divide(factor, divisor)), node.cast(point, "float32"))
    low, high = dtypes.limits(kind)
    return node.cast(node.make("clip", node.make("round", moved), a_min=float(low), a_max=float(high)), kind)


@converter("QGemm", domain=DOMAIN)
def qgemm(node: OnnxNode, *inputs: Expr | None) -> Expr:
    """QGemm: an integer product with an int32 bias; a float result unless an output scale is given."""
    if not 6 <= len(inputs) <= 9:
        node.bad(f"has {len(inputs)} inputs, expected 6 to 9")
    a, a_scale, a_zero, b, b_scale, b_zero, bias, out_scale, out_zero = (*inputs, *[None] * 3)[:9]
    if a is None or a_scale is None or b is None or b_scale is None:
        node.bad("a matrix or its scale is missing")
    left, right = transposed(node, a, b)
    matmul.check_parameter(node, "the scale of b", b_scale, node.shape(right)[1])
    total = add_optional(node, matmul.matmul_integer(node, left, right, a_zero, b_zero), bias)
    alpha = node.attr("alpha", 1.0)
    factor = node.multiply(a_scale if alpha == 1.0 else node.multiply(a_scale, alpha), b_scale)
    if all(dims.equal(d, 1) for d in node.shape(factor)):
        factor = node.reshape(factor, ())
    real = node.multiply(node.cast(total, "float32"), factor)
    if out_scale is None:
        return real
    kind = "uint8" if out_zero is None else node.dtype(out_zero)
    assert dtypes.bits(kind) == 8
    return quant.quantize(node, real, out_scale, out_zero, kind)


@converter("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(
    node: OnnxNode, data: Expr, indices: Expr, scales: Expr, zeros: Expr | None = None
) -> Expr:
    """GatherBlockQuantized: rows by index, dequantized by block scales and zero points; codes may be
    packed."""
    bits, middle = node.attr("bits", 4), 0
    if node.dtype(data) == "uint8":
        data = _unpacked_codes(node, data, bits)
        middle = 1 << (bits - 1)
        zeros = None if zeros is None else _unpacked_codes(node, zeros, bits)
    elif not dtypes.is_int(node.dtype(data)):
        node.unsupported(f"of {node.dtype(data)}")
    rank = node.rank(data)
    axis = node.axis(node.attr("gather_axis", 0), rank, "gather_axis")
    blocked = node.axis(node.attr("quantize_axis", 1), rank, "quantize_axis")
    if axis == blocked:
        node.unsupported("gather_axis equal to quantize_axis")
    places = normalize_indices(node, indices, node.shape(data)[axis])
    picked, factors, *points = (
        node.make("take", x, places, axis=axis) for x in (data, scales, *([] if zeros is None else [zeros]))
    )
    blocked += node.rank(indices) - 1 if blocked > axis else 0
    shape, block = node.shape(picked), node.attr("block_size", 128)
    moved = node.subtract(node.cast(picked, "float32"), float(middle))
    if points:
        wide = quant.repeat_blocks(node, node.cast(points[0], "float32"), shape, blocked, block)
        moved = node.subtract(node.cast(picked, "float32"), wide)
    wide = quant.repeat_blocks(node, node.cast(factors, "float32"), shape, blocked, block)
    return node.cast(node.multiply(moved, wide), node.dtype(scales))


def _unpacked_codes(node: OnnxNode, data: Expr, bits: int) -> Expr:
    """The codes packed in the bytes of a constant, one byte for each."""
    if bits not in (2, 4, 8):
        node.bad(f"bits is {bits}, expected 2, 4 or 8")
    if not isinstance(data, Constant):
        node.unsupported("codes that are not constant")
    return Constant(unpacked(data.data, bits), node.span)


@converter("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(
    node: OnnxNode, data: Expr, weight: Expr, recurrence: Expr, *more: Expr | None
) -> Any:
    """DynamicQuantizeLSTM: integer weights, stored input first; further inputs are those of LSTM, then scales
    and zero points of the weight and of the recurrence.

    The operands multiplied by them are rounded to 8 bits as in onnxruntime: all inputs by one scale, and at
    each step the hidden state, with a scale for each sample (onnxruntime: for those of a thread).
    """
    weight_parameters, recurrence_parameters = more[5:7], more[7:9]
    if len(more) != 9 or None in (*weight_parameters, *recurrence_parameters):
        node.bad(f"has {len(more) + 3} inputs, expected 12, the last 4 of which must be given")
    whole: dict[Expr, list[Expr]] = {}

    def products(direction: int, inputs: Expr) -> Expr:
        if inputs not in whole:
            whole[inputs] = quant.dynamic_quantize(node, inputs)
        codes, scale, zero = whole[inputs]
        columns, weight_scale, weight_zero = (
            _of_direction(node, x, direction) for x in (weight, *weight_parameters) if x is not None
        )
        total = node.cast(matmul.matmul_integer(node, codes, columns, zero, weight_zero), "float32")
        return node.multiply(total, node.multiply(scale, weight_scale))

    def recurrent_weight(direction: int) -> tuple[Expr, list[Expr]]:
        parts = (
            _of_direction(node, x, direction) for x in (recurrence, *recurrence_parameters) if x is not None
        )
        return _packed(node, *parts)

    rows_last = [node.transpose(x, (0, 2, 1)) for x in (weight, recurrence)]
    quantized = recurrent.Quantized(products, recurrent_weight)
    return recurrent.lstm(node, data, *rows_last, *more[:5], quantized)


def _of_direction(node: OnnxNode, value: Expr, direction: int) -> Expr:
    """The part of ``value`` for a direction."""
    if isinstance(value, Constant):
        return Constant(value.data[direction], node.span)
    picked = node.slice(value, [0], [direction], [direction + 1])
    return node.reshape(picked, node.shape(value)[1:])


def _packed(node: OnnxNode, weight: Expr, scale: Expr, zero: Expr) -> tuple[Expr, list[Expr]]:
    """A recurrence ``(size, gates * size)`` in the layout of nn.quantized_lstm_scan, with a scale, zero point
    and sum for each column."""
    size, columns = node.shape(weight)
    assert isinstance(size, int)
    assert isinstance(columns, int)
    moved = 128 if node.dtype(weight) == "uint8" else 0
    weight, zero = (node.subtract(node.cast(x, "int32"), moved) for x in (weight, zero))
    zero, scale = (node.broadcast_to(node.reshape(x, (-1,)), (columns,)) for x in (zero, scale))
    sums = node.make("sum", node.subtract(weight, zero), axis=(0,), keepdims=False)
    recurrence = steps.pack_recurrence(weight, columns // size, size, node.make)
    return recurrence, [scale, zero, sums]
