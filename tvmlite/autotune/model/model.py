"""The cost model: gradient-boosted trees that learn from measurements which candidates are fast.

As in AutoTVM (Chen et al., "Learning to Optimize Tensor Programs", NeurIPS 2018), trained with XGBoost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.extras import how_to_install
from tvmlite.core.span import Span

Prior: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Predict scores of rows of features a priori: higher for faster candidates."""

LOSSES = {"rank": "rank:pairwise", "reg": "reg:squarederror"}
ROUNDS = 60
MOST_ROWS = 512
"""The model learns from at most this many of the latest measurements, and as many of the fastest."""


def available() -> bool:
    """Whether XGBoost is installed."""
    try:
        import xgboost  # noqa: F401  an optional extra
    except ImportError:
        return False
    return True


def require() -> None:
    """An UnsupportedError if XGBoost is not installed."""
    if not available():
        raise UnsupportedError(
            "a cost model needs the package xgboost",
            hint=f"{how_to_install('tune')}, or use random search",
        )


class CostModel:
    """Predicts a score that is higher for faster candidates.

    ``loss`` is ``rank`` (learn only the order of candidates, as the search needs the first) or ``reg`` (learn
    their speed). The learned score is added to the prior, if there is one. Deterministic for a ``seed``.
    """

    def __init__(self, loss: str = "rank", seed: int = 0) -> None:
        if not isinstance(loss, str) or loss not in LOSSES:
            given, known = arguments.shown(loss), ", ".join(LOSSES)
            raise UnsupportedError(f"loss {given}: there are {known}", Span.of_caller())
        require()
        self.loss, self.seed = loss, seed
        self._booster: Any = None
        self._shift = 0.0

    def fit(self, features: np.ndarray, speeds: np.ndarray, priors: np.ndarray | None = None) -> None:
        """Learn from rows of ``features`` and their ``speeds`` (in any unit; 0 for failures)."""
        speeds = np.asarray(speeds, np.float64)
        if len(speeds) > 2 * MOST_ROWS:
            latest = np.arange(len(speeds) - MOST_ROWS, len(speeds))
            used = np.union1d(latest, np.argsort(-speeds, kind="stable")[:MOST_ROWS])
            features, speeds = features[used], speeds[used]
            priors = None if priors is None else priors[used]
        share = speeds / (float(np.max(speeds, initial=0.0)) or 1.0)
        self.fit_scores(features, share if self.loss == "rank" else np.log2(share + 1 / 64), priors)

    def fit_scores(self, features: np.ndarray, scores: np.ndarray, priors: np.ndarray | None = None) -> None:
        """Learn from rows of ``features`` and the ``scores`` that ``predict`` should return for them."""
        import xgboost

        data = xgboost.DMatrix(features, label=np.asarray(scores, np.float32))
        parameters = {
            "objective": LOSSES[self.loss],
            "max_depth": 4,
            "eta": 0.2,
            "min_child_weight": 0.5 if self.loss == "reg" else 0.1,
            "lambda": 1.0,
            "nthread": 1,
            "tree_method": "hist",
            "max_bin": 64,
            "seed": self.seed,
            "verbosity": 0,
        }
        self._shift = 0.0
        if self.loss == "rank":
            data.set_group([len(features)])
            parameters |= {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 8}
        elif priors is not None:
            self._shift = float(np.mean(scores - priors))
        if priors is not None:
            data.set_base_margin(np.asarray(priors, np.float32) + np.float32(self._shift))
        self._booster = xgboost.train(parameters, data, ROUNDS)

    def predict(self, features: np.ndarray, priors: np.ndarray | None = None) -> np.ndarray:
        """Return a score for each row; before the first ``fit``, the prior."""
        if self._booster is None:
            return np.zeros(len(features), np.float32) if priors is None else np.asarray(priors, np.float32)
        margin = None if priors is None else np.asarray(priors, np.float32) + np.float32(self._shift)
        return self._booster.inplace_predict(features, base_margin=margin)
