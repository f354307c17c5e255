"""Boosted trees as arrays: a trained model, evaluated with numpy alone.

A model is a JSON file of numbers only: it is read and checked, never executed. All trees have the same depth;
a shorter branch is filled up with comparisons whose two sides are equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tvmlite.autotune.model.loop_features import NAMES
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target

SHIPPED = Path(__file__).parent
"""The folder of the models that come with the package (``Machine.cost_model``). Each is trained by
``benchmarks/train_cost_model.py`` on one processor: what is fast on one is not on another."""


@dataclass(frozen=True)
class Trees:
    """A sum of trees of one depth.

    ``feature`` and ``threshold``, ``(trees, 2**depth - 1)``, are the comparisons at the nodes: the root
    first, the children of ``n`` at ``2 * n + 1`` (less) and ``2 * n + 2``. ``leaf``, ``(trees, 2**depth)``,
    are the values at the leaves.
    """

    feature: np.ndarray
    threshold: np.ndarray
    leaf: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the prediction for each of ``rows``, ``(n, features)``: float32."""
        count, inner = self.feature.shape
        trees, each = np.arange(count)[None], np.arange(len(rows))[:, None]
        node = np.zeros((len(rows), count), np.int64)
        for _ in range((inner + 1).bit_length() - 1):
            above = rows[each, self.feature[trees, node]] >= self.threshold[trees, node]
            node = 2 * node + 1 + above
        return self.leaf[trees, node - inner].sum(axis=1, dtype=np.float32)

    def to_json(self, names: Sequence[str] = NAMES) -> str:
        """Return the text that ``from_json`` reads; ``names`` are those of the features."""
        digits = {"feature": "d", "threshold": ".9g", "leaf": ".4g"}
        parts = [
            f'"{name}": [{", ".join(self._row(row, kind) for row in getattr(self, name).tolist())}]'
            for name, kind in digits.items()
        ]
        return "{" + f'"features": {json.dumps(list(names))}, ' + ",\n".join(parts) + "}\n"

    @staticmethod
    def _row(row: list[float], kind: str) -> str:
        return "[" + ",".join(format(one, kind) for one in row) + "]"

    @staticmethod
    def from_json(text: str, names: Sequence[str] = NAMES) -> Trees:
        """Read a model; a ParseError if ``text`` is none, or one of other features than ``names``."""
        try:
            fields = json.loads(text)
            arrays = [np.array(fields[name], np.float64) for name in ("feature", "threshold", "leaf")]
            named = fields["features"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ParseError(f"no cost model: {error}") from None
        if named != list(names):
            raise ParseError("the cost model was trained on other features than there are now")
        feature, threshold, leaf = arrays
        if any(one.ndim != 2 or not one.size for one in arrays):
            raise ParseError(f"no cost model: its trees have {[one.shape for one in arrays]}")
        depth = leaf.shape[-1].bit_length() - 1
        count = len(leaf)
        sizes = [one.shape for one in arrays]
        if sizes != [(count, 2**depth - 1), (count, 2**depth - 1), (count, 2**depth)]:
            raise ParseError(f"no cost model: its trees have {sizes}")
        if not (np.isfinite(feature).all() and np.isfinite(leaf).all() and not np.isnan(threshold).any()):
            raise ParseError("no cost model: some of its numbers are not finite")
        if ((feature < 0) | (feature >= len(names)) | (feature % 1 != 0)).any():
            raise ParseError("no cost model: a feature index is invalid")
        return Trees(feature.astype(np.int64), threshold.astype(np.float32), leaf.astype(np.float32))

    @staticmethod
    def of_xgboost(booster: Any) -> Trees:
        """The trees of an XGBoost booster, trained with ``base_score=0``."""
        model = json.loads(booster.save_raw("json"))
        trees = model["learner"]["gradient_booster"]["model"]["trees"]
        depth = max(_depth(tree, 0) for tree in trees)
        feature = np.zeros((len(trees), 2**depth - 1), np.int64)
        threshold = np.zeros((len(trees), 2**depth - 1), np.float32)
        leaf = np.zeros((len(trees), 2**depth), np.float32)
        for number, tree in enumerate(trees):
            _fill(tree, 0, 0, feature[number], threshold[number], leaf[number])
        return Trees(feature, threshold, leaf)


def _depth(tree: Mapping[str, Any], node: int) -> int:
    left, right = tree["left_children"][node], tree["right_children"][node]
    return 0 if left < 0 else 1 + max(_depth(tree, left), _depth(tree, right))


def _fill(
    tree: Mapping[str, Any],
    node: int,
    place: int,
    feature: np.ndarray,
    threshold: np.ndarray,
    leaf: np.ndarray,
) -> None:
    """Write the branch of ``tree`` at ``node`` to ``place``; a leaf is repeated at all positions below it."""
    left, right = tree["left_children"][node], tree["right_children"][node]
    if place >= len(feature):
        leaf[place - len(feature)] = tree["split_conditions"][node]
        return
    if left >= 0:
        feature[place], threshold[place] = tree["split_indices"][node], tree["split_conditions"][node]
    for child, below in ((left, 2 * place + 1), (right, 2 * place + 2)):
        _fill(tree, child if left >= 0 else node, below, feature, threshold, leaf)


def path_of(target: Target) -> Path:
    """The path of the model for processors like ``target``'s."""
    return SHIPPED / f"{target.machine.cost_model}.json"


def shipped(target: Target) -> Trees | None:
    """The model that comes with the package for processors like ``target``'s; None if it is not installed."""
    path = path_of(target)
    return _read(path) if path.exists() else None


@cache
def _read(path: Path) -> Trees:
    return Trees.from_json(path.read_text(encoding="utf-8"))
