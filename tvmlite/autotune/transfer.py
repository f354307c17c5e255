"""What earlier measurements teach of kernels never measured, whatever their shapes and operators."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlite.autotune import trees
from tvmlite.autotune.build import Builder, Lowered
from tvmlite.autotune.loop_features import NAMES, WIDTH, loop_features
from tvmlite.autotune.model import CostModel, Prior
from tvmlite.autotune.records import FINAL, Record
from tvmlite.core.errors import TvmliteError
from tvmlite.core.target import Target
from tvmlite.te.space import Task, create, decode_args

MOST = 512
"""Records that are learned from before a search: each is lowered again, in some 6 ms."""

LEAST = 12
"""A task with fewer records says nothing of what is quick."""

SLOWEST = -6.0
"""Of 1/64 of the best's speed or less it is not learned how much less; so is what failed."""

_CYCLES = NAMES.index("cycles")

_BANDWIDTHS = ((NAMES.index("moved 32768"), 128.0), (NAMES.index("moved 524288"), 64.0))
"""Where it is told what comes from beyond a first and a second cache, and how many bytes a cycle may: of
some 3,000 candidates of the six kernels of ``benchmarks/search.py`` these put most in order."""

_OVERLAP = 4.0
"""Arithmetic and memory go on side by side: the slowest counts, and the others little."""


def estimate(rows: np.ndarray) -> np.ndarray:
    """What is thought of loops before anything was ever measured: operations a cycle, as a logarithm."""
    cycles = 2.0 ** (-_OVERLAP * rows[:, _CYCLES])
    for moved, bandwidth in _BANDWIDTHS:
        cycles = cycles + (2.0 ** rows[:, moved] / bandwidth) ** _OVERLAP
    return np.asarray(-np.log2(cycles) / _OVERLAP, np.float32)


def known_beforehand() -> Prior:
    """``estimate``, corrected by the model that comes with the package, if it has not been left out."""
    model = trees.shipped()
    return estimate if model is None else corrected(model)


def corrected(model: trees.Trees) -> Prior:
    """``estimate`` with what ``model`` has learned that it is off by.

    A search looks for what a model errs on to its liking. Trees by themselves know nothing of loops unlike
    any they have seen; the estimate does.
    """
    return lambda rows: estimate(rows) + model(rows)


def learned(records: Iterable[Record], target: Target, prior: Prior, seed: int = 0) -> Prior:
    """``prior`` corrected by what ``records`` of ``target`` say; itself if they say nothing."""
    rows, scores = experience(records, target)
    if not len(rows):
        return prior
    model = CostModel("reg", seed)
    model.fit_scores(rows, scores, prior(rows))
    return lambda wanted: model.predict(wanted, prior(wanted))


def experience(records: Iterable[Record], target: Target, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
    """Rows of features and how quick they were: the logarithm of the speed by the best of its task.

    Of ``records``, those of trials on ``target`` whose template is known; if they are more than ``most``, as
    many of each task, evenly over the time they were made.
    """
    of_task: dict[str, list[Record]] = {}
    for record in records:
        if record.target == str(target) and record.origin != FINAL and record.error in ("", "timeout"):
            of_task.setdefault(record.task_key, []).append(record)
    tasks = [found for found in of_task.values() if len(found) >= LEAST and any(r.ok for r in found)]
    rows: list[np.ndarray] = []
    scores: list[float] = []
    for found in tasks:
        task = _task(found[0], target)
        if task is None:
            continue
        builder, best = Builder(task), min(record.cost for record in found)
        for record in _evenly(found, max(most // len(tasks), LEAST)):
            lowered = builder.lowered(record.config)
            if isinstance(lowered, Lowered):
                rows.append(loop_features(lowered.function, target, task.flop))
                scores.append(max(float(np.log2(best / record.cost)), SLOWEST) if record.ok else SLOWEST)
    return np.stack(rows) if rows else np.zeros((0, WIDTH), np.float32), np.array(scores, np.float32)


def _evenly(found: list[Record], count: int) -> list[Record]:
    if len(found) <= count:
        return found
    return [found[n] for n in np.linspace(0, len(found) - 1, count).round().astype(int)]


def _task(record: Record, target: Target) -> Task | None:
    """The task of ``record``; None if its template is not known here, or makes another of it now."""
    try:
        return create(record.task[0], decode_args(record.task[1]), target)
    except TvmliteError:
        return None
