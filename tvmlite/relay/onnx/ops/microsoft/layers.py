"""Operators of the domain com.microsoft in exported and optimised models: fused layers."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import matmul
from tvmlite.relay.onnx.ops.activation import gelu_by
from tvmlite.relay.onnx.ops.quantized import quant
from tvmlite.relay.onnx.ops.shapes.index import normalize_indices
from tvmlite.relay.onnx.reading.registry import converter

DOMAIN = "com.microsoft"

_ACTIVATIONS = {
    "Relu": lambda node, x, _: node.make("nn.relu", x),
    "Tanh": lambda node, x, _: node.make("tanh", x),
    "Sigmoid": lambda node, x, _: node.make("sigmoid", x),
    "LeakyRelu": lambda node, x, p: node.make("nn.leaky_relu", x, alpha=p[0] if p else 0.01),
    "Clip": lambda node, x, p: node.make("clip", x, a_min=p[0], a_max=p[1]),
}
"""The activations after a fused product, by name, with their parameters in order."""


def _activated(node: OnnxNode, data: Expr, parameters: list[float]) -> Expr:
    name = node.attr("activation")
    if not name:
        return data
    if name not in _ACTIVATIONS or (name == "Clip" and len(parameters) != 2):
        node.unsupported(f"activation {name!r} with parameters {parameters}")
    return _ACTIVATIONS[name](node, data, parameters)


def add_optional(node: OnnxNode, data: Expr, other: Expr | None) -> Expr:
    """Return the sum; ``data`` if there is nothing to add."""
    return data if other is None else node.add(data, other)


# Activations


@converter("Gelu", domain=DOMAIN)
def gelu(node: OnnxNode, data: Expr) -> Expr:
    """com.microsoft's Gelu, which has no attributes: exact, by erf."""
    return gelu_by(node, data, "none")


@converter("BiasGelu", domain=DOMAIN)
def bias_gelu(node: OnnxNode, data: Expr, bias: Expr) -> Expr:
    """BiasGelu: the exact Gelu of data plus bias, a vector along the last axis."""
    return gelu_by(node, node.add(data, bias), "none")


@converter("FastGelu", domain=DOMAIN)
def fast_gelu(node: OnnxNode, data: Expr, bias: Expr | None = None) -> Expr:
    """FastGelu: Gelu by tanh, of data plus an optional bias."""
    return gelu_by(node, add_optional(node, data, bias), "tanh")


@converter("QuickGelu", domain=DOMAIN)
def quick_gelu(node: OnnxNode, data: Expr) -> Expr:
    """QuickGelu: ``x * sigmoid(alpha * x)``."""
    return node.multiply(data, node.make("sigmoid", node.multiply(data, node.attr("alpha", 1.702))))


# Products


@converter("FusedConv", domain=DOMAIN)
def fused_conv(
    node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None = None, addend: Expr | None = None
) -> Expr:
    """FusedConv: a convolution, then a sum, then an activation."""
    made = add_optional(node, node.plain("Conv", data, weight, bias), addend)
    return _activated(node, made, node.attr("activation_params") or [])


@converter("FusedGemm", domain=DOMAIN)
def fused_gemm(node: OnnxNode, a: Expr, b: Expr, c: Expr | None = None) -> Expr:
    """FusedGemm: Gemm, then ``activation`` with the given ones of activation_alpha, _beta, _gamma."""
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return _activated(node, node.plain("Gemm", a, b, c), [node.attr(n) for n in names if node.has(n)])


