"""BERT's encoder (Devlin et al. 2018, arXiv:1810.04805) in the operators that exporters write."""

from __future__ import annotations

import math

import onnx
from onnx import TensorProto

from networks.graph import Graph

VOCABULARY = 1000
"""Rows of the word embedding. It is only looked up, so more rows would only need more memory."""


POSITIONS = 512
"""The longest sequence if the number of tokens is symbolic."""


def encoder(layers: int, hidden: int, heads: int, tokens: int | str = 128) -> onnx.ModelProto:
    """``layers`` layers over one sequence of ``tokens``, from ids and a mask to the last hidden state.

    If ``tokens`` is a name, the number of tokens is known only at run time.
    """
    graph = Graph("encoder")
    ids = graph.input("input_ids", (1, tokens), TensorProto.INT64)
    kept = graph.input("attention_mask", (1, tokens), TensorProto.INT64)
    mask = graph.op("Cast", graph.op("Unsqueeze", kept, graph.const([1, 2], "int64")), to=TensorProto.FLOAT)
    mask = graph.op("Mul", graph.op("Sub", graph.const(1.0), mask), graph.const(-10000.0))
    words = graph.op("Gather", graph.normal(VOCABULARY, hidden, deviation=0.5), ids, axis=0)
    x = _norm(graph, graph.op("Add", words, _positions(graph, ids, tokens, hidden)), hidden)
    for _ in range(layers):
        x = _layer(graph, x, mask, hidden, heads)
    return graph.model(x, (1, tokens, hidden))


def _positions(graph: Graph, ids: str, tokens: int | str, hidden: int) -> str:
    """The position embedding that is added to the words."""
    if isinstance(tokens, int):
        return graph.normal(1, tokens, hidden, deviation=0.5)
    rows = graph.normal(1, POSITIONS, hidden, deviation=0.5)
    count = graph.op("Gather", graph.op("Shape", ids), graph.const([1], "int64"), axis=0)
    return graph.op("Slice", rows, graph.const([0], "int64"), count, graph.const([1], "int64"))


def _layer(graph: Graph, x: str, mask: str, hidden: int, heads: int) -> str:
    x = _norm(graph, graph.op("Add", _attention(graph, x, mask, hidden, heads), x), hidden)
    inner = _gelu(graph, _linear(graph, x, hidden, 4 * hidden))
    return _norm(graph, graph.op("Add", _linear(graph, inner, 4 * hidden, hidden), x), hidden)


def _attention(graph: Graph, x: str, mask: str, hidden: int, heads: int) -> str:
    size = hidden // heads

    def split(perm: list[int]) -> str:
        shape = graph.const([0, 0, heads, size], "int64")
        return graph.op("Transpose", graph.op("Reshape", _linear(graph, x, hidden, hidden), shape), perm=perm)

    query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = graph.op("Div", graph.op("MatMul", query, key), graph.const(math.sqrt(size)))
    weights = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    context = graph.op("Transpose", graph.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    context = graph.op("Reshape", context, graph.const([0, 0, hidden], "int64"))
    return _linear(graph, context, hidden, hidden)


def _linear(graph: Graph, x: str, inputs: int, outputs: int) -> str:
    product = graph.op("MatMul", x, graph.normal(inputs, outputs, deviation=math.sqrt(1 / inputs)))
    return graph.op("Add", graph.normal(outputs, deviation=0.02), product)


def _norm(graph: Graph, x: str, hidden: int) -> str:
    scale, shift = graph.const([1.0] * hidden), graph.normal(hidden, deviation=0.1)
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-12)


def _gelu(graph: Graph, x: str) -> str:
    curve = graph.op("Erf", graph.op("Div", x, graph.const(math.sqrt(2))))
    curve = graph.op("Mul", x, graph.op("Add", curve, graph.const(1.0)))
    return graph.op("Mul", curve, graph.const(0.5))
