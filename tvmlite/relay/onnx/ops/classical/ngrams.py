"""ONNX's TfIdfVectorizer of numbers: counts the occurrences of each n-gram of a pool."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

MODES = ("TF", "IDF", "TFIDF")


@converter("TfIdfVectorizer", since=9)
def tf_idf(node: OnnxNode, data: Expr) -> Expr:
    """TfIdfVectorizer: for each n-gram, by ``mode``, its count, its weight if it occurs, or their product."""
    mode = node.required("mode")
    if mode not in MODES:
        node.bad(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    if node.has("pool_strings"):
        node.unsupported("of strings", "prepare the text before the model, as numbers")
    shape = node.shape(data)
    if len(shape) not in (1, 2):
        node.bad(f"data of rank {len(shape)}, expected 1 or 2")
    if not isinstance(shape[-1], int):
        node.unsupported(f"rows of dynamic length {shape[-1]}")
    columns = np.asarray(node.required("ngram_indexes"), np.int64)
    width = int(columns.max(initial=-1)) + 1
    counts = _counts(node, data if len(shape) == 2 else node.reshape(data, (1, shape[0])))
    if columns.min(initial=0) < 0 or len(columns) != node.shape(counts)[1]:
        node.bad(f"{len(columns)} ngram_indexes for {node.shape(counts)[1]} n-grams")
    weights = np.asarray(node.attr("weights", [1.0] * len(columns)), np.float32)
    if len(weights) != len(columns):
        node.bad(f"{len(weights)} weights for {len(columns)} n-grams")
    if mode == "IDF":
        counts = node.cast(node.greater(counts, 0), "float32")
    if mode != "TF":
        counts = node.multiply(counts, node.const(weights, "float32"))
    places = np.zeros((len(columns), width), np.float32)
    places[np.arange(len(columns)), columns] = 1
    made = node.make("nn.dense", counts, node.const(places.T, "float32"))
    return made if len(shape) == 2 else node.reshape(made, (width,))


def _counts(node: OnnxNode, data: Expr) -> Expr:
    """The number of occurrences of each n-gram of the pool in each row, in the pool's order, as float32."""
    pool = np.asarray(node.required("pool_int64s"), np.int64)
    starts = [*node.required("ngram_counts"), len(pool)]
    shortest, longest = node.required("min_gram_length"), node.required("max_gram_length")
    batch, length = node.shape(data)
    assert isinstance(length, int)
    parts: list[Expr] = []
    for size, (begin, end) in enumerate(itertools.pairwise(starts), 1):
        if not 0 <= begin <= end or (end - begin) % size:
            node.bad(f"ngram_counts are {starts[:-1]} of a pool of {len(pool)}")
        grams = pool[begin:end].reshape(-1, size)
        reaches = range(1, 2 if size == 1 else node.required("max_skip_count") + 2)
        fitting = [r for r in reaches if (size - 1) * r < length and shortest <= size <= longest]
        found = [_matches(node, data, grams, reach) for reach in fitting] if len(grams) else []
        if found:
            parts.append(functools.reduce(lambda a, b: node.add(a, b), found))
        elif len(grams):
            parts.append(node.full(0, (batch, len(grams)), "float32"))
    if not parts:
        node.bad("a pool without n-grams")
    return node.joined(parts, 1)


def _matches(node: OnnxNode, data: Expr, grams: np.ndarray, reach: int) -> Expr:
    """``(batch, grams)``: the number of matches of a gram, its numbers being ``reach`` apart."""
    batch, length = node.shape(data)
    assert isinstance(length, int)
    places = length - (grams.shape[1] - 1) * reach
    same: list[Expr] = []
    for k, column in enumerate(grams.T):
        part = node.slice(data, [1], [k * reach], [k * reach + places])
        part = node.cast(node.reshape(part, (batch, places, 1)), "int64")
        same.append(node.make("equal", part, node.const(column, "int64")))
    every = functools.reduce(lambda a, b: node.make("logical_and", a, b), same)
    return node.make("sum", node.cast(every, "float32"), axis=(1,), keepdims=False)
