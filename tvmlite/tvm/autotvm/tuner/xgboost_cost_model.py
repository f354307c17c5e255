"""The cost model that learns from loop features, under AutoTVM's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.autotune.measure.build import Builder, Lowered
from tvmlite.autotune.model.loop_features import loop_features
from tvmlite.autotune.model.model import CostModel
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.tuner.tuner import flops_of

FEATURES = ("itervar", "knob", "curve")
"""AutoTVM's kinds of features. All are accepted, and features of a candidate's loops are used for each."""


class XGBoostCostModel:
    """Predicts the relative speeds of configurations of ``task``, given by their numbers.

    ``loss_type`` is ``rank`` or ``reg``; ``num_threads``, ``log_interval`` and ``upper_model`` have no
    effect. ``base_model`` is the model that predictions start from (``load_basemodel``), or None.
    """

    def __init__(
        self,
        task: Any,
        feature_type: str = "itervar",
        loss_type: str = "reg",
        num_threads: int | None = None,
        log_interval: int = 25,
        upper_model: Any = None,
    ) -> None:
        if feature_type not in FEATURES:
            raise UnsupportedError(
                f"feature_type {feature_type!r}: there are {', '.join(FEATURES)}", Span.of_caller()
            )
        loss = "rank" if loss_type == "rank-binary" else loss_type
        self.task, self.space = task, task.config_space
        self.fea_type, self.loss_type = feature_type, loss_type
        self.base_model: XGBoostCostModel | None = None
        self._model = CostModel(loss)
        self._builders = {task.core.key: Builder(task.core)}

    def fit(self, xs: Sequence[int], ys: Sequence[float], plan_size: int = 0) -> None:
        """Learn that the configurations with numbers ``xs`` reach ``ys`` operations per second."""
        given = [MeasureInput(self.task.target, self.task, self.space.get(int(x))) for x in xs]
        self._learn(given, [float(y) for y in ys])

    def fit_log(self, records: Any, plan_size: int = 0, min_seed_records: int = 500) -> bool:
        """Learn from pairs of inputs and results of any tasks. Return False if there are fewer than
        ``min_seed_records`` or if no candidate's features can be computed."""
        pairs = list(records)
        if len(pairs) < min_seed_records:
            return False
        return self._learn([inp for inp, _ in pairs], [flops_of(inp, res) for inp, res in pairs])

    def predict(self, xs: Sequence[int], output_margin: bool = False) -> np.ndarray:
        """Return a score for each configuration, higher for faster ones; ``-inf`` if it cannot be built."""
        rows = [self.row(self.task, self.space.get(int(x))) for x in xs]
        lost = [row is None for row in rows]
        known = next((row for row in rows if row is not None), None)
        if known is None:
            return np.full(len(rows), -np.inf, np.float32)
        table = np.stack([known if row is None else row for row in rows])
        scores = self._model.predict(table, self._expected(table))
        scores[lost] = -np.inf
        return scores

    def load_basemodel(self, base_model: XGBoostCostModel) -> None:
        """Use the predictions of ``base_model`` as the starting point."""
        self.base_model = base_model

    def prior(self, rows: np.ndarray) -> np.ndarray:
        """Return the predictions for candidates with the loop features ``rows``."""
        return self._model.predict(rows, self._expected(rows))

    def row(self, task: Any, config: Any) -> np.ndarray | None:
        """Return the loop features of a candidate; None if it cannot be built."""
        core = task.core
        builder = self._builders.setdefault(core.key, Builder(core))
        lowered = builder.lowered(task.fitting(config))
        return (
            loop_features(lowered.function, core.target, core.flop) if isinstance(lowered, Lowered) else None
        )

    def _learn(self, inputs: Sequence[MeasureInput], speeds: Sequence[float]) -> bool:
        rows = [self.row(inp.task, inp.config) for inp in inputs]
        kept = [(row, speed) for row, speed in zip(rows, speeds, strict=True) if row is not None]
        if kept:
            table = np.stack([row for row, _ in kept])
            self._model.fit(table, np.array([speed for _, speed in kept]), self._expected(table))
        return bool(kept)

    def _expected(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows), np.float32) if self.base_model is None else self.base_model.prior(rows)


def results_of(pairs: Any) -> list[tuple[MeasureInput, MeasureResult]]:
    """Pairs of inputs and results as a list."""
    return [(inp, res) for inp, res in pairs]


__getattr__ = refusing(__name__)
