"""Measure times that can be compared although the speed of the machine changes."""

from __future__ import annotations

import heapq
import statistics

from tvmlite.autotune.measure import Candidate, LocalRunner, Outcome

COMPARABLE = 1.7
"""A candidate that is at least this many times slower than the best is not timed together with the yardstick:
other programs on the same core do not make a good candidate slower by more than this factor."""

REPLACING = 0.9
"""A candidate that takes less than this part of the yardstick's time replaces it. If every candidate that
seems faster replaced it, the yardstick would always be a lucky one."""

UNDISTURBED = 1.08
"""If the yardstick takes longer than this factor times its best time, other programs are running."""

ATTEMPTS = 2
"""The number of attempts to time the yardstick undisturbed, of about two tenths of a second each."""


class Steady:
    """A runner that wraps ``machine``. Runs of fast candidates are interleaved with an earlier candidate of
    the same task, the yardstick. A run counts only if the yardstick was at its best speed before and after
    it.

    If others use the host, its processors are slower for milliseconds or seconds, by up to a half. The order
    of candidates by time is then different from that without disturbance. ``disturbed`` counts the candidates
    during whose runs the yardstick was never at its best speed.
    """

    def __init__(self, machine: LocalRunner) -> None:
        self.machine, self.threads = machine, machine.threads
        self.yardsticks: dict[str, tuple[Candidate, float]] = {}
        self.disturbed = 0
        self._best: dict[str, float] = {}

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        self.machine.prepare(task, reference, 0)

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        outcome = self.machine.measure(task, candidate)
        if outcome.error:
            return outcome
        if task not in self.yardsticks:
            self.yardsticks[task] = candidate, min(outcome.costs)
        elif statistics.median(outcome.costs) < COMPARABLE * self._best.get(task, self.yardsticks[task][1]):
            outcome = self._with_yardstick(task, candidate, outcome)
        cost = statistics.median(outcome.costs)
        self._best[task] = min(self._best.get(task, cost), cost)
        if cost < REPLACING * self.yardsticks[task][1]:
            self.yardsticks[task] = candidate, cost
        return outcome

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        return [self.measure(task, candidate) for candidate in candidates]

    def close(self) -> None:
        self.machine.close()

    def summary(self) -> str:
        """A line that says to which degree the times can be compared."""
        return f"candidates that were never timed undisturbed: {self.disturbed}"

    def _with_yardstick(self, task: str, candidate: Candidate, alone: Outcome) -> Outcome:
        """The times of ``candidate`` while the yardstick is at its best speed; ``alone`` if the two cannot be
        timed together, and the smallest of all times if the yardstick is never at its best speed."""
        yardstick, quickest = self.yardsticks[task]
        taken = list(alone.costs)
        for _ in range(ATTEMPTS):
            reference, found = self.machine.compare(task, [yardstick, candidate])
            if reference.error or found.error:
                return alone
            quickest = min(quickest, heapq.nsmallest(3, reference.costs)[-1])
            self.yardsticks[task] = yardstick, quickest
            undisturbed = [
                cost
                for before, cost, after in zip(
                    reference.costs, found.costs, reference.costs[1:], strict=False
                )
                if max(before, after) <= UNDISTURBED * quickest
            ]
            taken += found.costs
            if len(undisturbed) >= 3:
                return Outcome(tuple(heapq.nsmallest(3, undisturbed)))
        self.disturbed += 1
        return Outcome(tuple(heapq.nsmallest(3, taken)))
