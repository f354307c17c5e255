"""Attention as one operator, whose softmax weights never leave the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import Dim, TensorType, same_dim, show_shape
from tvmlite.relay.ops.common import (
    FLOAT,
    broadcast_indices,
    expect,
    expect_extent,
    fault,
    intrinsic,
    is_one,
    one_dtype,
)
from tvmlite.relay.ops.convolutions.conv import converted, result_dtype, sum_dtype
from tvmlite.relay.ops.products.matmul import PANEL
from tvmlite.relay.ops.reductions.normalize import reduce_rows
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

AXES = "bhsd"
"""The axes of the result in the default ``layout``: batch, head, query and feature."""


def layout_order(layout: str) -> tuple[int, ...]:
    """The position in ``AXES`` of each axis of ``layout``: ``(0, 2, 1, 3)`` for ``bshd``."""
    return tuple(AXES.index(letter) for letter in layout)


def _attention_type(
    call: Call, query: TensorType, key: TensorType, value: TensorType, mask: TensorType
) -> TensorType:
    """``(b, h, s, d)``, ``(b, g, t, d)`` and ``(b, g, t, v)`` give ``(b, h, s, v)``, in ``layout``.

    The mask may also have the dtype that sums are computed in.
    """
    dtype = one_dtype(call, query, key, value)
    expect(call, "data is", dtype, FLOAT)
    if mask.dtype not in (dtype, sum_dtype(dtype)):
        raise fault(call, f"mask is {mask.dtype}, expected {dtype}, as query is")
    if sorted(call["layout"]) != sorted(AXES) or call["layout"][-1] != "d":
        raise fault(call, f"layout is {call['layout']!r}, expected b, h and s in some order, then d")
    for name, given in (("query", query), ("key", key), ("value", value)):
        if given.ndim != 4:
            raise fault(call, f"{name} is {show_shape(given.shape)}, expected (batch, heads, length, size)")
    for name, given in (("key", key), ("value", value)):
        expect_extent(call, f"the batch of {name}", given.shape[0], query.shape[0])
    expect_extent(call, "the size of key", key.shape[3], query.shape[3])
    expect_extent(call, "the number of heads of value", value.shape[1], key.shape[1])
    expect_extent(call, "the length of value", value.shape[2], key.shape[2])
    _heads_per_key(call, query.shape[1], key.shape[1])
    batch, heads, length, _ = query.shape
    _check_mask(call, mask, (batch, heads, length, key.shape[2]))
    result = batch, heads, length, value.shape[3]
    return TensorType(tuple(result[axis] for axis in layout_order(call["layout"])), result_dtype(call, dtype))


def _heads_per_key(call: Call, heads: Dim, key_heads: Dim) -> int:
    """Return the number of heads of the query that share a head of the key."""
    if same_dim(heads, key_heads):
        return 1
    if not (isinstance(heads, int) and isinstance(key_heads, int) and key_heads and heads % key_heads == 0):
        raise fault(call, f"{heads} heads of the query do not divide among {key_heads} of the key")
    return heads // key_heads


def _check_mask(call: Call, mask: TensorType, scores: tuple[Dim, ...]) -> None:
    fits = mask.ndim <= 4 and all(
        is_one(own) or same_dim(own, extent)
        for own, extent in zip(mask.shape, scores[4 - mask.ndim :], strict=True)
    )
    if not fits:
        raise fault(
            call,
            f"mask is {show_shape(mask.shape)}, expected a shape that broadcasts to {show_shape(scores)}",
        )


def attention_numpy(
    call: Call, query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray
) -> np.ndarray:
    """The reference of ``nn.attention``, in the dtype of sums; shared keys and values are repeated."""
    work = np.dtype(sum_dtype(query.dtype.name))
    shared = query.shape[1] // key.shape[1] if key.shape[1] else 1
    wide_key, wide_value = (np.repeat(one.astype(work), shared, axis=1) for one in (key, value))
    with np.errstate(all="ignore"):
        scores = query.astype(work) @ wide_key.swapaxes(-1, -2) * work.type(call["scale"])
        scores = scores + mask.astype(work)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        total = powers.sum(axis=-1, keepdims=True)
        made = (powers / total) @ wide_value
        made = np.where(total > 0, made, 0) if call["zero_hidden"] else made
    dtype = result_dtype(call, query.dtype.name)
    return made.transpose(layout_order(call["layout"])).astype(dtypes.numpy_of(dtype))


@operator(
    "nn.attention",
    infer=_attention_type,
    reference=attention_numpy,
    fuse=Fuse.COMM_REDUCE,
    attrs={"scale": 1.0, "layout": "bhsd", "zero_hidden": False, "out_dtype": ""},
    schedule=anchors.ATTENTION,
)
def attention(call: Call, query: te.Tensor, key: te.Tensor, value: te.Tensor, mask: te.Tensor) -> te.Tensor:
    """``softmax(query key^T * scale + mask) value``, for each head; ``mask`` is a scalar 0 if there is none.

    Consecutive heads of the query share a head of the key (grouped-query attention). ``layout`` is the
    result's. A query without a visible key (every score minus infinity), or with NaN, gives NaN, as softmax
    does; with ``zero_hidden`` it gives 0.
    """
    work = sum_dtype(query.dtype)
    shared = _heads_per_key(call, query.shape[1], key.shape[1])
    scale = e.const(call["scale"], work)
    scaled = te.compute(
        query.shape, lambda *at: query[at].astype(work) * scale, name="query", tag="attention_query"
    )
    masked = _scores(scaled, key, mask, shared, work)
    greatest = reduce_rows(masked, (3,), reducers.max_reduce, lambda at: masked[at], "row_max")
    powers = te.compute(
        masked.shape,
        lambda *at: intrinsic("exp", masked[at] - greatest[at[:3]]),
        name="powers",
        tag="row_powers",
    )
    total = reduce_rows(powers, (3,), reducers.sum, lambda at: powers[at], "row_sum")
    share = te.compute(total.shape, lambda *at: 1.0 / total[at], name="row_share", tag="row_scalar")
    values = _pad_features(value)
    seen = te.reduce_axis(value.shape[2], name="t")

    def weighted(batch: Any, head: Any, row: Any, feature: Any) -> e.Expr:
        read = values[batch, head // shared if shared > 1 else head, seen, feature]
        return reducers.sum(powers[batch, head, row, seen] * read.astype(work), seen)

    shape = (*query.shape[:3], value.shape[3])
    context = te.compute((*shape[:3], values.shape[3]), weighted, name="context", tag="attention_context")
    order = layout_order(call["layout"])

    def element(*at: Any) -> e.Expr:
        where = tuple(at[order.index(axis)] for axis in range(4))
        value = context[where] * share[where[:3]]
        return e.Select(total[where[:3]] > 0, value, e.const(0, work)) if call["zero_hidden"] else value

    result = te.compute(
        tuple(shape[axis] for axis in order),
        element,
        name="attention",
        tag="attention_output",
        attrs={"order": order, "shared": shared},
    )
    return converted(result, result_dtype(call, query.dtype))


def _pad_features(value: te.Tensor) -> te.Tensor:
    """Pad features with zeros to whole panels: sums of partial vectors are not kept in registers."""
    features = value.shape[3]
    if not isinstance(features, int) or features % PANEL == 0:
        return te.compute(value.shape, lambda *at: value[at], name="values", tag="attention_values")

    def element(*at: Any) -> e.Expr:
        return e.Call("if_then_else", (at[3] < features, value[at], e.const(0, value.dtype)), value.dtype)

    shape = (*value.shape[:3], -(-features // PANEL) * PANEL)
    return te.compute(shape, element, name="values", tag="attention_values")


def _panels(key: te.Tensor) -> te.Tensor:
    """Pack keys into panels ``(b, g, t / PANEL, d, PANEL)``, with zeros after the last key.

    Rows of keys, and their transposition, are separate stages: whether they are copied or inlined is the
    schedule's choice.
    """
    count = key.shape[2]

    def row(batch: Any, head: Any, panel: Any, lane: Any, k: Any) -> e.Expr:
        place = panel * PANEL + lane
        read = key[batch, head, place, k]
        if isinstance(count, int) and count % PANEL == 0:
            return read
        return e.Call("if_then_else", (place < count, read, e.const(0, key.dtype)), key.dtype)

    lead = (*key.shape[:2], (count + (PANEL - 1)) // PANEL)
    rows = te.compute((*lead, PANEL, key.shape[3]), row, name="keys", tag="attention_keys")
    shape = (*lead, key.shape[3], PANEL)
    return te.compute(shape, lambda *at: rows[(*at[:3], at[4], at[3])], name="panels", tag="pack")


def _scores(query: te.Tensor, key: te.Tensor, mask: te.Tensor, shared: int, work: str) -> te.Tensor:
    """``query key^T + mask``, ``(b, h, s, t)``, from keys packed into panels."""
    panels = _panels(key)
    width = panels.shape[-1]
    k = te.reduce_axis(query.shape[3], name="k")

    def product(batch: Any, head: Any, row: Any, panel: Any, lane: Any) -> e.Expr:
        read = panels[batch, head // shared if shared > 1 else head, panel, k, lane]
        return reducers.sum(query[batch, head, row, k] * read.astype(work), k)

    products = te.compute(
        (*query.shape[:3], panels.shape[2], width), product, name="scores", tag="attention_scores"
    )
    shape = (*query.shape[:3], key.shape[2])

    def element(*at: Any) -> e.Expr:
        read = mask[broadcast_indices(mask.shape, shape, at)]
        return products[(*at[:3], at[3] // width, at[3] % width)] + read.astype(work)

    return te.compute(shape, element, name="masked", tag="attention_masked")
