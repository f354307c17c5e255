"""com.microsoft's GroupQueryAttention: fewer heads of keys and values than of queries, and a past.

The new keys and values follow the past's. If a model declares present and past with the same length, they are
one buffer, in which a step replaces its own rows (``update_in_place``); otherwise outputs are as long as both
together.
"""

from __future__ import annotations

import math

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import broadcast_all
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import matmul
from tvmlite.relay.onnx.ops.microsoft.attention import merge_heads, rotated, split_heads, split_last
from tvmlite.relay.onnx.ops.microsoft.layers import DOMAIN
from tvmlite.relay.onnx.reading.registry import converter

_UNSUPPORTED = ("smooth_softmax", "qk_output", "sliding_window_cache")

_SCALES = ("PER_TENSOR", "PER_CHANNEL")
"""The scales of an int8 cache: one for all, or one for each element of each head."""


@converter("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(
    node: OnnxNode,
    query: Expr,
    key: Expr | None,
    value: Expr | None,
    past_key: Expr | None,
    past_value: Expr | None,
    lengths: Expr,
    total: Expr,
    cosines: Expr | None = None,
    sines: Expr | None = None,
    positions: Expr | None = None,
    bias: Expr | None = None,
    sink: Expr | None = None,
    key_scale: Expr | None = None,
    value_scale: Expr | None = None,
    *more: Expr | None,
) -> list[Expr]:
    """GroupQueryAttention: ``lengths`` are each batch's number of keys up to the last query, minus one.

    ``total`` follows. With ``k_quant_type`` and ``v_quant_type`` past and present are int8 codes with scales.
    """
    for name in _UNSUPPORTED:
        if node.attr(name, 0):
            node.unsupported(f"{name}={node.attr(name)}")
    if any(m is not None for m in (sink, *more)) or not node.attr("causal", 1):
        node.unsupported("a sink, normalised heads, padded chunks (query_seqlens), or causal=0")
    scales = [_scale(node, *one) for one in (("k", past_key, key_scale), ("v", past_value, value_scale))]
    heads, groups = node.required("num_heads"), node.required("kv_num_heads")
    if groups < 1 or heads % groups:
        node.bad(f"num_heads is {heads}, kv_num_heads {groups}: expected a multiple")
    q, k, v = _projections(node, query, key, value, heads, groups)
    batch, _, length, size = node.shape(q)
    start = _start_positions(node, lengths, batch, length)
    if node.attr("do_rotary", 0):
        if cosines is None or sines is None:
            node.bad("do_rotary=1 without cos_cache and sin_cache")
        if positions is None:
            positions = node.add(start, _steps(node, length, (1, length)))
        half = node.shape(cosines)[1]
        if not isinstance(half, int):
            node.unsupported(f"a cache of dynamic width {half}")
        flag = "rotary_interleaved"
        q, k = (rotated(node, x, positions, cosines, sines, 2 * half, flag) for x in (q, k))
    k, v = (_quantized(node, x, scale) for x, scale in zip((k, v), scales, strict=True))
    present = [
        _append_to_cache(node, past_key, k, start, _is_one_buffer(node, 3, 1)),
        _append_to_cache(node, past_value, v, start, _is_one_buffer(node, 4, 2)),
    ]
    keys, values = (
        _dequantized(node, x, scale, node.dtype(q)) for x, scale in zip(present, scales, strict=True)
    )
    factor = node.attr("scale", 0.0) or 1 / math.sqrt(_static_size(node, size))
    visible = _visible_keys(node, start, length, node.shape(keys)[2])
    made = _attend(node, node.multiply(q, factor), keys, values, visible, bias)
    return [merge_heads(node, made), *present][: max(node.num_outputs, 1)]


def _scale(node: OnnxNode, name: str, past: Expr | None, scale: Expr | None) -> Expr | None:
    """The factor for codes of the keys ("k") or values ("v"), with four axes; None if there are no codes."""
    kind = node.attr(f"{name}_quant_type", "NONE")
    if kind == "NONE":
        return None
    if kind not in _SCALES or node.attr("kv_cache_bit_width", 8) not in (0, 8):
        bits = node.attr("kv_cache_bit_width", 8)
        node.unsupported(
            f"{name}_quant_type={kind} of {bits} bits: only int8 with {' or '.join(_SCALES)} is supported"
        )
    if past is not None and node.dtype(past) != "int8":
        node.unsupported(f"a quantized cache of {node.dtype(past)}: only int8 is supported")
    if scale is None:
        node.bad(f"{name}_quant_type={kind} without {name}_scale")
    return node.reshape(scale, (1, 1, 1, 1)) if kind == "PER_TENSOR" else scale


def _quantized(node: OnnxNode, rows: Expr, scale: Expr | None) -> Expr:
    """``rows`` as stored in the cache: rounded to the nearest code, or unchanged."""
    if scale is None:
        return rows
    steps = node.make("round", node.divide(node.cast(rows, "float32"), scale))
    return node.cast(node.make("clip", steps, a_min=-128.0, a_max=127.0), "int8")


def _dequantized(node: OnnxNode, cache: Expr, scale: Expr | None, dtype: str) -> Expr:
    """The values in the ``cache``."""
    if scale is None:
        return cache
    return node.cast(node.multiply(node.cast(cache, "float32"), scale), dtype)


