"""ONNX's ensembles of decision trees, by the operator ``tree_ensemble``, whose nodes all compare with <=."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops.classical.linear import DOMAIN, rows_of, transformed
from tvmlite.relay.onnx.reading.registry import converter

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""The comparisons of a feature with a threshold, in the order of TreeEnsemble's numbers."""

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass
class Trees:
    """The nodes of all trees in one list; ``modes`` are indices into ``MODES``, -1 for leaves.

    Each has a row of ``weights``, one for each target.
    """

    features: np.ndarray
    values: np.ndarray
    modes: np.ndarray
    then: np.ndarray
    otherwise: np.ndarray
    nan_is_true: np.ndarray
    roots: np.ndarray
    weights: np.ndarray

    def check_cycles(self, node: OnnxNode) -> None:
        """Check that every path from the roots ends at a leaf; else an error."""
        at, depth = self.roots, 0
        while (self.modes[at] >= 0).any():
            inner = at[self.modes[at] >= 0]
            at, depth = np.unique(np.concatenate([self.then[inner], self.otherwise[inner]])), depth + 1
            if depth > len(self.modes):
                node.bad("its nodes are in a cycle")


def _normalize(trees: Trees, dtype: str, width: Any) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, as ``tree_ensemble`` takes them, and thresholds: all lead to the second child if "feature <=
    threshold" holds, to the first otherwise; features from ``width`` on are the negated ones.

    For numbers, ``x < t`` is ``x <= p`` with the next lower ``p``; ``>`` and ``>=`` are negations, and ``x ==
    t`` is ``x <= t`` and, in a second node, not ``x <= p``. If NaN takes the branch of lower numbers, the
    negated feature is compared: ``x > t`` is ``-x < -t``. No number is less than or equal to NaN.
    """

    def has_mode(*names: str) -> np.ndarray:
        return np.isin(trees.modes, [MODES.index(f"BRANCH_{name}") for name in names])

    threshold = trees.values.astype(dtype)
    below, exact = _next_lower(threshold), np.flatnonzero(has_mode("EQ", "NEQ"))
    compared = np.where(has_mode("LT", "GTE"), below, threshold)
    children = np.stack([trees.otherwise, trees.then], 1)
    swapped = (has_mode("GTE", "GT") & ~np.isnan(threshold)) | has_mode("NEQ")
    children = np.where(swapped[:, None], children[:, ::-1], children)
    negated = children[:, 0] != np.where(trees.nan_is_true | has_mode("NEQ"), trees.then, trees.otherwise)

    second_children = children[exact, ::-1]
    children[exact, 1] = len(children) + np.arange(len(exact))
    children = np.where(negated[:, None], children[:, ::-1], children)
    negated_thresholds = np.where(np.isnan(compared), np.array(np.inf, dtype), _next_lower(-compared))
    nodes = np.column_stack([trees.features + np.where(negated, width, 0), children])
    second_nodes = np.column_stack([trees.features[exact], second_children])
    thresholds = np.concatenate([np.where(negated, negated_thresholds, compared), below[exact]])
    return np.concatenate([nodes, second_nodes]), thresholds


def _next_lower(numbers: np.ndarray) -> np.ndarray:
    """The greatest numbers less than ``numbers``; for minus infinity NaN, which no number is <= to."""
    least = np.array(-np.inf, numbers.dtype)
    with np.errstate(over="ignore"):
        return np.where(numbers == least, np.array(np.nan, numbers.dtype), np.nextafter(numbers, least))


def _scores(node: OnnxNode, trees: Trees, rows: Expr, aggregate: str, base: Any) -> Expr:
    """The sums of the leaves' weights over all trees, a column for each target."""
    targets, width, dtype = trees.weights.shape[1], node.shape(rows)[1], node.dtype(rows)
    most = int(trees.features.max(initial=0))
    if not isinstance(width, int):
        width = most + 1
        rows = node.make("take", rows, node.const(np.arange(width), "int64"), axis=1)
    elif most >= width:
        node.bad(f"a node reads feature {most}, rows have {width}")
    if aggregate in ("MIN", "MAX") and targets > 1:
        node.unsupported(f"aggregate_function {aggregate} of {targets} targets")
    name = {"AVERAGE": "sum", "SUM": "sum", "MIN": "min", "MAX": "max"}.get(aggregate)
    if name is None:
        node.bad(f"aggregate_function is {aggregate!r}, expected one of {', '.join(AGGREGATES)}")
    trees.check_cycles(node)
    node.check_table(*trees.weights.shape)
    nodes, thresholds = _normalize(trees, dtype, width)
    weights = np.zeros((len(nodes), targets))
    weights[: len(trees.weights)] = trees.weights
    if (nodes[:, 0] >= width).any():
        signs = node.const([[1], [-1]], dtype)
        both = node.multiply(node.make("expand_dims", rows, axis=1), signs)
        rows = node.reshape(both, (node.shape(rows)[0], 2 * width))
    tables = [node.const(trees.roots, "uint32"), node.const(nodes, "uint32")]
    tables += [node.const(thresholds, dtype), node.const(weights, dtype)]
    made = node.make("tree_ensemble", rows, *tables, aggregate=name)
    if aggregate == "AVERAGE":
        made = node.divide(made, len(trees.roots))
    if base is not None and len(base):
        made = node.add(made, node.const(np.asarray(base), dtype))
    return made


