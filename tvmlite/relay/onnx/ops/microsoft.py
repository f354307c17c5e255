"""Operators of the domain com.microsoft that exported and optimised models carry: fused layers."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import activation, matmul, nn, normalize, quant
from tvmlite.relay.onnx.ops.index import from_front
from tvmlite.relay.onnx.reading.registry import converter

DOMAIN = "com.microsoft"

_ACTIVATIONS = {
    "Relu": lambda node, x, _: node.make("nn.relu", x),
    "Tanh": lambda node, x, _: node.make("tanh", x),
    "Sigmoid": lambda node, x, _: node.make("sigmoid", x),
    "LeakyRelu": lambda node, x, p: node.make("nn.leaky_relu", x, alpha=p[0] if p else 0.01),
    "Clip": lambda node, x, p: node.make("clip", x, a_min=p[0], a_max=p[1]),
}
"""What follows a fused product, by name; the numbers are its parameters in order."""


def _activated(node: OnnxNode, data: Expr, parameters: list[float]) -> Expr:
    name = node.attr("activation")
    if not name:
        return data
    if name not in _ACTIVATIONS or (name == "Clip" and len(parameters) != 2):
        node.unsupported(f"activation {name!r} with parameters {parameters}")
    return _ACTIVATIONS[name](node, data, parameters)


def _add(node: OnnxNode, data: Expr, other: Expr | None) -> Expr:
    return data if other is None else (data + other)


# Activations


@converter("Gelu", domain=DOMAIN)
def gelu(node: OnnxNode, data: Expr) -> Expr:
    return activation.gelu_by(node, data, "none")


@converter("BiasGelu", domain=DOMAIN)
def bias_gelu(node: OnnxNode, data: Expr, bias: Expr) -> Expr:
    return activation.gelu_by(node, _add(node, data, bias), "none")


@converter("FastGelu", domain=DOMAIN)
def fast_gelu(node: OnnxNode, data: Expr, bias: Expr | None = None) -> Expr:
    return activation.gelu_by(node, _add(node, data, bias), "tanh")


@converter("QuickGelu", domain=DOMAIN)
def quick_gelu(node: OnnxNode, data: Expr) -> Expr:
    """``x * sigmoid(alpha * x)``."""
    return data * node.make("sigmoid", data * node.attr("alpha", 1.702))


# Products


@converter("FusedConv", domain=DOMAIN)
def fused_conv(
    node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None = None, addend: Expr | None = None
) -> Expr:
    """A convolution, then a sum, then an activation."""
    made = _add(node, nn.conv(node, data, weight, bias), addend)
    return _activated(node, made, node.attr("activation_params") or [])


@converter("FusedGemm", domain=DOMAIN)
def fused_gemm(node: OnnxNode, a: Expr, b: Expr, c: Expr | None = None) -> Expr:
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return _activated(node, matmul.gemm(node, a, b, c), [node.attr(n) for n in names if node.has(n)])


@converter("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """``alpha * a @ b``, either of them transposed in its last two axes first."""
    if node.attr("transBatchA", 0) or node.attr("transBatchB", 0):
        node.unsupported("transBatchA or transBatchB")
    left, right = (
        _transposed(node, x) if node.attr(name, 0) else x for x, name in ((a, "transA"), (b, "transB"))
    )
    made, alpha = matmul.matmul(node, left, right), node.attr("alpha", 1.0)
    return made if alpha == 1.0 else made * alpha


def _transposed(node: OnnxNode, data: Expr) -> Expr:
    rank = node.rank(data)
    return data if rank < 2 else node.transpose(data, [*range(rank - 2), rank - 1, rank - 2])


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
    """A product with a weight of few bits, in blocks with a scale each: the weight is unpacked at import."""
    rows, columns = node.required("N"), node.required("K")
    bits, block = node.attr("bits", 4), node.required("block_size")
    if bits not in (2, 4, 8) or block < 1:
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
    values = unpacked(codes.reshape(rows, blocks, -1), bits).astype(np.float32)
    middle = np.full((rows, blocks), 2.0 ** (bits - 1), np.float32)
    if points and points[0].dtype == np.uint8:
        middle = unpacked(points[0].reshape(rows, -1), bits)[:, :blocks].astype(np.float32)
    elif points:
        middle = points[0].reshape(rows, blocks).astype(np.float32)
    weight = (values - middle[..., None]) * factors.reshape(rows, blocks, 1).astype(np.float32)
    dense = node.const(weight.reshape(rows, -1)[:, :columns], node.dtype(data))
    return _add(node, node.make("nn.dense", data, dense), bias)


def unpacked(codes: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of a few bits out of bytes, the lowest first, along the last axis."""
    parts = [(codes >> shift) & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(*codes.shape[:-1], -1)


@converter("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(
    node: OnnxNode, a: Expr, b: Expr, scale: Expr, zero: Expr | None = None, bias: Expr | None = None
) -> Expr:
    """``a`` quantised by its own range, multiplied as integers, and made real again."""
    codes, own, point = quant.dynamic_quantize(node, a)
    return matmul_integer_to_float(node, codes, b, own, scale, point, zero, bias)


@converter("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(
    node: OnnxNode,
    a: Expr,
    b: Expr,
    a_scale: Expr,
    b_scale: Expr,
    a_zero: Expr | None = None,
    b_zero: Expr | None = None,
    bias: Expr | None = None,
) -> Expr:
    product = matmul.matmul_integer(node, a, b, a_zero, b_zero)
    factor = a_scale * b_scale
    real = node.cast(product, node.dtype(factor)) * factor
    return _add(node, real, bias)


# Normalisations


@converter("LayerNormalization", domain=DOMAIN)
def layer_norm(node: OnnxNode, data: Expr, scale: Expr, bias: Expr | None = None) -> list[Expr] | Expr:
    return normalize.layer_norm(node, data, scale, bias)


@converter("SimplifiedLayerNormalization", domain=DOMAIN)
@converter("SimplifiedLayerNormalization")
def simplified_layer_norm(node: OnnxNode, data: Expr, scale: Expr) -> Expr:
    """By the root of the mean square, without a shift."""
    if node.wants(1):
        node.unsupported("its second output")
    return normalize.rms_norm(node, data, scale)


@converter("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_norm(
    node: OnnxNode, data: Expr, skip: Expr, gamma: Expr, beta: Expr | None = None, bias: Expr | None = None
) -> list[Expr | None]:
    """The normalised sum of both, and as the fourth output the sum itself."""
    total = _sum(node, data, skip, bias)
    shift = node.full(0, node.shape(gamma), node.dtype(gamma)) if beta is None else beta
    epsilon = node.attr("epsilon", 1e-12)
    made = node.make("nn.layer_norm", total, gamma, shift, axis=-1, epsilon=epsilon)
    return [made, None, None, total]


@converter("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_norm(
    node: OnnxNode, data: Expr, skip: Expr, gamma: Expr, bias: Expr | None = None
) -> list[Expr | None]:
    total = _sum(node, data, skip, bias)
    made = node.make("nn.rms_norm", total, gamma, axis=-1, epsilon=node.attr("epsilon", 1e-5))
    return [made, None, None, total]


def _sum(node: OnnxNode, data: Expr, skip: Expr, bias: Expr | None) -> Expr:
    return _add(node, _add(node, data, bias), skip)


def _rows(node: OnnxNode, table: Expr, places: Expr) -> Expr:
    return node.make("take", table, from_front(node, places, node.shape(table)[0]), axis=0)


@converter("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_norm(
    node: OnnxNode,
    words: Expr,
    segments: Expr | None,
    word_table: Expr,
    place_table: Expr,
    segment_table: Expr | None,
    gamma: Expr,
    beta: Expr,
    mask: Expr | None = None,
    places: Expr | None = None,
) -> list[Expr]:
    """Embeddings of words, places and segments added up and normalised; how many words the mask keeps."""
    batch, length = node.shape(words)
    total = _rows(node, word_table, words)
    if places is None:
        places = node.arange(length)
    total = _add(node, total, _rows(node, place_table, places))
    if segments is not None and segment_table is not None:
        total = _add(node, total, _rows(node, segment_table, segments))
    made = node.make("nn.layer_norm", total, gamma, beta, axis=-1, epsilon=node.attr("epsilon", 1e-12))
    if mask is None or not node.attr("mask_index_type", 1):
        count = node.full(0, (batch,), "int32")
    else:
        count = node.make("sum", mask, axis=(1,), keepdims=False)
    return [made, count, total]