def _static_size(node: OnnxNode, size: Dim) -> int:
    if not isinstance(size, int):
        node.unsupported(f"heads of dynamic size {size}")
    return size


def _projections(
    node: OnnxNode, query: Expr, key: Expr | None, value: Expr | None, heads: int, groups: int
) -> list[Expr]:
    """Query, key and value with their heads split; packed into one, they follow each other."""
    if node.rank(query) != 3 or (key is None) != (value is None):
        node.bad("query, key and value must be of rank 3, or packed in query")
    if key is None or value is None:
        size = dims.simplify(node.shape(query)[2] // (heads + 2 * groups))
        query, key, value = split_last(
            node, query, [dims.simplify(size * n) for n in (heads, groups, groups)]
        )
    return [split_heads(node, x, n) for x, n in ((query, heads), (key, groups), (value, groups))]


def _start_positions(node: OnnxNode, lengths: Expr, batch: Dim, length: Dim) -> Expr:
    """``(batch, 1)``: the position of the first new key; 0 for prompts shorter than the longest."""
    count = node.reshape(node.make("shape_value", values=(length,), dtype="int64"), (1,))
    last = node.add(node.reshape(node.cast(lengths, "int64"), (batch,)), 1)
    first = node.subtract(last, count)
    return node.reshape(node.make("maximum", first, 0), (batch, 1))


def _steps(node: OnnxNode, count: Dim, shape: tuple[Dim, ...]) -> Expr:
    return node.reshape(node.arange(count), shape)


def _is_one_buffer(node: OnnxNode, past: int, present: int) -> bool:
    """Whether the model declares its input ``past`` of the node and its output ``present`` with the same
    length."""
    given = (
        dict(enumerate(node.proto.input)).get(past, ""),
        dict(enumerate(node.proto.output)).get(present, ""),
    )
    graph = node.importer.proto.graph
    declared = [
        one.type.tensor_type.shape.dim[2]
        for name, values in zip(given, (graph.input, graph.output), strict=True)
        for one in values
        if one.name == name and len(one.type.tensor_type.shape.dim) == 4
    ]
    if len(declared) < 2:
        return False
    one, other = ((extent.dim_param, extent.dim_value) for extent in declared)
    return one == other and one != ("", 0)


def _append_to_cache(node: OnnxNode, past: Expr | None, new: Expr, start: Expr, one_buffer: bool) -> Expr:
    """The past with the new rows after each batch's own: in place, if it is ``one_buffer`` with the result,
    otherwise in a longer one, with 0 in the remaining rows."""
    if past is None:
        return new
    cache = past
    if not one_buffer:
        room = node.full(0, node.shape(new), node.dtype(new))
        cache = node.many("concatenate", [past, room], axis=2)
    first = node.reshape(start, node.shape(start)[:1])
    return node.make("tensor_scatter", cache, new, first, axis=2, mode="linear")


def _visible_keys(node: OnnxNode, start: Expr, length: Dim, total: Dim) -> Expr:
    """``(batch, 1, length, total)``: whether a query sees a key: none after it, or before its window."""
    batch = node.shape(start)[0]
    queries = node.add(node.reshape(start, (batch, 1, 1)), _steps(node, length, (1, length, 1)))
    keys = _steps(node, total, (1, 1, total))
    visible = node.less_equal(keys, queries)
    window = node.attr("local_window_size", -1)
    if window > 0:
        near = node.greater(keys, node.subtract(queries, window))
        visible = node.make("logical_and", visible, near)
    return node.reshape(visible, (batch, 1, length, total))


def _attend(node: OnnxNode, query: Expr, keys: Expr, values: Expr, visible: Expr, bias: Expr | None) -> Expr:
    """``softmax(query keys^T) values``: one operator, unless ``softcap`` transforms the scores."""
    if node.attr("softcap", 0.0):
        return _attend_softcap(node, query, keys, values, visible, bias)
    dtype = node.dtype(query)
    unmasked = node.const(0, dtype) if bias is None else bias
    mask = node.make("where", *broadcast_all(node, visible, unmasked, _masked_score(node, dtype)))
    return node.make("nn.attention", query, keys, values, mask)


def _masked_score(node: OnnxNode, dtype: str) -> Expr:
    """The score of a hidden key."""
    return node.const(-math.inf if dtype != "float16" else -65504.0, dtype)


def _attend_softcap(
    node: OnnxNode, query: Expr, keys: Expr, values: Expr, visible: Expr, bias: Expr | None
) -> Expr:
    """As ``_attend``, with scores limited by tanh; the query heads of a group are rows of one product."""
    batch, heads, length, size = node.shape(query)
    _, groups, total, _ = node.shape(keys)
    rows = dims.simplify(heads // groups * length)
    folded = node.reshape(query, (batch, groups, rows, size))
    scores = matmul.matmul(node, folded, node.transpose(keys, (0, 1, 3, 2)))
    scores = node.reshape(scores, (batch, heads, length, total))
    softcap = node.attr("softcap")
    scores = node.multiply(node.make("tanh", node.divide(scores, softcap)), softcap)
    if bias is not None:
        scores = node.add(scores, bias)
    hidden = _masked_score(node, node.dtype(scores))
    scores = node.make("where", *broadcast_all(node, visible, scores, hidden))
    weights = node.reshape(node.make("nn.softmax", scores, axis=-1), (batch, groups, rows, total))
    return node.reshape(matmul.matmul(node, weights, values), (batch, heads, length, size))
