"""A program that tunes a whole model with made-up times, and is killed at the event that a test chooses.

Times are functions of the code, and the clock advances only by the times of trials and runs. So two runs
differ only in where they are killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(1, str(Path(__file__).parents[1]))
from made_up_tuning import MadeUpMachine
from test_graph_search import APART_IS_QUICKER, network

import tvmlite
from tvmlite import runtime
from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.autotune.search import xgb_tuner
from tvmlite.model.artifact import CompiledModule
from tvmlite.runtime.library.profile import Profile
from tvmlite.te.space import ConfigEntity

TRIAL_SECONDS, RUN_SECONDS = 0.25, 0.01
"""Seconds by which a trial and a run of the model advance the clock."""


class Killer:
    """Counts events, and kills this process without any cleanup at the ``number``-th ``event``.

    Events are a ``measure`` of a kernel, a ``run`` of the model with default schedules, a ``tuned run`` with
    others, and a ``write`` of records; ``cut`` kills the process in the middle of a write.
    """

    def __init__(self, event: str, number: int) -> None:
        self.event, self.number = event, number
        self.seen: Counter[str] = Counter()

    def is_due(self, event: str) -> bool:
        """Count ``event``, and return whether to kill the process at it."""
        self.seen[event] += 1
        return (event, self.seen[event]) == (self.event, self.number)

    def __call__(self, event: str) -> None:
        if self.is_due(event):
            self.end()

    @staticmethod
    def end() -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Machine(MadeUpMachine):
    """Measures on one thread, and advances the clock."""

    threads = 1

    def __init__(self, clock: Clock, killer: Killer) -> None:
        super().__init__()
        self.clock, self.killer = clock, killer

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        self.killer("measure")
        self.clock.seconds += TRIAL_SECONDS
        return super().measure(task, candidate)


class Clock:
    """A clock that only trials and runs advance."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Model:
    """Runs in which the time of a kernel depends on its operators and its schedule. If ``doubted``, models
    with another graph than the default one are slow as soon as a record has changed the graph."""

    def __init__(self, clock: Clock, killer: Killer, doubted: bool) -> None:
        self.clock, self.killer, self.doubted = clock, killer, doubted
        self.has_changed = False

    def see(self, records: Iterable[object]) -> None:
        """Notice whether ``records`` change the graph."""
        decisions = [one for one in records if isinstance(one, DecisionRecord)]
        self.has_changed = self.has_changed or any(one.taken == "apart" for one in decisions)

    def __call__(self, lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
        tuned = any(one.task.config is not None for one in lib.kernels)
        self.killer("tuned run" if tuned else "run")
        self.clock.seconds += RUN_SECONDS
        tasks = {one.task.symbol: one.task for one in lib.kernels}
        rows = []
        for symbol in lib.signature.kernels:
            task = tasks[symbol]
            cost = APART_IS_QUICKER.get(" ".join(task.operators), 1000)
            rows.append((symbol, round(cost * _share(task.config))))
        apart = not any(" ".join(task.operators).endswith(" add") for task in tasks.values())
        more = 90_000 if self.doubted and self.has_changed and apart else 0
        return Profile(tuple(rows), sum(nanoseconds for _, nanoseconds in rows) + more)


def _share(config: ConfigEntity | None) -> float:
    """The time of a kernel divided by the default's. It depends on the knobs, not on the configuration's
    number, because configurations from files have none."""
    knobs = None if config is None else str(ConfigEntity(config.settings))
    return 1.0 if knobs is None else 0.4 + zlib.crc32(knobs.encode()) % 1000 / 1500


def watched(killer: Killer, model: Model, append: Any) -> Any:
    """``records.append`` that shows records to ``model``, and at which ``killer`` may kill the process."""

    def write(path: Path, records: Iterable[rec.Record]) -> None:
        records = list(records)
        model.see(records)
        if records and killer.is_due("write"):
            killer.end()
        if records and killer.is_due("cut"):
            text = "".join(record.to_json() + "\n" for record in records)
            with open(path, "a") as file:
                file.write(text[: len(text) * 2 // 3])
            killer.end()
        append(path, records)

    return write


def main(path: str, event: str, number: str, options: str) -> None:
    """Tune into the file at ``path``; ``options`` are ``tvmlite.tune``'s as JSON."""
    given = json.loads(options)
    killer, clock = Killer(event, int(number)), Clock()
    model = Model(clock, killer, given.pop("doubted", False))
    if os.path.exists(path):
        model.see(rec.load(path).decisions)
    time.monotonic = clock
    rec.append = watched(killer, model, rec.append)
    xgb_tuner.POOL, xgb_tuner.ROUNDS = 16, 2  # smaller pools are enough here
    runtime.set_num_threads(1)
    tuned = tvmlite.tune(network(), records=path, runner=Machine(clock, killer), run=model, **given)
    print(json.dumps({"kernels": tuned.lib.kernel_names, "seen": killer.seen, "seconds": clock.seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
