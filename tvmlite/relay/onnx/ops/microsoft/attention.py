"""com.microsoft's attention: split heads, mask the scores, softmax, join heads."""

from __future__ import annotations

import math

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import matmul
from tvmlite.relay.onnx.ops.microsoft.layers import DOMAIN
from tvmlite.relay.onnx.ops.shapes.index import normalize_indices
from tvmlite.relay.onnx.reading.registry import converter


def split_heads(node: OnnxNode, data: Expr, count: int) -> Expr:
    """Return ``(batch, length, heads * size)`` as ``(batch, heads, length, size)``."""
    batch, length, width = node.shape(data)
    split = node.reshape(data, (batch, length, count, dims.simplify(width // count)))
    return node.transpose(split, (0, 2, 1, 3))


def merge_heads(node: OnnxNode, data: Expr) -> Expr:
    """Return ``(batch, heads, length, size)`` as ``(batch, length, heads * size)``."""
    batch, heads, length, size = node.shape(data)
    return node.reshape(node.transpose(data, (0, 2, 1, 3)), (batch, length, dims.simplify(heads * size)))


def _attend(node: OnnxNode, query: Expr, key: Expr, value: Expr, masks: list[Expr]) -> Expr:
    """``softmax(query key^T * scale + masks) value``."""
    size = node.shape(query)[-1]
    scale = node.attr("scale", 0.0)
    if not scale:
        if not isinstance(size, int):
            node.unsupported(f"heads of dynamic size {size}")
        scale = 1 / math.sqrt(size)
    scores = matmul.matmul(node, node.multiply(query, scale), node.transpose(key, (0, 1, 3, 2)))
    for mask in masks:
        scores = node.add(scores, mask)
    return matmul.matmul(node, node.make("nn.softmax", scores, axis=-1), value)


def _mask(node: OnnxNode, mask: Expr, query: Expr, key: Expr) -> Expr:
    """The mask to add to the scores: ``mask_filter_value`` for hidden keys.

    By rank and length: one number for each batch is the number of visible keys; else 1 shows and 0 hides.
    """
    batch, _, length, _ = node.shape(query)
    total, dtype = node.shape(key)[2], node.dtype(query)
    shape = node.shape(mask)
    if len(shape) == 1:
        if not dims.equal(shape[0], batch):
            node.unsupported(f"a mask of {shape[0]} numbers for a batch of {batch}")
        positions = node.arange(total)
        seen = node.less(
            node.reshape(positions, (1, 1, 1, total)),
            node.reshape(node.cast(mask, "int64"), (batch, 1, 1, 1)),
        )
    elif len(shape) == 2 and dims.equal(shape[1], total):
        seen = node.greater(node.reshape(mask, (batch, 1, 1, total)), 0)
    elif len(shape) == 3 and dims.equal(shape[1], length) and dims.equal(shape[2], total):
        seen = node.greater(node.reshape(mask, (batch, 1, length, total)), 0)
    else:
        node.unsupported(f"a mask of shape {shape}")
    hidden = node.const(node.attr("mask_filter_value", -10000.0), dtype)
    return node.make("where", seen, node.const(0, dtype), hidden)


def _causal(node: OnnxNode, query: Expr, key: Expr) -> Expr:
    """A mask that hides the keys after each query; the last query and the last key are of the same time."""
    length, total = node.shape(query)[2], node.shape(key)[2]
    dtype = node.dtype(query)
    rows = node.arange(length)
    columns = node.arange(total)
    past = dims.simplify(total - length)
    last = rows
    if not dims.equal(past, 0):
        offset = node.make("shape_value", values=(past,), dtype="int64")
        last = node.add(rows, node.reshape(offset, (1,)))
    seen = node.less_equal(node.reshape(columns, (1, 1, 1, total)), node.reshape(last, (1, 1, length, 1)))
    lowest = float(np.finfo(np.float16 if dtype == "float16" else np.float32).min)
    return node.make("where", seen, node.const(0, dtype), node.const(lowest, dtype))


def _masks(node: OnnxNode, query: Expr, key: Expr, mask: Expr | None, bias: Expr | None) -> list[Expr]:
    made = [] if mask is None else [_mask(node, mask, query, key)]
    if node.attr("unidirectional", 0):
        made.append(_causal(node, query, key))
    return [*made, *([] if bias is None else [bias])]


def _append_to_past(node: OnnxNode, past: Expr | None, new: Expr) -> Expr:
    return new if past is None else node.many("concatenate", [past, new], axis=2)


def _qkv_widths(node: OnnxNode, weight: Expr) -> list[Dim]:
    total = node.shape(weight)[-1]
    given = node.attr("qkv_hidden_sizes")
    return list(given) if given else [dims.simplify(total // 3)] * 3


def split_last(node: OnnxNode, data: Expr, widths: list[Dim]) -> list[Expr]:
    """Return parts of ``widths`` along the last axis, such as Q, K and V of a packed projection."""
    return node.split(data, node.rank(data) - 1, widths)


@converter("Attention", domain=DOMAIN)
def attention(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    bias: Expr | None = None,
    mask: Expr | None = None,
    past: Expr | None = None,
    scores: Expr | None = None,
    length: Expr | None = None,
) -> list[Expr | None]:
    """Attention: query, key and value are one product of the data; the past's keys and values come first."""
    if length is not None or node.attr("past_present_share_buffer", 0):
        node.unsupported("a past that shares its buffer")
    made = matmul.matmul(node, data, weight)
    if bias is not None:
        made = node.add(made, bias)
    return _self_attention(node, made, _qkv_widths(node, weight), mask, past, scores)


def _self_attention(
    node: OnnxNode,
    projected: Expr,
    widths: list[Dim],
    mask: Expr | None,
    past: Expr | None,
    scores: Expr | None,
) -> list[Expr | None]:
    if node.attr("do_rotary", 0):
        node.unsupported("do_rotary=1")
    heads = node.required("num_heads")
    query, key, value = (split_heads(node, part, heads) for part in split_last(node, projected, widths))
    if past is not None:
        batch, _, _, size = node.shape(key)
        _, _, _, before, _ = node.shape(past)
        old = [
            node.reshape(node.slice(past, [0], [i], [i + 1]), (batch, heads, before, size)) for i in (0, 1)
        ]
        key, value = _append_to_past(node, old[0], key), _append_to_past(node, old[1], value)
    made = merge_heads(node, _attend(node, query, key, value, _masks(node, query, key, mask, scores)))
    if not node.has_output(1):
        return [made]
    both = [node.reshape(part, (1, *node.shape(part))) for part in (key, value)]
    return [made, node.many("concatenate", both, axis=0)]


@converter("QAttention", domain=DOMAIN)
def quantized_attention(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    bias: Expr,
    data_scale: Expr,
    weight_scale: Expr,
    mask: Expr | None = None,
    data_zero: Expr | None = None,
    weight_zero: Expr | None = None,
    past: Expr | None = None,
) -> list[Expr | None]:
    """QAttention: the first product is of integers, the rest of floats."""
    product = matmul.matmul_integer(node, data, weight, data_zero, weight_zero)
    factor = node.multiply(data_scale, weight_scale)
    real = node.multiply(node.cast(product, node.dtype(factor)), factor)
    made = node.add(real, bias)
    return _self_attention(node, made, _qkv_widths(node, weight), mask, past, None)


@converter("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(
    node: OnnxNode,
    query: Expr,
    key: Expr | None = None,
    value: Expr | None = None,
    bias: Expr | None = None,
    mask: Expr | None = None,
    scores: Expr | None = None,
    past_key: Expr | None = None,
    past_value: Expr | None = None,
    *more: Expr | None,
) -> list[Expr | None]:
    """MultiHeadAttention: separate query, key and value; keys' and values' heads may be split already."""
    heads = node.required("num_heads")
    if key is None or value is None or node.rank(query) != 3 or any(m is not None for m in more):
        node.unsupported("packed query, key and value, or a cache")
    if node.rank(key) == 4 and (bias is not None or past_key is not None):
        node.unsupported("a bias or a past of keys that are split already")
    if bias is not None:
        widths = [node.shape(x)[-1] for x in (query, key, value)]
        parts = split_last(node, bias, widths)
        query, key, value = (node.add(x, b) for x, b in zip((query, key, value), parts, strict=True))
    q = split_heads(node, query, heads)
    k, v = (x if node.rank(x) == 4 else split_heads(node, x, heads) for x in (key, value))
    k, v = _append_to_past(node, past_key, k), _append_to_past(node, past_value, v)
    made = merge_heads(node, _attend(node, q, k, v, _masks(node, q, k, mask, scores)))
    outputs: list[Expr | None] = [made, k, v]
    return outputs[: max(node.num_outputs, 1)]


@converter("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(node: OnnxNode, data: Expr, positions: Expr, cosines: Expr, sines: Expr) -> Expr:
    """RotaryEmbedding: rotates pairs of each head by position: halves, or ``interleaved`` neighbours."""
    if node.attr("is_packed_batching", 0) or node.attr("scale", 1.0) != 1.0:
        node.unsupported("packed batches or a scale")
    flat = node.rank(data) == 3
    half = node.shape(cosines)[1]
    if not isinstance(half, int):
        node.unsupported(f"a cache of dynamic width {half}")
    rotated_size = node.attr("rotary_embedding_dim", 0) or 2 * half
    x = data
    if flat:
        width = node.shape(data)[-1]
        count = node.attr("num_heads", 0) or dims.simplify(width // (2 * half))
        x = split_heads(node, data, count)  # type: ignore[arg-type]
    batch, _, length, _ = node.shape(x)
    made = rotated(node, x, _positions(node, positions, batch, length), cosines, sines, rotated_size)
    return merge_heads(node, made) if flat else made


def rotated(
    node: OnnxNode,
    data: Expr,
    positions: Expr,
    cosines: Expr,
    sines: Expr,
    rotated_size: int,
    flag: str = "interleaved",
) -> Expr:
    """Rotate pairs among the first ``rotated_size`` elements of each head of ``(batch, heads, length,
    size)``.

    ``positions``, ``(batch, length)``, are rows of the tables of cosines and sines. ``flag`` names the
    attribute that makes pairs of neighbours; otherwise they are a half apart.
    """
    batch, _, length, size = node.shape(data)
    half = rotated_size // 2
    angle_positions = normalize_indices(node, positions, node.shape(cosines)[0])
    cosine, sine = (
        node.reshape(node.make("take", table, angle_positions, axis=0), (batch, 1, length, half))
        for table in (cosines, sines)
    )
    head, tail = split_last(node, data, [rotated_size, dims.simplify(size - rotated_size)])
    one, two = _pairs(node, head, half, flag)
    parts = [
        node.subtract(_times(node, one, cosine), _times(node, two, sine)),
        node.add(_times(node, one, sine), _times(node, two, cosine)),
    ]
    shape = node.shape(head)
    if node.attr(flag, 0):
        wide = [node.reshape(p, (*shape[:3], half, 1)) for p in parts]
        made = node.reshape(node.many("concatenate", wide, axis=4), shape)
    else:
        made = node.many("concatenate", parts, axis=3)
    return made if dims.equal(size, rotated_size) else node.many("concatenate", [made, tail], axis=3)


def _times(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    return node.multiply(a, b)


def _pairs(node: OnnxNode, data: Expr, half: int, flag: str) -> list[Expr]:
    if not node.attr(flag, 0):
        return split_last(node, data, [half, half])
    shape = node.shape(data)
    split = node.reshape(data, (*shape[:3], half, 2))
    return [node.reshape(node.slice(split, [4], [i], [i + 1]), (*shape[:3], half)) for i in (0, 1)]


def _positions(node: OnnxNode, positions: Expr, batch: Dim, length: Dim) -> Expr:
    """The position of each element; a single number is that of the first."""
    if node.rank(positions) == 2:
        return positions
    assert dtypes.is_int(node.dtype(positions))
    steps = node.reshape(node.arange(length), (1, length))
    first = node.reshape(node.cast(positions, "int64"), (1, 1))
    return node.broadcast_to(node.add(steps, first), (batch, length))
