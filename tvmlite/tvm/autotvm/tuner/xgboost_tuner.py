"""The tuner that learns a cost model, over the one of ``tvmlite.autotune``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.autotune.search import xgb_tuner
from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.tuner.tuner import Tuner, flops_of
from tvmlite.tvm.autotvm.tuner.xgboost_cost_model import XGBoostCostModel, results_of


class XGBTuner(Tuner):
    """Measures the configurations that a cost model of loops predicts to be the fastest, and trains it on the
    results.

    ``plan_size`` is stored only. ``optimizer``, ``diversity_filter_ratio`` and ``num_threads`` have no
    effect: small spaces are predicted as a whole, large ones searched by simulated annealing. ``visited`` are
    the numbers of all proposed configurations, ``xs`` and ``ys`` the numbers and speeds of the measured ones.
    """

    def __init__(
        self,
        task: Any,
        plan_size: int = 64,
        feature_type: str = "itervar",
        loss_type: str = "reg",
        num_threads: int | None = None,
        optimizer: Any = "sa",
        diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
    ) -> None:
        super().__init__(task)
        self.plan_size = arguments.whole("XGBTuner: plan_size", plan_size, InputError, least=1)
        self.cost_model = XGBoostCostModel(task, feature_type, loss_type, num_threads, log_interval)
        self.visited: set[int] = set()
        self.xs: list[int] = []
        self.ys: list[float] = []
        self._core: xgb_tuner.XGBTuner | None = None

    def has_next(self) -> bool:
        """See ``Tuner``."""
        return len(self.visited) < len(self.space)

    def next_batch(self, batch_size: int) -> list[Any]:
        """See ``Tuner``; empty if no remaining configuration can be built."""
        chosen = self._search().propose(batch_size)
        self.visited.update(chosen)
        return [self.space.get(index) for index in chosen]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """See ``Tuner``."""
        indices = [inp.config.index for inp in inputs]
        speeds = [flops_of(inp, res) for inp, res in zip(inputs, results, strict=True)]
        self.xs, self.ys = self.xs + indices, self.ys + speeds
        self.visited.update(indices)
        core = self._search()
        for index in indices:
            core.take(index)
        core.learn(indices, speeds)
        core.propose_next()

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Start from a model trained on ``data_set``, pairs of inputs and results of any tasks, if there are
        at least ``min_seed_records``."""
        base = XGBoostCostModel(self.task, self.cost_model.fea_type, self.cost_model.loss_type)
        if base.fit_log(results_of(data_set), self.plan_size, min_seed_records):
            self.cost_model.load_basemodel(base)
            self._core = None

    def _search(self) -> xgb_tuner.XGBTuner:
        if self._core is None:
            base = self.cost_model.base_model
            loss = "rank" if self.cost_model.loss_type == "rank-binary" else self.cost_model.loss_type
            made = xgb_tuner.XGBTuner(
                self.task.core, loss_type=loss, prior=None if base is None else base.prior
            )
            made.space = self.space
            self._core = made
        return self._core
