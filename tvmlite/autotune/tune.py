"""Tuning several tasks into a file of records."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tvmlite.autotune import callback, engine, model
from tvmlite.autotune import records as rec
from tvmlite.autotune.measure import LocalRunner, Runner
from tvmlite.autotune.tuners import TUNERS, Tuner
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.te.space import ConfigEntity, FallbackConfig, Task

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Tuned:
    """What came of a task: ``best`` is the winner beside the default, ``default`` the default's own record.

    ``progress`` counts trials and failures, ``tuner`` names who proposed.
    """

    task: Task
    best: rec.Record
    default: rec.Record | None
    progress: engine.Progress
    tuner: str

    @property
    def gain(self) -> float:
        """How many times quicker than the default; 1 where the default was not beaten."""
        return 1.0 if self.default is None else self.default.cost / self.best.cost

    def __str__(self) -> str:
        speed = self.task.flop / self.best.cost / 1e9
        trials = self.progress.trials
        return f"{self.task.name}: {speed:.1f} GFLOP/s, {self.gain:.2f}x of the default, {trials} trials"


def tune(
    tasks: Task | Sequence[Task],
    records: str | Path | None = None,
    *,
    trials: int | None = None,
    budget: float | str | None = None,
    seed: int = 0,
    tuner: str = "xgboost",
    runner: Runner | None = None,
    early_stopping: int | None = None,
    resume: bool = False,
    callbacks: Sequence[engine.Callback] = (),
) -> list[Tuned]:
    """Search the spaces of ``tasks`` for quick schedules; each trial is appended to the file ``records``.

    Each task is given ``trials`` trials, or its share of ``budget`` (seconds, or ``"10m"``). At the end its
    best are timed beside its default, which a record replaces only where it is quicker. ``resume`` takes up
    a run with the same ``seed`` that was cut short: what ``records`` already tell is not measured again.
    Nothing measured at all is an ExecutionError that tells the first cause.
    """
    tasks = [tasks] if isinstance(tasks, Task) else list(tasks)
    if (trials is None) == (budget is None):
        raise InputError("tune: give either trials= or budget=")
    if trials is not None and trials < 1:
        raise InputError(f"tune: trials is {trials!r}, expected at least 1")
    if resume and records is None:
        raise InputError("tune: resume= needs records=")
    known = rec.load(records).records if resume and records is not None and os.path.exists(records) else ()
    share = None if budget is None else seconds_of(budget) / max(len(tasks), 1)
    listeners = [*callbacks, *([] if records is None else [callback.log_to_file(records)])]
    machine = runner or LocalRunner()
    results = []
    try:
        for task in tasks:
            searching = _tuner(tuner, task, seed)
            progress = engine.run(
                searching,
                machine,
                trials or len(task.config_space),
                deadline=None if share is None else time.monotonic() + share,
                early_stopping=early_stopping,
                callbacks=listeners,
                known=known,
            )
            results.append(_finished(searching, machine, progress, records))
    finally:
        if runner is None:
            machine.close()
    return results


def seconds_of(budget: float | str) -> float:
    """A time in seconds: a number, or a text such as ``"90s"``, ``"10m"``, ``"1.5h"``."""
    if isinstance(budget, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", budget.strip())
        seconds = float(found[1]) * _UNITS[found[2] or "s"] if found else 0.0
    else:
        seconds = float(budget)
    if not 0 < seconds < float("inf"):
        raise InputError(f"budget is {budget!r}, expected a time such as '90s', '10m' or '1.5h'")
    return seconds


def default_config(task: Task) -> ConfigEntity:
    """The configuration a task has without records."""
    fallback = FallbackConfig()
    task.instantiate(fallback)
    return ConfigEntity(fallback.settings)


def _tuner(name: str, task: Task, seed: int) -> Tuner:
    if name not in TUNERS:
        raise InputError(f"tuner {name!r}: there are {', '.join(TUNERS)}")
    if name == "xgboost" and not model.available():
        warnings.warn("xgboost is not installed: a genetic search is done instead", stacklevel=3)
        name = "genetic"
    return TUNERS[name](task, seed)


def _finished(tuner: Tuner, runner: Runner, progress: engine.Progress, path: str | Path | None) -> Tuned:
    task = tuner.task
    if progress.best is None:
        counts = ", ".join(f"{count} {kind}" for kind, count in progress.failures.items()) or "no trial"
        raise ExecutionError(
            f"tune: nothing could be measured for {task.name}: {counts}; the first: {progress.first_failure}"
        )
    default = default_config(task)
    compared = engine.final(task, runner, progress.leaders, default)
    if path is not None:
        rec.append(path, compared)
    defaults = [r for r in compared if r.config.settings == default.settings]
    winner = compared[0] if compared and compared[0].ok else progress.best
    return Tuned(task, winner, defaults[0] if defaults else None, progress, tuner.name)
