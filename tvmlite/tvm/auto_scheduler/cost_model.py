"""The cost models of the auto-scheduler, which can also be used on their own."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np

from tvmlite.autotune.model.loop_features import loop_features
from tvmlite.autotune.model.model import CostModel as LoopModel
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.te.lowering.lower import lower
from tvmlite.tvm.absent import missing, refusing


class RandomModel:
    """No cost model: schedules are chosen at random. ``tuner`` is the search's name in
    ``tvmlite.autotune``."""

    tuner = "random"

    def update(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Do nothing."""

    def predict(self, search_task: Any, states: Sequence[Any]) -> np.ndarray:
        """Return random scores for ``states``."""
        return np.random.default_rng().random(len(states))


class XGBModel:
    """A cost model of loops that learns from measurements; its options have no effect.

    A search uses a separate model, which also learns from the files given here; ``update`` and ``predict``
    are for programs that use the model directly.
    """

    tuner = "xgboost"

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.files: list[str] = []
        self._measured: dict[str, list[tuple[np.ndarray, float]]] = {}
        self._model: LoopModel | None = None

    def update_from_file(self, file_name: Any, n_lines: int | None = None) -> None:
        """Let a search learn from all records in the file ``file_name``; ``n_lines`` has no effect."""
        path = arguments.path("update_from_file: file_name", file_name, InputError)
        if not path.is_file():
            raise InputError(f"update_from_file: there is no file {str(path)!r}")
        self.files.append(str(path))

    def update(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Learn the speeds of the states of ``inputs``, relative to the fastest of the same task."""
        for one, result in zip(inputs, results, strict=True):
            row = _features(one.task, one.state)
            if row is not None:
                speed = 0.0 if result.error_no else 1 / mean(map(float, result.costs))
                self._measured.setdefault(one.task.workload_key, []).append((row, speed))
        rows, shares = [], []
        for pairs in self._measured.values():
            best = max(speed for _, speed in pairs) or 1.0
            rows += [row for row, _ in pairs]
            shares += [speed / best for _, speed in pairs]
        if rows:
            self._model = LoopModel("reg")
            self._model.fit_scores(np.stack(rows), np.array(shares))

    def predict(self, search_task: Any, states: Sequence[Any]) -> np.ndarray:
        """Return the predicted speed of each of ``states``, relative to the fastest measured one; ``-inf``
        for a state that cannot be lowered. Scores are random if nothing has been learned."""
        if self._model is None:
            return np.random.default_rng().random(len(states))
        scores = np.full(len(states), -np.inf)
        for place, state in enumerate(states):
            row = _features(search_task, state)
            if row is not None:
                scores[place] = self._model.predict(row[None])[0]
        return scores

    save = missing("auto_scheduler.XGBModel.save", "update_from_file learns from records again")
    load = missing("auto_scheduler.XGBModel.load", "update_from_file learns from records")


def _features(task: Any, state: Any) -> np.ndarray | None:
    """Return the loop features of ``state``; None if it cannot be lowered."""
    try:
        function = lower(*task.compute_dag.apply_steps_from_state(state))
    except TvmliteError:
        return None  # a state that cannot be lowered is no candidate
    return loop_features(function, task.core.target, task.core.flop)


__getattr__ = refusing(__name__)
