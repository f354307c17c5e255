"""ONNX's quantized operators, by qnn.quantize and qnn.dequantize or integer products."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import Shape, show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import nn
from tvmlite.relay.onnx.ops.cast import saturated
from tvmlite.relay.onnx.ops.matmul import as_uint8, centred, check_parameter, matmul_integer
from tvmlite.relay.onnx.reading.registry import converter

_INTEGER_CODES = ("int8", "uint8", "int16", "uint16", *dtypes.NARROW_INTS)
_WITHOUT_ZERO_POINT = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
_FLOAT_CODES = (*_WITHOUT_ZERO_POINT, "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")


@converter("QuantizeLinear", domain="com.microsoft")
@converter("QuantizeLinear", since=10)
def quantize_linear(node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None = None) -> Expr:
    """QuantizeLinear, also com.microsoft's: to ``output_dtype``, else the zero point's type, else uint8."""
    kind = node.dtype_attr("output_dtype", "uint8" if zero is None else node.dtype(zero))
    if zero is not None and kind != node.dtype(zero):
        node.bad(f"output_dtype is {kind}, the zero point is {node.dtype(zero)}")
    if kind not in (*_INTEGER_CODES, *_FLOAT_CODES):
        node.unsupported(f"to {kind}; supported are {', '.join((*_INTEGER_CODES, *_FLOAT_CODES))}")
    return quantize(node, data, scale, zero, kind)


def quantize(node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None, kind: str) -> Expr:
    """Return ``saturate(round(data / scale) + zero)``, with a scale for all, each position, or each block.

    The division is in ``precision``, else in the wider dtype of the two. Floats are rounded only once, to
    ``kind``; 8-bit ones have no zero point other than 0.
    """
    work = node.dtype_attr("precision", _division_dtype(node.dtype(data), node.dtype(scale)))
    if dtypes.bits(work) >= 32 and not dtypes.is_narrow(kind) and not node.attr("block_size", 0):
        factor, offset, axis = _parameters(node, data, scale, zero, kind)
        args = node.cast(data, work), node.cast(factor, work), node.cast(offset, "int32")
        return node.make("qnn.quantize", *args, axis=axis, out_dtype=kind)
    made = node.divide(node.cast(data, work), _broadcast_parameter(node, node.cast(scale, work), data))
    made = node.make("round", made) if dtypes.is_int(kind) else made
    wide = work if dtypes.bits(work) >= 32 else "float32"
    if zero is not None and kind not in _WITHOUT_ZERO_POINT:
        made = node.add(node.cast(made, wide), _broadcast_parameter(node, node.cast(zero, wide), data))
    if dtypes.is_float(kind):
        return saturated(node, made, kind) if node.attr("saturate", 1) else node.cast(made, kind)
    made, (low, high) = node.cast(made, wide), dtypes.limits(kind)
    made = node.make("where", node.make("isnan", made), node.const(0, wide), made)
    return node.cast(node.make("clip", made, a_min=float(low), a_max=float(high)), kind)


def _division_dtype(data: str, scale: str) -> str:
    """The wider of two floats, float32 for two different 16-bit floats; float32 for ints."""
    if not dtypes.is_float(data) or dtypes.is_narrow(scale):
        return "float32"
    if data == scale:
        return data
    return "float64" if "float64" in (data, scale) else "float32"


def _parameters(
    node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None, kind: str
) -> tuple[Expr, Expr, int]:
    """The scale and zero point as scalars, or as vectors along the axis returned."""
    rank = node.rank(data)
    if node.rank(scale) > 1:
        node.bad(f"a scale of rank {node.rank(scale)} without block_size, expected 0 or 1")
    zero = node.full(0, node.shape(scale), kind) if zero is None else zero
    if node.rank(scale) == 0 or dims.equal(node.shape(scale)[0], 1):
        return node.reshape(scale, ()), node.reshape(zero, ()), -1
    return scale, zero, node.axis(node.attr("axis", 1), rank)


@converter("DequantizeLinear", domain="com.microsoft")
@converter("DequantizeLinear", since=10)
def dequantize(node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None = None) -> Expr:
    """``(data - zero) * scale`` in float32, rounded to the output's type; 8-bit floats have no zero point."""
    kind, out = node.dtype(data), node.dtype_attr("output_dtype", node.dtype(scale))
    if dtypes.is_narrow(out):
        node.bad(f"its output would be {out}, like the scale: expected output_dtype to be a wider float")
    if not dtypes.is_narrow(kind) and not node.attr("block_size", 0):
        factor, offset, axis = _parameters(node, data, scale, zero, kind)
        args = data, node.cast(factor, "float32"), node.cast(offset, "int32")
        return node.cast(node.make("qnn.dequantize", *args, axis=axis, out_dtype="float32"), out)
    if (blocks := _constant_blocks(node, data, scale, zero)) is not None:
        return node.cast(blocks, out)
    made = node.cast(data, "float32")
    if zero is not None and kind not in _WITHOUT_ZERO_POINT:
        # exact: both are integers of at most 16 bits, or zero is 0
        made = node.subtract(made, _broadcast_parameter(node, node.cast(zero, "float32"), data))
    return node.cast(node.multiply(made, _broadcast_parameter(node, node.cast(scale, "float32"), data)), out)


