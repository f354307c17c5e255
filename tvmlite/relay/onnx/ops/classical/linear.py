"""ONNX's classical models that are tensor arithmetic: scaling, linear models, selecting features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tvmlite.core.span import Span
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

DOMAIN = "ai.onnx.ml"


def rows_of(node: OnnxNode, data: Expr, dtype: str = "float32") -> Expr:
    """Return ``data`` as rows of features; a vector is one row."""
    if node.rank(data) == 1:
        data = node.expand_to_rank(data, 2)
    if node.rank(data) != 2:
        node.unsupported(f"rows of rank {node.rank(data)}, expected a matrix")
    return node.cast(data, dtype)


def transformed(node: OnnxNode, scores: Expr, post_transform: str) -> Expr:
    """Return scores along the last axis after a model's ``post_transform``."""
    match post_transform:
        case "NONE":
            return scores
        case "LOGISTIC":
            return node.make("sigmoid", scores)
        case "SOFTMAX":
            return node.make("nn.softmax", scores, axis=-1)
    return node.unsupported(f"post_transform {post_transform!r}; supported are NONE, LOGISTIC and SOFTMAX")


def _numbers(node: OnnxNode, name: str, width: Any) -> np.ndarray:
    """An attribute with one number for all features, or one for each; ``width`` is the number of features."""
    given = np.asarray(node.required(name), np.float32)
    if given.size != 1 and isinstance(width, int) and given.size != width:
        node.bad(f"{name} has {given.size} numbers, expected 1 or {width}")
    return given


@converter("Scaler", domain=DOMAIN)
def scaler(node: OnnxNode, data: Expr) -> Expr:
    """Scaler: ``(data - offset) * scale``, as float32."""
    data = node.cast(data, "float32")
    width = node.shape(data)[-1] if node.rank(data) else 1
    offset, scale = (_numbers(node, name, width) for name in ("offset", "scale"))
    return node.multiply(node.subtract(data, offset), scale)


@converter("Normalizer", domain=DOMAIN)
def normalizer(node: OnnxNode, data: Expr) -> Expr:
    """Normalizer: rows divided by their greatest element, their L1 norm, or their L2 norm."""
    norm, rows = node.attr("norm", "MAX"), node.cast(data, "float32")
    along = {"axis": (-1,), "keepdims": True}
    match norm:
        case "MAX":
            over = node.make("max", rows, **along)
        case "L1":
            over = node.make("sum", node.make("abs", rows), **along)
        case "L2":
            over = node.make("sqrt", node.make("sum", node.multiply(rows, rows), **along))
        case _:
            node.bad(f"norm is {norm!r}, expected MAX, L1 or L2")
    return node.make("where", node.make("equal", over, 0), rows, node.divide(rows, over))


@converter("LinearRegressor", domain=DOMAIN)
def linear_regressor(node: OnnxNode, data: Expr) -> Expr:
    """LinearRegressor: rows times coefficients, a row of these for each target, plus intercepts."""
    targets, rows = node.attr("targets", 1), rows_of(node, data)
    weights = np.asarray(node.required("coefficients"), np.float32)
    width = node.shape(rows)[1]
    if targets < 1 or weights.size % targets or width != weights.size // targets:
        node.bad(f"{weights.size} coefficients for {targets} targets of rows of {width} features")
    made = node.make("nn.dense", rows, node.const(weights.reshape(targets, -1), "float32"))
    intercepts = node.attr("intercepts", [])
    if intercepts:
        if len(intercepts) != targets:
            node.bad(f"{len(intercepts)} intercepts for {targets} targets")
        made = node.add(made, np.asarray(intercepts, np.float32))
    return transformed(node, made, node.attr("post_transform", "NONE"))


@converter("Binarizer", domain=DOMAIN)
def binarizer(node: OnnxNode, data: Expr) -> Expr:
    """Binarizer: 1 for elements greater than a threshold, else 0."""
    return node.cast(node.greater(data, node.attr("threshold", 0.0)), node.dtype(data))


@converter("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(node: OnnxNode, data: Expr, indices: Expr) -> Expr:
    """ArrayFeatureExtractor: elements of the last axis, by indices."""
    flat = node.reshape(indices, (node.product(node.shape(indices)),))
    if node.rank(data) == 1:
        data = node.expand_to_rank(data, 2)
    return node.make("take", data, flat, axis=node.rank(data) - 1)


@converter("ZipMap", domain=DOMAIN)
def zip_map(node: OnnxNode, data: Expr) -> Expr:
    """ZipMap: the rows of scores unchanged, with a column for each class, because arrays hold no maps.

    A RuntimeWarning reports this, and the classes of the columns.
    """
    scores = rows_of(node, data)
    classes = node.attr("classlabels_int64s", []) or node.attr("classlabels_strings", [])
    width = node.shape(scores)[1]
    if isinstance(width, int) and len(classes) != width:
        node.bad(f"{len(classes)} classes for {width} columns")
    caller = Span.of_caller()
    warnings.warn_explicit(
        f"{node.span}: its output is an array, not a map of each row: the columns are the classes {classes}",
        RuntimeWarning,
        caller.source,
        caller.line,
    )
    return scores
