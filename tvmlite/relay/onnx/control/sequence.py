"""Converts ONNX's sequences and optionals at import: a sequence is a Relay Tuple of its elements.

The number of elements, and the indices used, must follow from constants and shapes, as in exported models,
except for lists that a loop appends to (``loop_lists``). An optional is its element; an empty one is
``NOTHING``, which converters see as a missing input.
"""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Expr, Tuple
from tvmlite.relay.onnx.control import loop_lists
from tvmlite.relay.onnx.control.control import convert_subgraph
from tvmlite.relay.onnx.graph import shapes
from tvmlite.relay.onnx.graph.node import NOTHING, OnnxNode
from tvmlite.relay.onnx.ops.shapes.index import normalize_indices
from tvmlite.relay.onnx.reading.registry import converter

OF_OPEN_LISTS = ("SequenceLength", "SequenceAt", "ConcatFromSequence", "Identity")
"""Operators that accept a list whose length is known only at run time (``loop_lists``)."""


def _elements(node: OnnxNode, value: Expr | None, what: str = "input_sequence") -> tuple[Expr, ...]:
    if not isinstance(value, Tuple):
        node.bad(f"input {what!r} is a tensor, expected a sequence")
    return value.fields


def _place(node: OnnxNode, position: Expr | None, count: int, last: int) -> int:
    """``position`` counted from the front, at most ``last``; ``last`` if it is missing."""
    if position is None:
        return last
    place = int(node.number(position, "position"))
    if not -count <= place <= last:
        node.bad(f"position {place} is outside [{-count}, {last}]")
    return place + count if place < 0 else place


@converter("SequenceConstruct", since=11)
def construct(node: OnnxNode, *elements: Expr) -> Expr:
    """SequenceConstruct: a Tuple of the inputs, none of which is copied."""
    return Tuple(elements, node.span)


@converter("SequenceEmpty", since=11)
def empty(node: OnnxNode) -> Expr:
    """SequenceEmpty: a Tuple of no fields; its ``dtype`` is not kept."""
    return Tuple((), node.span)


@converter("SequenceLength", since=11)
def length(node: OnnxNode, sequence: Expr) -> Expr:
    """SequenceLength: a constant, or the first extent of the tensor that holds a list of run-time length."""
    stacked = node.importer.lists.get(sequence)
    if stacked is not None:
        return shapes.materialise(node, shapes.objects(node.shape(stacked)[:1], ()), "int64")
    return node.const(len(_elements(node, sequence)), "int64")


@converter("SequenceAt", since=11)
def at(node: OnnxNode, sequence: Expr, position: Expr) -> Expr:
    """SequenceAt: a field of the Tuple, or a row of the tensor that holds a list of run-time length."""
    stacked = node.importer.lists.get(sequence)
    if stacked is not None:
        index = normalize_indices(node, node.reshape(position, ()), node.shape(stacked)[0])
        return node.make("take", stacked, index, axis=0)
    elements = _elements(node, sequence)
    if not elements:
        node.bad("the sequence is empty")
    return elements[_place(node, position, len(elements), len(elements) - 1)]


@converter("SequenceInsert", since=11)
def insert(node: OnnxNode, sequence: Expr, element: Expr, position: Expr | None = None) -> Expr:
    """SequenceInsert: before ``position``, which must be known at import; at the end by default."""
    elements = list(_elements(node, sequence))
    elements.insert(_place(node, position, len(elements), len(elements)), element)
    return Tuple(tuple(elements), node.span)


@converter("SequenceErase", since=11)
def erase(node: OnnxNode, sequence: Expr, position: Expr | None = None) -> Expr:
    """SequenceErase: without the element at ``position``, known at import; the last by default."""
    elements = list(_elements(node, sequence))
    if not elements:
        node.bad("the sequence is empty")
    del elements[_place(node, position, len(elements), len(elements) - 1)]
    return Tuple(tuple(elements), node.span)


@converter("ConcatFromSequence", since=11)
def concat(node: OnnxNode, sequence: Expr) -> Expr:
    """ConcatFromSequence: along ``axis``; with ``new_axis`` along a new axis at that position."""
    new = node.flag("new_axis")
    stacked = node.importer.lists.get(sequence)
    if stacked is not None:
        rank = node.rank(stacked) - 1
        axis = node.axis(node.required("axis"), rank + new)
        if not new:
            return loop_lists.concatenate_rows(node, stacked, axis)
        return node.transpose(stacked, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    elements = list(_elements(node, sequence))
    if not elements:
        node.unsupported("the sequence is empty")
    axis = node.axis(node.required("axis"), node.rank(elements[0]) + new)
    if new:
        shapes = [list(node.shape(v)) for v in elements]
        elements = [node.reshape(v, [*s[:axis], 1, *s[axis:]]) for v, s in zip(elements, shapes, strict=True)]
    return node.joined(elements, axis)


@converter("SplitToSequence", since=11)
def split(node: OnnxNode, data: Expr, sizes: Expr | None = None) -> Expr:
    """SplitToSequence along ``axis``: parts of one or given sizes, or rows, with the axis if ``keepdims``."""
    shape = node.shape(data)
    axis = node.axis(node.attr("axis", 0), len(shape))
    whole = shape[axis]
    if not isinstance(whole, int):
        node.unsupported(f"along an axis of dynamic extent {whole}")
    if sizes is None:
        pieces = [1] * whole
    elif node.rank(sizes):
        pieces = node.static_ints(sizes, "split")
    else:
        step = int(node.number(sizes, "split"))
        if step < 1:
            node.bad(f"split is {step}, expected at least 1")
        pieces = [min(step, whole - start) for start in range(0, whole, step)]
    if sum(pieces) != whole or min(pieces, default=0) < 0:
        node.bad(f"split is {pieces}, which do not add up to {whole}")
    ends = np.cumsum(pieces, dtype=np.int64).tolist()
    made = [node.slice(data, [axis], [e - p], [e]) for e, p in zip(ends, pieces, strict=True)]
    if sizes is None and not node.flag("keepdims"):
        made = [node.reshape(one, (*shape[:axis], *shape[axis + 1 :])) for one in made]
    return Tuple(tuple(made), node.span)


@converter("SequenceMap", since=17)
def sequence_map(node: OnnxNode, sequence: Expr, *more: Expr) -> list[Expr]:
    """SequenceMap: the body for each element, with other sequences' elements at its index, and tensors."""
    first = _elements(node, sequence)
    for one in more:
        if isinstance(one, Tuple) and len(one.fields) != len(first):
            node.bad(f"sequences of {len(first)} and {len(one.fields)} elements, expected equal numbers")
    graph = node.required("body")
    results = [
        convert_subgraph(node, graph, [value, *(m.fields[k] if isinstance(m, Tuple) else m for m in more)])
        for k, value in enumerate(first)
    ]
    return [Tuple(tuple(one[i] for one in results), node.span) for i in range(len(graph.output))]


@converter("Optional", since=15)
def optional(node: OnnxNode, value: Expr | None = None) -> Expr:
    """Optional: its element itself; without an input the empty optional, ``NOTHING``."""
    return NOTHING if value is None else value


@converter("OptionalHasElement", since=15)
def has_element(node: OnnxNode, value: Expr | None = None) -> Expr:
    """OptionalHasElement: a constant, since import decides which optionals are empty."""
    return node.const(value is not None, "bool")


@converter("OptionalGetElement", since=15)
def get_element(node: OnnxNode, value: Expr | None = None) -> Expr:
    """OptionalGetElement: the element, which the optional itself is; an empty one is an error."""
    if value is None:
        node.bad("the optional is empty")
    return value
