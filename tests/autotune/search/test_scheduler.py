"""The task scheduler gives trials to tasks with the most to gain; a killed run can be resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune
from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.search.engine import Search
from tvmlite.autotune.search.scheduler import Scheduler
from tvmlite.core.errors import ExecutionError, InputError


class Told(MadeUpMachine):
    """A machine where trials of a task take its ``costs`` (seconds) one after another; the last repeats."""

    def __init__(self, costs: dict[str, list[float]]) -> None:
        super().__init__()
        self.costs, self.done = costs, Counter()

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        self.tasks.append(task)
        told = self.costs[task]
        cost = told[min(self.done[task], len(told) - 1)]
        self.done[task] += 1
        return Outcome((cost,) * 3) if cost else Outcome(error="crash", message="as told")


def tasks_of(*sizes: int) -> list[autotune.Task]:
    autotune.template("tests.matmul", small_matmul)
    return [autotune.create("tests.matmul", (size, 16, 16)) for size in sizes]


def shares(machine: Told, tasks: list[autotune.Task], **options: object) -> list[int]:
    autotune.tune(tasks, trials=96, runner=machine, tuner="random", **options)  # type: ignore[arg-type]
    return [machine.done[task.key] for task in tasks]


def test_the_heavier_of_two_similar_tasks_gets_more_trials() -> None:
    light, heavy = tasks = tasks_of(64, 96)
    machine = Told({light.key: [1e-3, 9e-4, 8e-4], heavy.key: [1e-3, 9e-4, 8e-4]})

    first, second = shares(machine, tasks, weights=[1, 10])

    assert first + second == 96
    assert second > 2 * first > 0


def test_the_task_farther_from_the_peak_gets_more_trials() -> None:
    slow, quick = tasks = tasks_of(64, 96)
    machine = Told({slow.key: [1e-3], quick.key: [1e-5]})

    first, second = shares(machine, tasks)

    assert first > second


@pytest.mark.slow
def test_a_task_whose_trials_all_fail_gets_no_more_than_half_the_trials() -> None:
    broken, well = tasks = tasks_of(64, 96)
    machine = Told({broken.key: [0.0], well.key: [1e-3, 9e-4]})

    assert shares(machine, tasks)[0] <= 48
    results = autotune.tune(tasks, trials=32, runner=Told(machine.costs))

    assert results[0].best is None
    assert str(results[0]).startswith("tests.matmul(64, 16, 16): nothing could be measured: ")
    assert "the first: crash: as told" in str(results[0])
    assert results[1].best is not None


def test_a_task_without_a_trial_is_reported_as_not_tried() -> None:
    tasks = tasks_of(64, 96)

    results = autotune.tune(tasks, trials=4, runner=Told({task.key: [1e-3] for task in tasks}))

    untried = [str(one) for one in results if one.best is None]
    assert untried == ["tests.matmul(64, 16, 16): not tried: all trials or all the time went to other tasks"]


def test_early_stopping_applies_to_each_task_separately() -> None:
    tasks = tasks_of(64, 96)
    machine = Told({tasks[0].key: [1e-3], tasks[1].key: [1e-3 - 1e-6 * n for n in range(90)]})

    first, second = shares(machine, tasks, early_stopping=9)

    assert first == 16
    assert second == 80


@pytest.mark.slow
def test_the_order_of_tasks_depends_on_the_seed_alone() -> None:
    runs = []
    for seed in (3, 3, 4):
        machine = MadeUpMachine()
        autotune.tune(tasks_of(64, 96, 128), trials=80, seed=seed, runner=machine, tuner="random")
        runs.append(machine.tasks)

    assert runs[0] == runs[1] != runs[2]


def test_weights_must_be_positive_and_one_for_each_task() -> None:
    with pytest.raises(InputError, match="1 weights are given, expected one for each of 2 tasks"):
        autotune.tune(tasks_of(64, 96), trials=8, weights=[1])
    with pytest.raises(InputError, match="weights: 0 given, expected a number more than 0"):
        autotune.tune(tasks_of(64, 96), trials=8, weights=[0, 1])
    with pytest.raises(InputError, match="no task is given"):
        autotune.tune([], trials=8)


def test_no_measurement_for_any_task_is_an_error() -> None:
    with pytest.raises(
        ExecutionError, match=r"nothing could be measured for tests.matmul: 8 crash; the first"
    ):
        autotune.tune(tasks_of(64, 96), trials=16, runner=MadeUpMachine(error="crash"))


def test_moved_bytes_of_a_task_are_those_of_its_arrays() -> None:
    (task,) = tasks_of(64)

    assert task.moved == 4 * (64 * 16 + 16 * 16 + 64 * 16)


def test_the_task_with_the_largest_expected_time_is_tried_first() -> None:
    tasks = tasks_of(64, 256, 128)
    machine = MadeUpMachine()
    searches = [
        Search(autotune.RandomTuner(task), machine, 80, weight=weight)
        for task, weight in zip(tasks, (1, 1, 3), strict=True)
    ]

    assert Scheduler(searches).choose() is searches[2]


def test_a_short_run_prefers_the_most_expensive_task() -> None:
    small, large = tasks = tasks_of(16, 512)
    machine = Told({small.key: [1e-6], large.key: [1e-3, 9e-4, 8e-4, 7e-4]})

    autotune.tune(tasks, trials=24, runner=machine, tuner="random")

    assert machine.done[large.key] > 8 >= machine.done[small.key]


PROGRAM = """
import sys, time
from made_up_tuning import MadeUpMachine, small_matmul
from tvmlite import autotune

class Slow(MadeUpMachine):
    def measure(self, task, candidate):
        time.sleep(float(sys.argv[2]))
        return super().measure(task, candidate)

autotune.template("tests.matmul", small_matmul)
tasks = [autotune.create("tests.matmul", (size, 16, 16)) for size in (64, 96)]
resume = len(sys.argv) > 3
autotune.tune(tasks, sys.argv[1], trials=56, weights=[1, 3], seed=7, runner=Slow(), resume=resume)
"""


def program(*arguments: str) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], env=environment)


@pytest.mark.slow
def test_a_resumed_killed_run_writes_the_records_of_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    assert program(str(whole), "0").wait(120) == 0

    killed = program(str(cut), "0.02")
    while not cut.exists() or len(rec.load(cut)) < 20:
        assert killed.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait(60) == -signal.SIGKILL
    kept = len(rec.load(cut))
    assert program(str(cut), "0", "resume").wait(120) == 0

    expected, found = [[replace(r, time=0.0).to_json() for r in rec.load(path)] for path in (whole, cut)]
    assert 20 <= kept < 56 < len(expected)
    assert found == expected
