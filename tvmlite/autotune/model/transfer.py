"""A prior for new kernels, learned from measurements of other shapes and operators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from tvmlite.autotune.measure.build import Builder, Lowered
from tvmlite.autotune.model import trees
from tvmlite.autotune.model.loop_features import NAMES, SIZES, WIDTH, loop_features
from tvmlite.autotune.model.model import Prior, require
from tvmlite.autotune.records.records import FINAL, Record
from tvmlite.machine.target import Target
from tvmlite.te import cost
from tvmlite.te.space import ConfigEntity, Task, create, decode_args

MOST_RECORDS = 512
"""The most records to learn from before a search: each is lowered again, in some 6 ms."""

FEWEST_RECORDS = 12
"""The least records of a task to learn from: fewer do not show which candidates are fast."""

LOWEST_SCORE = -6.0
"""The lowest score: speeds of at most 1/64 of the best's are not distinguished; failures get it too."""

PARAMETERS = {
    "objective": "reg:squarederror",
    "base_score": 0.0,
    "max_depth": 5,
    "eta": 0.05,
    "min_child_weight": 8.0,
    "colsample_bytree": 0.5,
    "subsample": 0.8,
    "tree_method": "hist",
    "max_bin": 64,
    "nthread": 1,
    "verbosity": 0,
}
TREES = 250
"""The number of trees, both of the model that comes with the package and of that learned from records."""

LEAST_WEIGHT = 0.1
"""The least weight, that of the slowest candidates: that they are slow matters, by how much hardly."""

TrainingData: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Candidates of one task: rows of features, ``(n, WIDTH)``, and their scores, ``(n,)``: the logarithm of the
speed relative to the best's."""

_CYCLES = NAMES.index("cycles")


def estimate(target: Target) -> Prior:
    """Return a prior from the loops alone, without any measurement: operations per cycle, as a logarithm.

    It is the estimate of ``te.cost`` for the machine of ``target``: the cycles of the core, and the traffic
    from beyond each cache, at the next smaller sampled size.
    """
    machine = target.machine
    beyond = [
        (NAMES.index(f"moved {max(one for one in SIZES if one <= size)}"), bandwidth)
        for size, bandwidth in zip(cost.cache_sizes(machine), cost.bytes_per_cycle(machine), strict=True)
    ]

    def prior(rows: np.ndarray) -> np.ndarray:
        parts = [2.0 ** -rows[:, _CYCLES], *(2.0 ** rows[:, moved] / speed for moved, speed in beyond)]
        return np.asarray(-np.log2(cost.overlapped(parts)), np.float32)

    return prior


def shipped_prior(target: Target) -> Prior:
    """Return ``estimate``, corrected by the model that comes with the package for processors like
    ``target``'s, if it is installed."""
    model = trees.shipped(target)
    return estimate(target) if model is None else corrected(model, target)


def corrected(model: trees.Trees, target: Target) -> Prior:
    """Return ``estimate``, corrected by ``model``, which has learned its errors.

    A search finds the candidates that a model overestimates. Trees alone cannot extrapolate to loops unlike
    those they were trained on; the estimate can.
    """
    prior = estimate(target)
    return lambda rows: prior(rows) + model(rows)


def learned(records: Iterable[Record], target: Target, prior: Prior, seed: int = 0) -> Prior:
    """Return ``prior`` corrected by ``records`` of ``target``; ``prior`` itself if these are too few."""
    known = training_data(records, target)
    if not known:
        return prior
    model = correction(known, prior, seed)
    return lambda rows: prior(rows) + model(rows)


def correction(known: Sequence[TrainingData], prior: Prior, seed: int = 0) -> trees.Trees:
    """Train a model of the errors of ``prior`` on the data ``known`` of each task.

    Only differences within a task are learned, not its overall speed: a search is within one task, and trees
    that distinguish tasks distinguish its candidates less. Slower candidates have less weight, because it is
    the best that have to be distinguished. An UnsupportedError if XGBoost is missing.
    """
    require()
    import xgboost

    weights = [LEAST_WEIGHT + 4.0**scores for _, scores in known]
    errors = [scores - prior(rows) for rows, scores in known]
    labels = [one - np.average(one, weights=weight) for one, weight in zip(errors, weights, strict=True)]
    data = xgboost.DMatrix(
        np.concatenate([rows for rows, _ in known]),
        label=np.concatenate(labels),
        weight=np.concatenate(weights),
    )
    return trees.Trees.of_xgboost(xgboost.train({**PARAMETERS, "seed": seed}, data, TREES))


def training_data(records: Iterable[Record], target: Target, most: int = MOST_RECORDS) -> list[TrainingData]:
    """Return the training data of each task: rows of features and scores, the logarithm of the speed relative
    to the task's best.

    They are computed from those ``records`` that are trials on ``target`` whose template is known; if these
    are more than ``most``, from equally many of each task, evenly spread over the time they were made.
    """
    of_task: dict[str, list[Record]] = {}
    for record in records:
        if record.target == str(target) and record.origin != FINAL and record.error in ("", "timeout"):
            of_task.setdefault(record.task_key, []).append(record)
    tasks = [found for found in of_task.values() if len(found) >= FEWEST_RECORDS and any(r.ok for r in found)]
    known = [_training_data_of(found, target, max(most // len(tasks), FEWEST_RECORDS)) for found in tasks]
    return [(rows, scores) for rows, scores in known if len(rows)]


def _training_data_of(found: list[Record], target: Target, most: int) -> TrainingData:
    """The training data from records of one task; empty if the task is unknown here."""
    rows: list[np.ndarray] = []
    scores: list[float] = []
    known = _task_of(found[0], target)
    if known is None:
        return np.zeros((0, WIDTH), np.float32), np.zeros(0, np.float32)
    task, default = known
    quickest = sorted((record for record in found if record.ok), key=lambda record: record.cost)
    best = next((one.cost for one in quickest if _config(one, task, default) is not None), math.inf)
    builder = Builder(task)
    for record in _evenly_spaced(found, most):
        config = _config(record, task, default)
        lowered = None if config is None else builder.lowered(config)
        if isinstance(lowered, Lowered):
            rows.append(loop_features(lowered.function, target, task.flop))
            scores.append(
                max(float(np.log2(best / record.cost)), LOWEST_SCORE) if record.ok else LOWEST_SCORE
            )
    return np.array(rows, np.float32).reshape(-1, WIDTH), np.array(scores, np.float32)


def _config(record: Record, task: Task, default: ConfigEntity) -> ConfigEntity | None:
    """The configuration of ``record`` in the space of ``task``; None if it is not there, as in older
    versions."""
    return default if record.config.settings == default.settings else task.config_space.own(record.config)


def _evenly_spaced(found: list[Record], count: int) -> list[Record]:
    if len(found) <= count:
        return found
    return [found[n] for n in np.linspace(0, len(found) - 1, count).round().astype(int)]


def _task_of(record: Record, target: Target) -> tuple[Task, ConfigEntity] | None:
    """The task of ``record`` and its default; None if its template is unknown here, or takes other arguments
    now."""
    try:
        task = create(record.task[0], decode_args(record.task[1]), target)
        return task, task.default
    except Exception:  # a user's template may raise anything for arguments it was not written for
        return None
