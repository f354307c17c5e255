"""Tunes several tasks into a file of records."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tvmlite.autotune.measure import LocalRunner, Outcome, Runner, machine_load
from tvmlite.autotune.model import model, transfer
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.report import callback
from tvmlite.autotune.report.watch import label_of
from tvmlite.autotune.search import engine, similar_tasks
from tvmlite.autotune.search.progress import Progress
from tvmlite.autotune.search.scheduler import Scheduler
from tvmlite.autotune.search.tuners import Tuner
from tvmlite.autotune.search.xgb_tuner import TUNERS, XGBTuner
from tvmlite.core import arguments
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.core.extras import how_to_install
from tvmlite.core.span import warn
from tvmlite.machine.target import Target
from tvmlite.te.space import ConfigEntity, Task, rule_of

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


FINAL_SECONDS = 1.0
"""The seconds of a budget that are reserved for each task's comparison with its default at the end."""


class Interrupted(KeyboardInterrupt):
    """A Ctrl-C during a search; ``results`` has what was found, not compared with the defaults."""

    def __init__(self, results: Sequence[Tuned]) -> None:
        super().__init__("tuning was interrupted")
        self.results = list(results)


@dataclass(frozen=True)
class Tuned:
    """The result of tuning a task: ``best`` is the winner of the comparison, ``default`` the default's record
    in it.

    ``best`` is None if nothing could be measured, ``default`` if nothing was timed beside it. ``progress``
    counts trials and failures, ``tuner`` names the search strategy. ``interleaved`` is the gain of the winner
    over the default when both ran interleaved, if they did: this is least disturbed by other processes.
    """

    task: Task
    best: rec.Record | None
    default: rec.Record | None
    progress: Progress
    tuner: str
    interleaved: float | None = None

    @property
    def gain(self) -> float:
        """The gain over the default; 1 if the default was not beaten."""
        if self.interleaved is not None:
            return self.interleaved
        return 1.0 if self.default is None or self.best is None else self.default.cost / self.best.cost

    @property
    def rule(self) -> str | None:
        """The sketch rule that the winner comes from, if the task's candidates come from several."""
        return None if self.best is None else rule_of(self.best.config)

    def __repr__(self) -> str:
        if self.best is None and not self.progress.trials and not self.progress.failures:
            return f"{label_of(self.task)}: not tried: all trials or all the time went to other tasks"
        if self.best is None:
            return f"{label_of(self.task)}: nothing could be measured: {_failures(self.progress)}"
        speed = f"{self.task.flop / self.best.cost / 1e9:.1f} GFLOP/s"
        by = f" by rule {self.rule}" if self.rule is not None else ""
        gain = "" if self.default is None else f", {self.gain:.2f}x of the default"
        trials = f"{self.progress.trials} trials{_failed(self.progress)}"
        return f"{label_of(self.task)}: {speed}{by}{gain}, {trials}"


