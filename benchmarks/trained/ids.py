"""The limits of ids in a model's inputs: the number of rows of the tables in which they are looked up."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import numpy_helper

VALUE_PRESERVING = {
    *(
        "Cast",
        "Identity",
        "Reshape",
        "Unsqueeze",
        "Squeeze",
        "Flatten",
        "Transpose",
        "Slice",
        "Split",
        "Expand",
    ),
    *("DequantizeLinear", "Gather", "Max", "Min", "Clip", "Abs", "Concat"),
}
"""Operators whose output has the values of the first input, or values bounded by it."""


def id_limits(graph: onnx.GraphProto) -> dict[str, int]:
    """For each input of ``graph`` that is looked up in tables, the fewest rows of these tables."""
    producers = {name: node for node in graph.node for name in node.output}
    tables = {one.name: list(one.dims) for one in graph.initializer}
    tables |= {node.output[0]: _constant_shape(node) for node in graph.node if node.op_type == "Constant"}
    inputs = {one.name for one in graph.input} - tables.keys()
    limits: dict[str, int] = {}
    for ids, rows in _lookups(graph, producers, tables):
        source = _source(ids, producers)
        if source in inputs:
            limits[source] = min(rows, limits.get(source, rows))
    return limits


def _lookups(
    graph: onnx.GraphProto, producers: dict[str, onnx.NodeProto], tables: dict[str, list[int]]
) -> Iterator[tuple[str, int]]:
    """For each lookup in a constant, the name of the ids and the number of rows."""
    for node in graph.node:
        if node.op_type == "Gather":
            table = tables.get(_source(node.input[0], producers, tables))
            axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
            if table:
                yield node.input[1], table[axis]
        elif node.op_type == "OneHot":
            depth = _number(graph, producers, node.input[1])
            if depth:
                yield node.input[0], depth


def _source(
    name: str, producers: dict[str, onnx.NodeProto], tables: dict[str, list[int]] | None = None
) -> str:
    """The origin of the values of ``name``: an input, a constant, or the output of a node."""
    while name in producers and name not in (tables or {}) and producers[name].op_type in VALUE_PRESERVING:
        name = producers[name].input[0]
    return name


def _constant_shape(node: onnx.NodeProto) -> list[int]:
    return next((list(one.t.dims) for one in node.attribute if one.name == "value"), [])


def _number(graph: onnx.GraphProto, producers: dict[str, onnx.NodeProto], name: str) -> int | None:
    """The constant ``name`` if it is a single number."""
    found = [one for one in graph.initializer if one.name == name]
    if name in producers and producers[name].op_type == "Constant":
        found = [one.t for one in producers[name].attribute if one.name == "value"]
    array = numpy_helper.to_array(found[0]) if found else None
    return int(array.reshape(-1)[0]) if array is not None and array.size == 1 else None