def _floats(node: OnnxNode, name: str) -> Any:
    """A list of floats, which may be given as a tensor of doubles."""
    tensor = node.attr(f"{name}_as_tensor")
    return node.attr(name) if tensor is None else tensor


def _parse_trees(node: OnnxNode, kind: str, targets: int) -> Trees:
    """The trees of the older operators: nodes by tree and number, weights for ``kind`` (target, class)."""
    keys = list(zip(node.required("nodes_treeids"), node.required("nodes_nodeids"), strict=False))
    place = {key: index for index, key in enumerate(keys)}
    columns: list[Any] = [
        node.attr(f"nodes_{name}") for name in ("featureids", "truenodeids", "falsenodeids")
    ]
    columns += [node.attr("nodes_modes"), _floats(node, "nodes_values")]
    if len(place) != len(keys) or any(one is None or len(one) != len(keys) for one in columns):
        node.bad(f"the attributes of its {len(keys)} nodes must have as many values each")
    features, then, otherwise, modes, values = columns
    numbers = np.array([_mode(node, mode) for mode in modes], np.int64)
    children = [
        [place.get((tree, child), -1) if mode >= 0 else k for k, ((tree, _), child, mode) in enumerate(rows)]
        for rows in (list(zip(keys, side, numbers, strict=True)) for side in (then, otherwise))
    ]
    if min(map(min, children), default=0) < 0:
        node.bad("a node leads to a node that is not there")
    inner = [k for k, mode in enumerate(numbers) if mode >= 0]
    has_parent = {side[k] for side in children for k in inner}
    weights = np.zeros((len(keys), targets))
    ids = [node.required(f"{kind}_{name}") for name in ("treeids", "nodeids", "ids")]
    for tree, number, target, weight in zip(*ids, _floats(node, f"{kind}_weights"), strict=False):
        if (tree, number) not in place or not 0 <= target < targets:
            node.bad(f"a weight is for node {number} of tree {tree} and {kind} {target}, which is not there")
        weights[place[tree, number], target] += weight
    nan_is_true = node.attr("nodes_missing_value_tracks_true") or [0] * len(keys)
    roots = np.array([k for k in range(len(keys)) if k not in has_parent], np.int64)
    return Trees(
        np.asarray(features, np.int64) * (numbers >= 0),
        np.asarray(values),
        numbers,
        np.array(children[0], np.int64),
        np.array(children[1], np.int64),
        np.asarray(nan_is_true, bool) & (numbers >= 0),
        roots,
        weights,
    )


def _mode(node: OnnxNode, mode: str) -> int:
    if mode not in (*MODES, "LEAF"):
        node.bad(f"a node's mode is {mode!r}, expected one of {', '.join(MODES)}, LEAF")
    return -1 if mode == "LEAF" else MODES.index(mode)