def tune(
    tasks: Task | Sequence[Task],
    records: str | Path | None = None,
    *,
    trials: int | None = None,
    budget: float | str | None = None,
    weights: Sequence[float] | None = None,
    shares: Sequence[float] | None = None,
    seed: int = 0,
    tuner: str = "xgboost",
    runner: Runner | None = None,
    early_stopping: int | None = None,
    resume: bool = False,
    callbacks: Sequence[engine.Callback] = (),
    learn_from: str | Path | Sequence[rec.Record] = (),
    compare: bool = True,
    note: Callable[[str], object] = warn,
) -> list[Tuned]:
    """Search the spaces of ``tasks`` for fast schedules; each trial is appended to the file ``records``.

    There are ``trials`` trials in all, or ``budget`` seconds (or ``"10m"``). Batch by batch they go to the
    task with the most to gain (``scheduler``); ``weights`` are how often each task runs in the model,
    ``shares`` its parts of the model's time, which are shown. A task ends after ``early_stopping`` trials
    without an improvement. At the end each task's best are timed beside its default, which a record replaces
    only if it is faster. ``resume`` continues an interrupted run with the same ``seed``: what ``records``
    already contains is not measured again. The cost model learns from records of other runs, in that file or
    in ``learn_from``, whatever tasks they are for. Without ``compare`` nothing is timed beside the defaults:
    the caller does that. ``note`` is called with a sentence for each reason why records are not used; by
    default it warns. A Ctrl-C raises ``Interrupted``. If nothing could be measured, an ExecutionError has the
    first cause.
    """
    given = [tasks] if isinstance(tasks, Task) else tasks
    tasks = list(arguments.listed("tune: tasks", given, "tasks", InputError))
    arguments.all_instances("tune: tasks", tasks, Task, "a task", InputError)
    weights = _weights("weights", weights, len(tasks), 1.0)
    shares = _weights("shares", shares, len(tasks), 0.0)
    _check(tasks, trials, resume, records, compare)
    engine.check_options(runner, "runner", early_stopping, callbacks)
    arguments.function("tune: note", note, InputError)
    seed = arguments.whole("tune: seed", seed, InputError, least=0)
    if (trials is None) == (budget is None):
        raise InputError("tune: give either trials= or budget=")
    seconds = None if budget is None else seconds_of(budget)
    started = time.monotonic()
    target = tasks[0].target
    earlier = _loaded(records, target, note) if records is not None and os.path.exists(records) else ()
    if isinstance(learn_from, (str, Path)):
        learn_from = _loaded(learn_from, target, note)
    arguments.listed("tune: learn_from", learn_from, "records", InputError)
    arguments.all_instances("tune: learn_from", learn_from, rec.Record, "a record", InputError)
    listeners = [*callbacks, *([] if records is None else [callback.log_to_file(records)])]
    machine = runner or LocalRunner()
    known = [r for r in (*earlier, *learn_from) if r.threads in (0, machine.threads)]
    kind = _kind(tuner, tasks, seed, known)
    resumed = earlier if resume else ()
    searches = [
        engine.Search(kind(task), machine, trials or len(task.config_space), resumed, weight, kept, share)
        for task, weight, kept, share in zip(
            tasks,
            weights,
            _in_force(tasks, earlier, machine.threads, seed if resume else None),
            shares,
            strict=True,
        )
    ]
    try:
        final = FINAL_SECONDS * len(tasks) if compare else 0.0
        deadline = None if seconds is None else started + max(seconds / 2, seconds - final)
        _search(searches, Scheduler(searches, seed), trials, deadline, early_stopping, listeners)
        if disturbed := machine_load.note([share for search in searches for share in search.progress.busy]):
            warn(disturbed)
        _require_one(searches)
        return [_compared(search, records) if compare else _by_trials(search) for search in searches]
    except KeyboardInterrupt:
        raise Interrupted([_by_trials(search) for search in searches]) from None
    finally:
        if runner is None:
            machine.close()


def _loaded(path: str | Path, target: Target, note: Callable[[str], object]) -> tuple[rec.Record, ...]:
    """Load the records in the file at ``path``; ``note`` is called with each reason why some are unusable."""
    loaded = rec.load(path)
    for reason in rec.unusable(loaded, target):
        note(f"{path}: {reason}")
    return loaded.records


def _in_force(
    tasks: Sequence[Task], records: Sequence[rec.Record], threads: int, own: int | None = None
) -> list[list[ConfigEntity]]:
    """The winners of the last comparison of each task in ``records``.

    A resumed run with the seed ``own`` may have been interrupted after its comparison. Then both its own
    winner and the one in force before it are returned, so that both are finalists.
    """
    current = rec.current(records, tasks[0].target, threads)
    parts = [[r for r in current if r.seed == own], [r for r in current if r.seed != own]]
    found: list[list[ConfigEntity]] = [[] for _ in tasks]
    for compared in map(rec.comparisons, [current] if own is None else parts):
        for task, configs in zip(tasks, found, strict=True):
            winner = rec.winner(compared.get(task.key, ()), task.default)
            configs += [] if winner is None else [winner.config]
    return found


def _search(
    searches: Sequence[engine.Search],
    scheduler: Scheduler,
    trials: int | None,
    deadline: float | None,
    early_stopping: int | None,
    callbacks: Sequence[engine.Callback],
) -> None:
    """Do batches, at least one, until ``trials`` are done, ``deadline`` (``time.monotonic``) has passed, or
    all tasks are over."""
    with ThreadPoolExecutor(searches[0].jobs) as measuring:
        first = True
        while first or deadline is None or time.monotonic() < deadline:
            first = False
            left = sys.maxsize if trials is None else trials - sum(s.progress.trials for s in searches)
            chosen = scheduler.choose(early_stopping)
            if chosen is None or left <= 0:
                break
            chosen.step(left, measuring, callbacks)