@converter("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """FusedMatMul: ``alpha * a @ b``, with the last two axes of either transposed first if requested."""
    if node.flag("transBatchA") or node.flag("transBatchB"):
        node.unsupported("transBatchA or transBatchB")
    a, b = transposed(node, a, b)
    made, alpha = matmul.matmul(node, a, b), node.attr("alpha", 1.0)
    return made if alpha == 1.0 else node.multiply(made, alpha)


def transposed(node: OnnxNode, a: Expr, b: Expr) -> list[Expr]:
    """Return both operands, with their last two axes exchanged if ``transA`` and ``transB`` say so."""
    made = []
    for one, name in ((a, "transA"), (b, "transB")):
        rank = node.rank(one)
        swap = node.flag(name) and rank > 1
        made.append(node.transpose(one, [*range(rank - 2), rank - 1, rank - 2]) if swap else one)
    return made


@converter("MatMulNBits", domain=DOMAIN)
def matmul_nbits(
    node: OnnxNode,
    data: Expr,
    packed: Expr,
    scales: Expr,
    zeros: Expr | None = None,
    order: Expr | None = None,
    bias: Expr | None = None,
) -> Expr:
    """MatMulNBits: a product with a weight of few bits, in blocks with a scale each.

    4 and 8 bits stay packed in blocks of whole bytes; a weight of 2 bits is unpacked at import. With
    ``accuracy_level`` 4, which allows it, the data are rounded to 8 bits; at other levels, and with 2 bits,
    they stay floats.
    """
    rows, columns = node.required("N"), node.required("K")
    bits, block = node.attr("bits", 4), node.required("block_size")
    if bits not in (2, 4, 8) or block < 1 or block * bits % 8:
        node.unsupported(f"{bits} bits in blocks of {block}")
    if order is not None:
        node.unsupported("g_idx")
    given = [packed, scales, *([] if zeros is None else [zeros])]
    if not all(isinstance(x, Constant) for x in given):
        node.unsupported("a weight that is not constant")
    codes, factors, *points = (x.data for x in given if isinstance(x, Constant))
    blocks = -(-columns // block)
    if codes.size != rows * blocks * (block * bits // 8) or factors.size != rows * blocks:
        node.bad(f"weight {codes.shape} and scales {factors.shape} for {rows} x {columns}")
    if not dims.equal(node.shape(data)[-1], columns):
        node.bad(f"data is {node.shape(data)}, expected a last extent of {columns}")
    codes, factors = codes.reshape(rows, blocks, -1), factors.reshape(rows, blocks)
    middles = _zero_points(node, points, rows, blocks, bits)
    if bits == 2:
        values = unpacked(codes, bits).astype(np.float32) - middles[..., None].astype(np.float32)
        weight = (values * factors[..., None].astype(np.float32)).reshape(rows, -1)[:, :columns]
        return add_optional(node, node.make("nn.dense", data, node.const(weight, node.dtype(data))), bias)
    args = [Constant(one, node.span) for one in (codes, factors, middles)]
    data_bits = 8 if node.attr("accuracy_level", 0) == 4 else 0
    attrs = {"bits": bits, "group": block, "data_bits": data_bits}
    made = node.make("nn.contrib_dense_group_quantized", data, *args, **attrs)
    return add_optional(node, made, bias)


def _zero_points(node: OnnxNode, given: list[np.ndarray], rows: int, blocks: int, bits: int) -> np.ndarray:
    """``(rows, blocks)``: the zero point of each block, packed like the weight or as floats; the middle code,
    ``(1, 1)``, if there are none."""
    if not given:
        return np.full((1, 1), 1 << (bits - 1), np.uint8)
    points = given[0]
    if points.dtype != np.uint8:
        expected = rows * blocks
    else:
        expected = rows * -(-blocks * bits // 8)
    if points.size != expected:
        node.bad(f"zero points {points.shape} for {rows} x {blocks} blocks")
    if points.dtype != np.uint8:
        return points.reshape(rows, blocks)
    return np.ascontiguousarray(unpacked(points.reshape(rows, -1), bits)[:, :blocks])


def unpacked(codes: np.ndarray, bits: int) -> np.ndarray:
    """Unpack numbers of a few bits from bytes, the lowest bits first, along the last axis."""
    parts = [(codes >> shift) & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(*codes.shape[:-1], -1)


@converter("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(
    node: OnnxNode, a: Expr, b: Expr, scale: Expr, zero: Expr | None = None, bias: Expr | None = None
) -> Expr:
    """DynamicQuantizeMatMul: ``a`` quantized by its own range, multiplied as integers, and dequantized."""
    codes, own, point = quant.dynamic_quantize(node, a)
    return add_optional(node, quantized_product(node, codes, b, own, scale, point, zero), bias)


@converter("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(node: OnnxNode, a: Expr, b: Expr, *more: Expr | None) -> Expr:
    """MatMulIntegerToFloat: further inputs are the scales of both, their zero points, and a bias."""
    a_scale, b_scale, a_zero, b_zero, bias = (*more, *[None] * 5)[:5]
    if a_scale is None or b_scale is None or len(more) > 5:
        node.bad(f"has {len(more) + 2} inputs, expected 4 to 7, of which the scales must be given")
    return add_optional(node, quantized_product(node, a, b, a_scale, b_scale, a_zero, b_zero), bias)


def quantized_product(
    node: OnnxNode, a: Expr, b: Expr, a_scale: Expr, b_scale: Expr, a_zero: Expr | None, b_zero: Expr | None
) -> Expr:
    """Return the product of two quantized matrices, as floats."""
    matmul.check_parameter(node, "the scale of b", b_scale, node.shape(b)[-1] if node.rank(b) > 1 else 1)
    product, factor = matmul.matmul_integer(node, a, b, a_zero, b_zero), node.multiply(a_scale, b_scale)
    return node.multiply(node.cast(product, node.dtype(factor)), factor)


# Normalisations


@converter("LayerNormalization", domain=DOMAIN)
def layer_norm(node: OnnxNode, data: Expr, scale: Expr, bias: Expr | None = None) -> list[Expr] | Expr:
    """com.microsoft's LayerNormalization, which is ONNX's of opset 17."""
    return node.plain("LayerNormalization", data, scale, bias)


@converter("SimplifiedLayerNormalization", domain=DOMAIN)
@converter("SimplifiedLayerNormalization")
def simplified_layer_norm(node: OnnxNode, data: Expr, scale: Expr) -> Expr:
    """SimplifiedLayerNormalization: divides by the root mean square, without a shift."""
    if node.has_output(1):
        node.unsupported("its second output")
    return node.plain("RMSNormalization", data, scale)


@converter("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_norm(
    node: OnnxNode, data: Expr, skip: Expr, gamma: Expr, beta: Expr | None = None, bias: Expr | None = None
) -> list[Expr | None]:
    """SkipLayerNormalization: the normalised sum of both, and as the fourth output the sum itself."""
    total = node.add(add_optional(node, data, bias), skip)
    shift = node.full(0, node.shape(gamma), node.dtype(gamma)) if beta is None else beta
    epsilon = node.attr("epsilon", 1e-12)
    made = node.make("nn.layer_norm", total, gamma, shift, axis=-1, epsilon=epsilon)
    return [made, None, None, total]


@converter("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_norm(
    node: OnnxNode, data: Expr, skip: Expr, gamma: Expr, bias: Expr | None = None
) -> list[Expr | None]:
    """RMS normalization of the sum of data, skip and bias; the sum itself is the fourth output."""
    total = node.add(add_optional(node, data, bias), skip)
    made = node.make("nn.rms_norm", total, gamma, axis=-1, epsilon=node.attr("epsilon", 1e-5))
    return [made, None, None, total]


def _rows(node: OnnxNode, table: Expr, places: Expr) -> Expr:
    return node.make("take", table, normalize_indices(node, places, node.shape(table)[0]), axis=0)


@converter("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_norm(node: OnnxNode, words: Expr, segments: Expr | None, *more: Expr | None) -> list[Expr]:
    """EmbedLayerNormalization: the normalised sum of embeddings, and the number of words in the mask.

    Further inputs: tables of words, positions and segments, scale and shift, the mask, and the positions.
    """
    word_table, place_table, segment_table, gamma, beta, mask, places = (*more, *[None] * 7)[:7]
    if word_table is None or place_table is None or gamma is None or beta is None:
        node.bad(
            f"has {len(more) + 2} inputs, expected 7 or more, of which only those of segments are optional"
        )
    batch, length = node.shape(words)
    places = node.arange(length) if places is None else places
    total = node.add(_rows(node, word_table, words), _rows(node, place_table, places))
    if segments is not None and segment_table is not None:
        total = node.add(total, _rows(node, segment_table, segments))
    made = node.make("nn.layer_norm", total, gamma, beta, axis=-1, epsilon=node.attr("epsilon", 1e-12))
    if mask is None or not node.attr("mask_index_type", 1):
        count = node.full(0, (batch,), "int32")
    else:
        count = node.make("sum", mask, axis=(1,), keepdims=False)
    return [made, count, total]