@converter("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(node: OnnxNode, data: Expr) -> Expr:
    """TreeEnsembleRegressor: the leaves' weights over all trees, a column for each target, as float32."""
    dtype = "float64" if node.dtype(data) == "float64" else "float32"
    trees = _parse_trees(node, "target", node.attr("n_targets", 1))
    base, aggregate = _floats(node, "base_values"), node.attr("aggregate_function", "SUM")
    made = node.cast(_scores(node, trees, rows_of(node, data, dtype), aggregate, base), "float32")
    return transformed(node, made, node.attr("post_transform", "NONE"))


@converter("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(node: OnnxNode, data: Expr) -> list[Expr]:
    """TreeEnsembleClassifier: the label of each row, and its scores, a column for each class."""
    labels = node.attr("classlabels_int64s")
    if not labels:
        node.unsupported("classes whose labels are text: number them in classlabels_int64s")
    dtype = "float64" if node.dtype(data) == "float64" else "float32"
    trees, post_transform = _parse_trees(node, "class", len(labels)), node.attr("post_transform", "NONE")
    rows, base = rows_of(node, data, dtype), _floats(node, "base_values")
    weighted = set(node.required("class_ids"))
    if len(labels) == 2 and len(weighted) == 1:
        return _binary_classes(node, trees, rows, base, post_transform, labels, min(weighted))
    scores = node.cast(_scores(node, trees, rows, "SUM", base), "float32")
    best = node.make("argmax", scores, axis=(1,), keepdims=False)
    return [_label(node, best, labels), transformed(node, scores, post_transform)]


def _binary_classes(
    node: OnnxNode,
    trees: Trees,
    rows: Expr,
    base: Any,
    post_transform: str,
    labels: Sequence[int],
    weighted: int,
) -> list[Expr]:
    """Two classes with leaf weights for only one, ``weighted``, whose score determines the label.

    As in onnxruntime, weights that are all positive are probabilities, and weights of class 0 give the second
    class's score; the first's is its complement, or its negative.
    """
    positive = bool((trees.weights >= 0).all())
    trees.weights = trees.weights[:, weighted : weighted + 1]
    base = None if base is None or not len(base) else [base[-1]]
    score = node.cast(_scores(node, trees, rows, "SUM", base), "float32")
    if weighted == 0 and (
        post_transform not in ("NONE", "LOGISTIC") or (post_transform == "LOGISTIC" and positive)
    ):
        node.unsupported(f"post_transform {post_transform!r} of two classes of which one has weights")
    other = node.subtract(1.0, score) if positive else node.negative(score)
    if weighted == 1:
        other = node.multiply(score, 0.0)
    second = node.cast(node.greater(score, 0.5 if positive else 0.0), "int64")
    made = node.many("concatenate", [other, score], axis=1)
    return [
        _label(node, node.reshape(second, (node.shape(rows)[0],)), labels),
        transformed(node, made, post_transform),
    ]


def _label(node: OnnxNode, places: Expr, labels: Sequence[int]) -> Expr:
    return node.make("take", node.const(np.asarray(labels), "int64"), node.cast(places, "int64"), axis=0)


@converter("TreeEnsemble", domain=DOMAIN, since=5)
def tree_ensemble(node: OnnxNode, data: Expr) -> Expr:
    """TreeEnsemble, the newer form of the regressor: leaves follow the nodes, and have one target each."""
    features = np.asarray(node.required("nodes_featureids"), np.int64)
    inner, leaf_targets = len(features), np.asarray(node.required("leaf_targetids"), np.int64)
    modes = np.asarray(node.required("nodes_modes"), np.int64)
    if (modes >= len(MODES)).any():
        node.unsupported("nodes that ask for membership in a set")
    leaves, targets = len(leaf_targets), node.attr("n_targets", 1)
    children = []
    for side in ("true", "false"):
        to, is_leaf = (np.asarray(node.required(f"nodes_{side}{what}")) for what in ("nodeids", "leafs"))
        limit = np.where(is_leaf != 0, leaves, inner)
        if len(to) != inner or ((to < 0) | (to >= limit)).any():
            node.bad("a node leads to a node that is not there")
        children.append(np.concatenate([to + inner * (is_leaf != 0), inner + np.arange(leaves)]))
    weights = np.zeros((inner + leaves, targets))
    if leaves and (leaf_targets.max() >= targets or leaf_targets.min() < 0):
        node.bad(f"a leaf is of target {leaf_targets.max()} of {targets}")
    weights[inner + np.arange(leaves), leaf_targets] = np.asarray(node.required("leaf_weights"))
    padded = [np.zeros(leaves, kind) for kind in (np.int64, bool)]
    nan_is_true = node.attr("nodes_missing_value_tracks_true") or [0] * inner
    trees = Trees(
        np.concatenate([features, padded[0]]),
        np.concatenate([np.asarray(node.required("nodes_splits")), padded[0]]),
        np.concatenate([modes, padded[0] - 1]),
        children[0],
        children[1],
        np.concatenate([np.asarray(nan_is_true, bool), padded[1]]),
        np.asarray(node.required("tree_roots"), np.int64),
        weights,
    )
    aggregate = AGGREGATES[node.attr("aggregate_function", 1)]
    made = _scores(node, trees, rows_of(node, data, node.dtype(data)), aggregate, None)
    return transformed(node, made, TRANSFORMS[node.attr("post_transform", 0)])