def seconds_of(budget: float | str) -> float:
    """Return a time in seconds: a number, or a text such as ``"90s"``, ``"10m"``, ``"1.5h"``."""
    if isinstance(budget, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", budget.strip())
        seconds = float(found[1]) * _UNITS[found[2] or "s"] if found else 0.0
    else:
        is_number = isinstance(budget, (int, float)) and not isinstance(budget, bool)
        seconds = float(budget) if is_number else 0.0
    if not 0 < seconds < float("inf"):
        given = arguments.shown(budget)
        raise InputError(f"budget is {given}, expected a time such as '90s', '10m' or '1.5h'")
    return seconds


def _check(
    tasks: Sequence[Task], trials: int | None, resume: bool, records: str | Path | None, compare: bool
) -> None:
    if not tasks:
        raise InputError("tune: no task is given")
    if trials is not None:
        arguments.whole("tune: trials", trials, InputError, least=1)
    arguments.boolean("tune: resume", resume, InputError)
    arguments.boolean("tune: compare", compare, InputError)
    if records is not None:
        arguments.path("tune: records", records, InputError)
    if resume and records is None:
        raise InputError("tune: resume= needs records=")


def _weights(name: str, given: Sequence[float] | None, count: int, default: float) -> list[float]:
    """Check and return a number for each of ``count`` tasks: at least ``default`` if that is 0, else
    positive."""
    if given is None:
        return [default] * count
    listed = arguments.listed(f"tune: {name}", given, "numbers", InputError)
    for one in listed:
        if one != 0 or isinstance(one, bool) or default:
            arguments.number(f"tune: {name}", one, InputError)
    if len(listed) != count:
        raise InputError(f"tune: {len(listed)} {name} are given, expected one for each of {count} tasks")
    return [float(one) for one in listed]


def _kind(
    name: str, tasks: Sequence[Task], seed: int, earlier: Sequence[rec.Record]
) -> Callable[[Task], Tuner]:
    """Return a function that makes the tuner of a task. One with a cost model learns from ``earlier`` records
    except those of this run itself, so that a resumed run begins as it did before."""
    if arguments.text("tune: tuner", name, InputError) not in TUNERS:
        raise InputError(f"tuner {name!r}: there are {', '.join(TUNERS)}")
    if name == "xgboost" and not model.available():
        warn(f"xgboost is not installed: a genetic search is done instead ({how_to_install('tune')})")
        name = "genetic"
    if name != "xgboost":
        return lambda task: TUNERS[name](task, seed)
    keys = {task.key for task in tasks}
    others = [r for r in earlier if (r.origin, r.seed) != (name, seed) or r.task_key not in keys]
    target = tasks[0].target
    prior = transfer.learned(others, target, transfer.shipped_prior(target), seed)
    return lambda task: XGBTuner(task, seed, prior=prior, handed=similar_tasks.configurations(others, task))


def _require_one(searches: Sequence[engine.Search]) -> None:
    """Raise an ExecutionError with the first cause if nothing could be measured."""
    if any(search.progress.best is not None for search in searches):
        return
    first = next((s.progress for s in searches if s.progress.first_failure), None)
    if first is None:  # nothing was proposed at all
        first = searches[0].progress
        made = searches[0].tuner.builder.built(searches[0].default)
        if isinstance(made, Outcome):
            first.fail(made.error, made.message)
    raise ExecutionError(f"tune: nothing could be measured for {first.task.name}: {_failures(first)}")


def _by_trials(search: engine.Search) -> Tuned:
    """The result of a search by its trials alone."""
    return Tuned(search.progress.task, search.progress.best, None, search.progress, search.tuner.name)


def _compared(search: engine.Search, path: str | Path | None) -> Tuned:
    """The best of a search compared with its default; new measurements are added to the file at ``path``."""
    found = _by_trials(search)
    if found.best is None:
        return found
    compared, are_new = search.final()
    if path is not None and are_new:
        rec.append(path, compared)
    defaults = [r for r in compared if r.config.settings == search.default.settings and r.ok]
    winner = compared[0] if compared and compared[0].ok else search.progress.default or found.best
    return replace(found, best=winner, default=defaults[0] if defaults else None)


def _failed(progress: Progress) -> str:
    """The failures by cause; empty if there are none."""
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(progress.failures.items()))
    return f" ({counts})" if counts else ""


def _failures(progress: Progress) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in progress.failures.items()) or "no trial"
    return f"{counts}; the first: {progress.first_failure}" if progress.first_failure else counts
