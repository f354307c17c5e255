"""Several runners at once, each on its own processors, make the same trials as one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tvmlite import autotune
from tvmlite.autotune.measure import Candidate, LocalRunner, Outcome, ParallelRunner, processors_of
from tvmlite.autotune.measure.build import Builder, reference
from tvmlite.autotune.records import records as rec
from tvmlite.core.errors import InputError
from tvmlite.te.space import Task

needs_two = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="fewer than two processors",
)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process may use three processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5, 2, 7}, raising=False)


@pytest.mark.usefixtures("three")
def test_runners_share_out_the_allowed_processors() -> None:
    assert processors_of(3, 1) == [(2,), (5,), (7,)]
    assert processors_of(1, 2) == [(2, 5)]


@pytest.mark.usefixtures("three")
def test_more_jobs_than_processors_are_an_error() -> None:
    with pytest.raises(InputError, match=r"2 jobs of 2 threads each need 4 processors, this .* use 3"):
        ParallelRunner(2, threads=2)
    with pytest.raises(InputError, match="jobs is 0, expected at least 1"):
        ParallelRunner(0)


@needs_two
def test_each_worker_stays_on_its_own_processors(task: Task) -> None:
    allowed = sorted(os.sched_getaffinity(0))[:2]
    built = [Builder(task).built(task.config_space.get(number)) for number in range(8)]
    with ParallelRunner(2, budget=0.001) as runners, ThreadPoolExecutor(2) as pool:
        runners.prepare(task.key, reference(task), 0)
        candidates = [one for one in built if isinstance(one, Candidate)]
        outcomes = list(pool.map(lambda one: runners.measure(task.key, one), candidates))
        compared = runners.compare(task.key, candidates[:2])
        places = []
        for runner in runners.runners:
            assert runner._process is not None
            places.append(os.sched_getaffinity(runner._process.pid))

    assert [outcome.error for outcome in (*outcomes, *compared)] == [""] * (len(candidates) + 2)
    assert places == [{allowed[0]}, {allowed[1]}]


@pytest.mark.slow
@needs_two
def test_a_parallel_search_makes_the_same_trials_as_one_runner(task: Task, tmp_path: Path) -> None:
    stories = []
    for name, runner in (("one", LocalRunner(budget=0.001)), ("parallel", ParallelRunner(2, budget=0.001))):
        with runner:
            autotune.tune(task, tmp_path / name, trials=12, seed=4, tuner="random", runner=runner)
        trials = [one for one in rec.load(tmp_path / name) if one.origin == "random"]
        stories.append([(one.trial, str(one.config), one.error) for one in trials])

    assert len(stories[0]) == 12
    assert stories[0] == stories[1]


def test_the_load_of_the_other_runners_does_not_count_as_busy(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(LocalRunner, "measure", lambda self, task, candidate: Outcome((1.0,), busy=0.375))

    outcome = ParallelRunner(2).measure(task.key, Candidate("", "", task.target))

    assert outcome.busy == pytest.approx(0.125)