def _constant_blocks(node: OnnxNode, data: Expr, scale: Expr, zero: Expr | None) -> Expr | None:
    """Constant codes of 4 and 8 bits in blocks, as one operator, which a product may read without unpacking.
    None for others."""
    codes = {"int4": ("int8", 4), "uint4": ("uint8", 4), "int8": ("int8", 8), "uint8": ("uint8", 8)}
    block, held = node.attr("block_size", 0), codes.get(node.dtype(data))
    given = [data, scale, *([] if zero is None else [zero])]
    if not block or held is None or not all(isinstance(one, Constant) for one in given):
        return None
    dtype, bits = held
    axis = node.axis(node.attr("axis", 1), node.rank(data))
    _check_blocks(node, node.shape(scale), node.shape(data), axis, block)
    values, factors, *points = (one.data for one in given if isinstance(one, Constant))
    points = points[0].astype(dtype) if points else np.zeros(factors.shape, dtype)
    if points.shape != factors.shape:
        node.bad(f"zero points {points.shape}, scales {factors.shape}, expected one shape")
    if str(factors.dtype) not in ("float32", "float16"):
        factors = factors.astype(np.float32)
    args = (Constant(one, node.span) for one in (values.astype(dtype), factors, points))
    return node.make("qnn.contrib_dequantize_blocks", *args, axis=axis, block=block, bits=bits)


def _broadcast_parameter(node: OnnxNode, value: Expr, data: Expr) -> Expr:
    """Scales or zero points shaped to broadcast against ``data``; for blocks repeated along the axis."""
    shape, wanted, block = node.shape(value), node.shape(data), node.attr("block_size", 0)
    if not block:
        factor, _, axis = _parameters(node, data, value, value, node.dtype(value))
        return factor if axis < 0 else node.reshape(factor, (*shape, *(1,) * (len(wanted) - 1 - axis)))
    return repeat_blocks(node, value, wanted, node.axis(node.attr("axis", 1), len(wanted)), block)


