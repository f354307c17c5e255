"""What earlier measurements teach of kernels never measured, whatever their shapes and operators."""

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

MOST = 512
"""Records that are learned from before a search: each is lowered again, in some 6 ms."""

LEAST = 12
"""A task with fewer records says nothing of what is quick."""

SLOWEST = -6.0
"""Of 1/64 of the best's speed or less it is not learned how much less; so is what failed."""

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
"""Of the model that comes with the package, and of what records teach beyond it."""

LEAST_WEIGHT = 0.1
"""Of what is hopeless: how much so matters little, that it is does."""

TrainingData: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Of candidates of one task: rows of features, ``(n, WIDTH)``, and how quick each was, ``(n,)``: the
logarithm of its speed by the best's."""

_CYCLES = NAMES.index("cycles")


def estimate(target: Target) -> Prior:
    """What the loops alone say before anything was ever measured: operations a cycle, as a logarithm.

    It is that of ``te.cost`` for the machine of ``target``: of the core, and of what comes from beyond each
    cache, at the sampled size next below.
    """
    machine = target.machine
    beyond = [
        (NAMES.index(f"moved {max(one for one in SIZES if one <= size)}"), bandwidth)
        for size, bandwidth in zip(cost.sizes(machine), cost.bytes_per_cycle(machine), strict=True)
    ]

    def prior(rows: np.ndarray) -> np.ndarray:
        parts = [2.0 ** -rows[:, _CYCLES], *(2.0 ** rows[:, moved] / speed for moved, speed in beyond)]
        return np.asarray(-np.log2(cost.overlapped(parts)), np.float32)

    return prior


def shipped_prior(target: Target) -> Prior:
    """``estimate``, corrected by the model that comes with the package for processors like ``target``'s,
    if it has not been left out."""
    model = trees.shipped(target)
    return estimate(target) if model is None else corrected(model, target)


def corrected(model: trees.Trees, target: Target) -> Prior:
    """``estimate`` with what ``model`` has learned that it is off by.

    A search looks for what a model errs on to its liking. Trees by themselves know nothing of loops unlike
    any they have seen; the estimate does.
    """
    prior = estimate(target)
    return lambda rows: prior(rows) + model(rows)


def learned(records: Iterable[Record], target: Target, prior: Prior, seed: int = 0) -> Prior:
    """``prior`` corrected by what ``records`` of ``target`` say; itself if they say nothing."""
    known = training_data(records, target)
    if not known:
        return prior
    model = correction(known, prior, seed)
    return lambda rows: prior(rows) + model(rows)


def correction(known: Sequence[TrainingData], prior: Prior, seed: int = 0) -> trees.Trees:
    """The model of what ``prior`` is off by, of what is ``known`` of each task.

    How quick a task is as a whole is not learned, only what is quicker in it than what: a search is of one
    task, and trees that tell tasks apart tell less of their candidates. The less is learned of candidates the
    slower they are, for it is the best that have to be told from each other. An UnsupportedError if XGBoost
    is missing.
    """
    require()
    import xgboost

    weights = [LEAST_WEIGHT + 4.0**scores for _, scores in known]
    off = [scores - prior(rows) for rows, scores in known]
    labels = [one - np.average(one, weights=weight) for one, weight in zip(off, weights, strict=True)]
    data = xgboost.DMatrix(
        np.concatenate([rows for rows, _ in known]),
        label=np.concatenate(labels),
        weight=np.concatenate(weights),
    )
    return trees.Trees.of_xgboost(xgboost.train({**PARAMETERS, "seed": seed}, data, TREES))


def training_data(records: Iterable[Record], target: Target, most: int = MOST) -> list[TrainingData]:
    """What is known of each task: rows of features and how quick they were, the logarithm of the speed by the
    best of the task.

    Of ``records``, those of trials on ``target`` whose template is known; if they are more than ``most``, as
    many of each task, evenly over the time they were made.
    """
    of_task: dict[str, list[Record]] = {}
    for record in records:
        if record.target == str(target) and record.origin != FINAL and record.error in ("", "timeout"):
            of_task.setdefault(record.task_key, []).append(record)
    tasks = [found for found in of_task.values() if len(found) >= LEAST and any(r.ok for r in found)]
    known = [_training_data_of(found, target, max(most // len(tasks), LEAST)) for found in tasks]
    return [(rows, scores) for rows, scores in known if len(rows)]


def _training_data_of(found: list[Record], target: Target, most: int) -> TrainingData:
    """Of records of one task; nothing if it is not known here."""
    rows: list[np.ndarray] = []
    scores: list[float] = []
    known = _known(found[0], target)
    if known is None:
        return np.zeros((0, WIDTH), np.float32), np.zeros(0, np.float32)
    task, default = known
    quickest = sorted((record for record in found if record.ok), key=lambda record: record.cost)
    best = next((one.cost for one in quickest if _config(one, task, default) is not None), math.inf)
    builder = Builder(task)
    for record in _evenly(found, most):
        config = _config(record, task, default)
        lowered = None if config is None else builder.lowered(config)
        if isinstance(lowered, Lowered):
            rows.append(loop_features(lowered.function, target, task.flop))
            scores.append(max(float(np.log2(best / record.cost)), SLOWEST) if record.ok else SLOWEST)
    return np.array(rows, np.float32).reshape(-1, WIDTH), np.array(scores, np.float32)


def _config(record: Record, task: Task, default: ConfigEntity) -> ConfigEntity | None:
    """The configuration of ``record`` as ``task`` has it; None if it has none such, as of another version."""
    return default if record.config.settings == default.settings else task.config_space.own(record.config)


def _evenly(found: list[Record], count: int) -> list[Record]:
    if len(found) <= count:
        return found
    return [found[n] for n in np.linspace(0, len(found) - 1, count).round().astype(int)]


def _known(record: Record, target: Target) -> tuple[Task, ConfigEntity] | None:
    """The task of ``record`` and its default; None if its template is not known here, or takes other
    arguments now."""
    try:
        task = create(record.task[0], decode_args(record.task[1]), target)
        return task, task.default
    except Exception:  # a user's template given what it was not written for may end in any
        return None
