"""Benchmarks of searches compare times of undisturbed turns, and count the disturbed candidates."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.machine.target import Target

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # last: it has a models.py, as this folder has

steady = importlib.import_module("searching.steady")

FIRST, SECOND, THIRD = (Candidate(name, "", Target.parse("native")) for name in ("first", "second", "third"))
CRASH = Outcome(error="crash", message="killed by a signal")


class Machine:
    """A machine with given outcomes: ``alone`` for candidates, ``beside`` for comparisons."""

    threads = 1

    def __init__(
        self, alone: dict[Candidate, Outcome], beside: Sequence[tuple[Outcome, Outcome]] = ()
    ) -> None:
        self.alone, self.beside = alone, list(beside)
        self.compared: list[list[Candidate]] = []

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        return self.alone[candidate]

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        self.compared.append(candidates)
        return list(self.beside[len(self.compared) - 1])


def evenly(cost: float) -> Outcome:
    """The same time in each turn."""
    return Outcome((cost,) * 5)


def test_only_a_candidate_10_percent_faster_replaces_the_yardstick() -> None:
    costs = {FIRST: 1.0, SECOND: 0.9, THIRD: 0.89}
    beside = [(evenly(1.0), evenly(costs[one])) for one in (SECOND, THIRD)]
    machine = Machine({one: evenly(cost) for one, cost in costs.items()}, beside)
    runner = steady.Steady(machine)

    for candidate, yardstick in ((FIRST, FIRST), (SECOND, FIRST), (THIRD, THIRD)):
        runner.measure("task", candidate)
        assert runner.yardsticks["task"] == (yardstick, costs[yardstick])
    assert machine.compared == [[FIRST, SECOND], [FIRST, THIRD]]


def test_only_turns_between_undisturbed_yardstick_runs_count() -> None:
    yardstick = Outcome((1.0, 1.0, 1.3, 1.0, 1.05, 1.0))
    candidate = Outcome((1.21, 1.1, 1.1, 1.22, 1.23, 1.1))
    machine = Machine({FIRST: evenly(1.0), SECOND: evenly(1.2)}, [(yardstick, candidate)])
    runner = steady.Steady(machine)
    runner.measure("task", FIRST)

    assert runner.measure("task", SECOND) == Outcome((1.21, 1.22, 1.23))
    assert runner.disturbed == 0


def test_turns_are_repeated_until_the_yardstick_is_undisturbed() -> None:
    beside = [(evenly(1.5), evenly(1.1)), (evenly(1.0), evenly(1.2))]
    machine = Machine({FIRST: evenly(1.0), SECOND: evenly(1.2)}, beside)
    runner = steady.Steady(machine)
    runner.measure("task", FIRST)

    assert runner.measure("task", SECOND) == Outcome((1.2,) * 3)
    assert runner.disturbed == 0


def test_a_candidate_never_undisturbed_is_counted_with_its_least_time() -> None:
    beside = [(evenly(1.5), evenly(cost)) for cost in (1.5, 1.3)]
    machine = Machine({FIRST: evenly(1.0), SECOND: evenly(1.6)}, beside)
    runner = steady.Steady(machine)
    runner.measure("task", FIRST)

    assert runner.measure("task", SECOND) == Outcome((1.3,) * 3)
    assert len(machine.compared) == steady.ATTEMPTS
    assert runner.summary() == "candidates that were never timed undisturbed: 1"


def test_a_much_slower_candidate_is_not_compared_with_the_yardstick() -> None:
    machine = Machine({FIRST: evenly(1.0), SECOND: evenly(steady.COMPARABLE)})
    runner = steady.Steady(machine)

    assert runner.compare("task", [FIRST, SECOND]) == [evenly(1.0), evenly(steady.COMPARABLE)]
    assert machine.compared == []


@pytest.mark.parametrize("before", [[], [FIRST]])
def test_a_failure_is_reported_unchanged(before: list[Candidate]) -> None:
    runner = steady.Steady(Machine({FIRST: evenly(1.0), SECOND: CRASH}))
    runner.compare("task", before)

    assert runner.measure("task", SECOND) is CRASH
    assert list(runner.yardsticks.values()) == [(one, 1.0) for one in before]
    assert runner.disturbed == 0


def test_a_failed_comparison_keeps_the_time_measured_alone() -> None:
    machine = Machine({FIRST: evenly(1.0), SECOND: evenly(1.2)}, [(CRASH, CRASH)])
    runner = steady.Steady(machine)
    runner.measure("task", FIRST)

    assert runner.measure("task", SECOND) is machine.alone[SECOND]
    assert runner.disturbed == 0