def repeat_blocks(node: OnnxNode, value: Expr, wanted: Shape, axis: int, block: int) -> Expr:
    """Repeat the number of each block ``block`` times along ``axis``, to the shape ``wanted``."""
    shape = node.shape(value)
    _check_blocks(node, shape, wanted, axis, block)
    made = node.reshape(value, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    made = node.broadcast_to(made, (*shape[: axis + 1], block, *shape[axis + 1 :]))
    whole = dims.simplify(shape[axis] * block)
    made = node.reshape(made, (*shape[:axis], whole, *shape[axis + 1 :]))
    return made if dims.equal(whole, wanted[axis]) else node.slice(made, [axis], [0], [wanted[axis]])


def _check_blocks(node: OnnxNode, shape: Shape, wanted: Shape, axis: int, block: int) -> None:
    fits = (
        block > 0
        and len(shape) == len(wanted)
        and all(
            dims.equal(a, dims.ceil_div(b, block) if k == axis else b)
            for k, (a, b) in enumerate(zip(shape, wanted, strict=True))
        )
    )
    if not fits:
        node.bad(f"scales {show_shape(shape)} in blocks of {block} along axis {axis} of {show_shape(wanted)}")


@converter("DynamicQuantizeLinear", since=11)
def dynamic_quantize(node: OnnxNode, data: Expr) -> list[Expr]:
    """Quantize to uint8 over the range of the data and 0; for zeros the scale is 1, as in ONNX Runtime."""
    axes = tuple(range(node.rank(data)))
    high = node.make("maximum", node.make("max", data, axis=axes, keepdims=False), 0)
    low = node.make("minimum", node.make("min", data, axis=axes, keepdims=False), 0)
    scale = node.divide(node.subtract(high, low), 255)
    safe = node.make("where", node.make("equal", scale, 0), node.const(1, "float32"), scale)
    zero = node.make("round", node.divide(node.subtract(node.const(0, "float32"), low), safe))
    zero = node.cast(node.make("clip", zero, a_min=0.0, a_max=255.0), "uint8")
    return [quantize(node, data, safe, zero, "uint8"), safe, zero]


@converter("ConvInteger", since=10)
def conv_integer(
    node: OnnxNode, data: Expr, weight: Expr, data_zero: Expr | None = None, weight_zero: Expr | None = None
) -> Expr:
    """ConvInteger: the convolution of integers minus zero points (so that padding adds nothing), in int32."""
    check_parameter(node, "the zero point of the weight", weight_zero, node.shape(weight)[0])
    if data_zero is not None and not all(dims.equal(d, 1) for d in node.shape(data_zero)):
        node.unsupported("a zero point of the data that is not one number")
    data_zero = None if data_zero is None else node.reshape(data_zero, ())
    if isinstance(weight, Constant) and {node.dtype(data), node.dtype(weight)} <= {"int8", "uint8"}:
        zero = _constant_zeros(node, weight, weight_zero)
        if zero is not None and (node.attr("group", 1) == 1 or not zero.any()):
            return _convolve_bytes(node, data, weight.data, data_zero, zero)
    left = centred(node, data, data_zero, rows=True)
    right = _centred_weight(node, weight, weight_zero)
    return nn.convolution(node, left, right, "int32")


def _constant_zeros(node: OnnxNode, weight: Constant, zero: Expr | None) -> np.ndarray | None:
    """The zero point of each output channel of ``weight``, converted to int8; None if not constant."""
    if zero is not None and not isinstance(zero, Constant):
        return None
    moved = 128 if weight.data.dtype == np.uint8 else 0
    given = np.zeros((), np.int32) if zero is None else zero.data.astype(np.int32).reshape(-1)
    return np.broadcast_to(given - moved, weight.data.shape[:1])


def _convolve_bytes(
    node: OnnxNode, data: Expr, weight: np.ndarray, data_zero: Expr | None, zero: np.ndarray
) -> Expr:
    """The convolution by one of uint8 and int8, which processors support: zero points are subtracted from its
    sums, as in ``matmul.matmul_integer``. The padding is the data's zero point, and so adds nothing."""
    moved = 128 if weight.dtype == np.uint8 else 0
    kernel = Constant((weight.astype(np.int32) - moved).astype(np.int8), node.span)
    if node.dtype(data) == "int8":
        data, data_zero = as_uint8(node, data, data_zero)
    ones = (1,) * (weight.ndim - 2)
    padding = nn.kernel_window(node, data, kernel).padding(node.shape(data)[2:])
    if data_zero is not None and not all(dims.equal(p, 0) for pair in padding for p in pair):
        inside = node.full(0, (1, 1, *node.shape(data)[2:]), "uint8")
        border = nn.pad_spatial(node, inside, padding, 1.0)
        point = node.multiply(border, node.cast(data_zero, "uint8"))
        data = node.add(nn.pad_spatial(node, data, padding, 0.0), point)
        padding = ((0, 0),) * len(ones)
    made = nn.convolution(node, data, kernel, "int32", padding)
    if data_zero is not None:
        sums = kernel.data.reshape(len(zero), -1).sum(1, dtype=np.int32)
        sums = sums - zero * int(np.prod(weight.shape[1:]))
        factor = Constant(sums.astype(np.int32).reshape(-1, *ones), node.span)
        made = node.subtract(made, node.multiply(node.cast(data_zero, "int32"), factor))
    if zero.any():
        sums_of = node.make("sum", node.cast(data, "int32"), axis=(1,), keepdims=True)
        window = Constant(np.ones((1, 1, *weight.shape[2:]), np.int32), node.span)
        whole = nn.convolution(node, sums_of, window, "int32", padding)
        factor = Constant(zero.astype(np.int32).reshape(1, -1, *ones), node.span)
        made = node.subtract(made, node.multiply(whole, factor))
    return made


def _centred_weight(node: OnnxNode, weight: Expr, zero: Expr | None) -> Expr:
    if zero is None or node.rank(zero) == 0 or dims.equal(node.shape(zero)[0], 1):
        return centred(node, weight, None if zero is None else node.reshape(zero, ()), rows=True)
    shape = (node.shape(zero)[0], *(1,) * (node.rank(weight) - 1))
    return centred(node, weight, node.reshape(zero, shape), rows=True)


@converter("QLinearConv", since=10)
def qlinear_conv(
    node: OnnxNode,
    data: Expr,
    data_scale: Expr,
    data_zero: Expr,
    weight: Expr,
    weight_scale: Expr,
    weight_zero: Expr,
    out_scale: Expr,
    out_zero: Expr,
    bias: Expr | None = None,
) -> Expr:
    """QLinearConv: an integer convolution, rescaled and rounded to the output's type."""
    check_parameter(node, "the scale of the weight", weight_scale, node.shape(weight)[0])
    made = conv_integer(node, data, weight, data_zero, weight_zero)
    made = nn.add_bias(node, made, bias)
    factor = node.divide(node.multiply(data_scale, weight_scale), out_scale)
    if node.rank(factor) == 1 and not dims.equal(node.shape(factor)[0], 1):
        factor = node.reshape(factor, (*node.shape(factor), *(1,) * (node.rank(made) - 2)))
    else:
        factor = node.reshape(factor, ())
    return _requantized(node, made, factor, out_zero)


def _requantized(node: OnnxNode, data: Expr, factor: Expr, zero: Expr) -> Expr:
    wide = node.multiply(node.cast(data, "float32"), node.cast(factor, "float32"))
    return quantize(node, wide, node.const(1, "float32"), node.reshape(zero, ()), node.dtype(zero))


@converter("QLinearMatMul", since=10)
def qlinear_matmul(
    node: OnnxNode,
    a: Expr,
    a_scale: Expr,
    a_zero: Expr,
    b: Expr,
    b_scale: Expr,
    b_zero: Expr,
    out_scale: Expr,
    out_zero: Expr,
) -> Expr:
    """QLinearMatMul: an integer product, rescaled and rounded; scales may be by row or column."""
    check_parameter(node, "the scale of a", a_scale, node.shape(a)[-2] if node.rank(a) > 1 else 1)
    check_parameter(node, "the scale of b", b_scale, node.shape(b)[-1] if node.rank(b) > 1 else 1)
    product = matmul_integer(node, a, b, a_zero, b_zero)
    left = _rows(node, node.cast(a_scale, "float32"))
    right = node.cast(b_scale, "float32")
    factor = node.divide(node.multiply(left, right), node.reshape(node.cast(out_scale, "float32"), ()))
    if all(dims.equal(d, 1) for d in node.shape(factor)):
        factor = node.reshape(factor, ())
    return _requantized(node, product, factor, out_zero)


def _rows(node: OnnxNode, scale: Expr) -> Expr:
    shape = node.shape(scale)
    return node.reshape(scale, (shape[0], 1)) if len(shape) == 1 and not dims.equal(shape[0], 1) else scale
