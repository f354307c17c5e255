"""ONNX's operators that select and place elements by index, sort, and accumulate."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import Dim, same_shape, show_shape
from tvmlite.relay.onnx.graph.axes import along_dynamic_axis, require_extent
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter


def normalize_indices(node: OnnxNode, indices: Expr, extent: Dim) -> Expr:
    """Return indices of one axis with negative ones counted from its end; one outside stops the run."""
    if isinstance(indices, Constant) and isinstance(extent, int):
        data = indices.data.astype(np.int64)
        outside = data[(data < -extent) | (data >= extent)]
        if outside.size:
            node.bad(f"index {int(outside[0])} is outside [{-extent}, {extent - 1}]")
        return Constant(np.where(data < 0, data + extent, data).astype(indices.data.dtype), node.span)
    if dtypes.bytes_of(node.dtype(indices)) < 4:
        indices = node.cast(indices, "int64")
    return node.make("assume_indices", indices, extents=(extent,))


@converter("Gather")
def gather(node: OnnxNode, data: Expr, indices: Expr) -> Expr:
    """Gather as take: slices along ``axis``; negative indices count from the end of the axis."""
    shape = node.shape(data)
    axis = node.axis(node.attr("axis", 0), len(shape))
    return node.make("take", data, normalize_indices(node, indices, shape[axis]), axis=axis)


@converter("GatherElements", since=11)
def gather_elements(node: OnnxNode, data: Expr, indices: Expr) -> Expr:
    """GatherElements as gather: one element for each index; other axes of the data may be longer."""
    shape = node.shape(data)
    axis = node.axis(node.attr("axis", 0), len(shape))
    extents = node.shape(indices)
    if len(extents) != len(shape):
        node.bad(f"indices of rank {len(extents)} for data of rank {len(shape)}")
    for other, extent in enumerate(extents):
        if other != axis and not (isinstance(extent, int) and isinstance(shape[other], int)):
            data = require_extent(node, data, other, extent)
    return node.make("gather", data, normalize_indices(node, indices, shape[axis]), axis=axis)


def _index_tuples(node: OnnxNode, data: Expr, indices: Expr, skip: int = 0) -> Expr:
    """Index tuples counted from the front, with their components along the first axis, as for gather_nd."""
    shape, extents = node.shape(indices), node.shape(data)
    length = shape[-1]
    if not isinstance(length, int):
        node.unsupported(f"index tuples of dynamic length {length}")
    if not skip + length <= len(extents) or len(shape) - 1 < skip:
        node.bad(f"index tuples of {length} for data of rank {len(extents)}")
    made = node.make("assume_indices", indices, extents=extents[skip : skip + length], axis=-1)
    return node.transpose(made, [len(shape) - 1, *range(len(shape) - 1)])


@converter("GatherND", since=11)
def gather_nd(node: OnnxNode, data: Expr, indices: Expr) -> Expr:
    """GatherND: the last axis of the indices has index tuples; both have ``batch_dims`` leading axes."""
    skip = node.attr("batch_dims")
    return node.make("gather_nd", data, _index_tuples(node, data, indices, skip), batch_dims=skip)


def _reduction(node: OnnxNode) -> str:
    kind = node.choice("reduction", "none", "add", "mul", "max", "min")
    return "update" if kind == "none" else kind


@converter("Scatter", "ScatterElements", since=9)
def scatter_elements(node: OnnxNode, data: Expr, indices: Expr, updates: Expr) -> Expr:
    """Scatter, and ScatterElements with ``reduction``: places, adds, ... an update for each index."""
    shape = node.shape(data)
    axis = node.axis(node.attr("axis", 0), len(shape))
    where = normalize_indices(node, indices, shape[axis])
    return node.make("scatter_elements", data, where, updates, axis=axis, reduction=_reduction(node))


@converter("ScatterND", since=11)
def scatter_nd(node: OnnxNode, data: Expr, indices: Expr, updates: Expr) -> Expr:
    """ScatterND: places slices of updates at index tuples, or combines them with the data (``reduction``)."""
    return node.make("scatter_nd", data, _index_tuples(node, data, indices), updates, mode=_reduction(node))


@converter("OneHot", since=9)
def one_hot(node: OnnxNode, indices: Expr, depth: Expr, values: Expr) -> Expr:
    """OneHot: ``values`` are (off, on); indices outside the depth give a row of offs."""
    count = _depth(node, depth)
    if not same_shape(node.shape(values), (2,)):
        node.bad(f"values is {show_shape(node.shape(values))}, expected the 2 elements off and on")
    rank = node.rank(indices)
    whole = node.cast(indices, "int64")
    depths = node.scalar(count)
    whole = node.make("where", node.less(whole, 0), node.add(whole, depths), whole)
    off, on = (node.reshape(node.slice(values, [0], [i], [i + 1]), ()) for i in (0, 1))
    axis = node.axis(node.attr("axis", -1), rank + 1)
    return node.make("one_hot", whole, on, off, depth=count, axis=axis, dtype=node.dtype(values))


def _depth(node: OnnxNode, depth: Expr) -> Dim:
    """The one element of ``depth``, which may be a float."""
    known = node.known(depth)
    if known is None and dtypes.is_float(node.dtype(depth)):
        depth = node.cast(depth, "int64")
    return node.extents(depth, "depth", 1)[0]


@converter("TopK")
def top_k(node: OnnxNode, data: Expr, k: Expr | None = None) -> list[Expr]:
    """TopK; K is an attribute in older operator sets."""
    (count,) = [node.attr("k")] if k is None else node.extents(k, "K", 1)
    rank = node.rank(data)
    axis = node.axis(node.attr("axis", -1), rank)
    extent = node.shape(data)[axis]
    if isinstance(count, int) and (count < 0 or (isinstance(extent, int) and count > extent)):
        node.bad(f"K is {count} on an axis of {extent}")
    if not (isinstance(count, int) and isinstance(extent, int)):
        data = require_extent(node, data, axis, count)
    order = {"ret_type": "both", "is_ascend": not node.flag("largest"), "dtype": "int64"}
    made = node.make("topk", data, k=count, axis=axis, **order)
    return [node.field(made, 0), node.field(made, 1)]


@converter("CumSum", "CumProd", since=11)
def cumulative(node: OnnxNode, data: Expr, axis: Expr) -> Expr:
    """CumSum, CumProd: running sums or products along an axis; with ``reverse`` from the end."""
    if node.is_dynamic(axis):
        (given,) = node.ints(axis, "axis")
        return along_dynamic_axis(node, data, given, lambda x, along: _cumulative(node, x, along))
    return _cumulative(node, data, node.axis(int(node.number(axis, "axis")), node.rank(data)))


def _cumulative(node: OnnxNode, data: Expr, along: int) -> Expr:
    name = "cumsum" if node.op_type == "CumSum" else "cumprod"
    backwards, attrs = node.flag("reverse"), {"dtype": node.dtype(data), "exclusive": node.flag("exclusive")}
    if backwards:
        data = node.make("reverse", data, axis=along)
    made = node.make(name, data, axis=along, **attrs)
    return node.make("reverse", made, axis=along) if backwards else made


@converter("ReverseSequence", since=10)
def reverse_sequence(node: OnnxNode, data: Expr, lengths: Expr) -> Expr:
    """ReverseSequence: the first ``lengths[i]`` steps of sample i along ``time_axis`` in reverse."""
    along = {"seq_axis": node.attr("time_axis"), "batch_axis": node.attr("batch_axis")}
    return node.make("reverse_sequence", data, lengths, **along)


@converter("TensorScatter", since=24)
def tensor_scatter(node: OnnxNode, cache: Expr, update: Expr, start: Expr | None = None) -> Expr:
    """TensorScatter: a cache with an update written at each batch's own position."""
    start = node.full(0, node.shape(cache)[:1], "int64") if start is None else start
    axis, mode = node.attr("axis", -2), node.attr("mode")
    return node.make("tensor_scatter", cache, update, start, axis=axis, mode=mode)
