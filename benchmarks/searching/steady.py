"""Times that can be compared although the machine is not always equally quick."""

from __future__ import annotations

import statistics

from tvmlite.autotune.measure import Candidate, LocalRunner, Outcome

CLOSE = 1.3
"""A candidate that seems so many times slower than the yardstick, or more, is not timed beside it: what a
machine's speed varies by does not make it one of the best."""

QUICKER = 0.93
"""What takes this part of the yardstick's time takes its place. Were it replaced by whatever seems quicker,
it would each time be one that luck had favoured, and all later times would be too short."""

TURN = 0.002
"""Seconds of each of the seven turns."""


class Steady:
    """A runner before ``machine``: quick candidates are timed in turns with an earlier one of their task, the
    yardstick, and told as seconds on the machine as it was when the first of them was timed.

    The processors of a host that others use too are quicker at one second and slower for the next ten, by a
    fifth: candidates that differ by less are told apart only side by side.
    """

    def __init__(self, machine: LocalRunner) -> None:
        self.machine, self.threads = machine, machine.threads
        self.yardsticks: dict[str, tuple[Candidate, float]] = {}

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        self.machine.prepare(task, reference, 0)

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        outcome = self.machine.measure(task, candidate)
        if outcome.error:
            return outcome
        if task in self.yardsticks:
            outcome = self._beside(task, candidate, outcome)
        cost = statistics.median(outcome.costs)
        if task not in self.yardsticks or cost < QUICKER * self.yardsticks[task][1]:
            self.yardsticks[task] = candidate, cost
        return outcome

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        return [self.measure(task, candidate) for candidate in candidates]

    def close(self) -> None:
        self.machine.close()

    def _beside(self, task: str, candidate: Candidate, alone: Outcome) -> Outcome:
        yardstick, cost = self.yardsticks[task]
        if statistics.median(alone.costs) > CLOSE * cost:
            return alone
        found = self._in_turns(task, yardstick, candidate, cost)
        if found is None:
            return alone
        if statistics.median(found.costs) < QUICKER * cost:  # would be the yardstick of all that follow
            again = self._in_turns(task, yardstick, candidate, cost)
            return alone if again is None else max(found, again, key=lambda one: statistics.median(one.costs))
        return found

    def _in_turns(self, task: str, yardstick: Candidate, candidate: Candidate, cost: float) -> Outcome | None:
        """What ``candidate`` takes where the yardstick takes ``cost``; None where it cannot be timed."""
        budget, self.machine.budget = self.machine.budget, TURN
        try:
            measured, found = self.machine.compare(task, [yardstick, candidate])
        finally:
            self.machine.budget = budget
        if found.error:
            return None
        scale = cost / statistics.median(measured.costs)
        return Outcome(tuple(scale * one for one in found.costs))
