"""The cost model: gradient-boosted trees that learn from measurements which candidates are quick.

As in AutoTVM (Chen et al., "Learning to Optimize Tensor Programs", NeurIPS 2018); XGBoost does the learning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import UnsupportedError

LOSSES = {"rank": "rank:pairwise", "reg": "reg:squarederror"}
ROUNDS = 60


def available() -> bool:
    """Whether XGBoost is installed."""
    try:
        import xgboost  # noqa: F401  an optional extra
    except ImportError:
        return False
    return True


class CostModel:
    """Predicts a score that is higher for quicker candidates.

    ``loss`` is ``rank`` (only the order of candidates is learned, as what is searched for is the first) or
    ``reg`` (their speed is). Deterministic for a ``seed``.
    """

    def __init__(self, loss: str = "rank", seed: int = 0) -> None:
        if loss not in LOSSES:
            raise UnsupportedError(f"loss {loss!r}: there are {', '.join(LOSSES)}")
        if not available():
            raise UnsupportedError(
                "a cost model needs the package xgboost",
                hint="pip install 'tvmlite[tune]', or use random search",
            )
        self.loss, self.seed = loss, seed
        self._booster: Any = None

    def fit(self, features: np.ndarray, speeds: np.ndarray) -> None:
        """Learn from rows of ``features`` and their ``speeds`` (any unit; 0 for what failed)."""
        import xgboost

        best = float(np.max(speeds, initial=0.0)) or 1.0
        data = xgboost.DMatrix(features, label=np.asarray(speeds, np.float32) / best)
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
        if self.loss == "rank":
            data.set_group([len(features)])
            parameters |= {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 8}
        self._booster = xgboost.train(parameters, data, ROUNDS)

    def predict(self, features: np.ndarray) -> np.ndarray:
        """A score for each row; zeros before the first ``fit``."""
        if self._booster is None:
            return np.zeros(len(features), np.float32)
        return self._booster.inplace_predict(features)
