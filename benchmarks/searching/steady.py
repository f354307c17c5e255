"""Times that can be compared although the machine is not always equally quick."""

from __future__ import annotations

import heapq
import statistics

from tvmlite.autotune.measure import Candidate, LocalRunner, Outcome

CLOSE = 1.7
"""A candidate that seems so many times slower than the best, or more, is not timed beside the yardstick: who
shares a core with others makes what is one of the best no slower than that."""

QUICKER = 0.9
"""What takes this part of the yardstick's time takes its place. Were it replaced by whatever seems quicker,
it would each time be one that luck had favoured."""

QUIET = 1.08
"""A yardstick that takes so many times as long as it can is not alone."""

PATIENCE = 2
"""How often turns are taken until the yardstick is alone, of some two tenths of a second each."""


class Steady:
    """A runner before ``machine``: quick candidates are timed in turns with an earlier one of their task, the
    yardstick, and only the turns count before and after which that was as quick as it can be.

    The processors of a host that others use too are slower for some milliseconds or for seconds, by up to a
    half. What candidates take then is in another order than what they take when nobody disturbs them.
    ``disturbed`` counts the candidates beside which the yardstick was never so quick.
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
        elif statistics.median(outcome.costs) < CLOSE * self._best.get(task, self.yardsticks[task][1]):
            outcome = self._beside(task, candidate, outcome)
        cost = statistics.median(outcome.costs)
        self._best[task] = min(self._best.get(task, cost), cost)
        if cost < QUICKER * self.yardsticks[task][1]:
            self.yardsticks[task] = candidate, cost
        return outcome

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        return [self.measure(task, candidate) for candidate in candidates]

    def close(self) -> None:
        self.machine.close()

    def summary(self) -> str:
        """How far the times can be compared, in a line."""
        return f"candidates that were never timed undisturbed: {self.disturbed}"

    def _beside(self, task: str, candidate: Candidate, alone: Outcome) -> Outcome:
        """What ``candidate`` takes where the yardstick is as quick as it can be; what it took ``alone`` where
        it cannot be timed, and the least of it where the yardstick is never quick."""
        yardstick, quickest = self.yardsticks[task]
        taken = list(alone.costs)
        for _ in range(PATIENCE):
            beside, found = self.machine.compare(task, [yardstick, candidate])
            if beside.error or found.error:
                return alone
            quickest = min(quickest, heapq.nsmallest(3, beside.costs)[-1])
            self.yardsticks[task] = yardstick, quickest
            quiet = [
                cost
                for before, cost, after in zip(beside.costs, found.costs, beside.costs[1:], strict=False)
                if max(before, after) <= QUIET * quickest
            ]
            taken += found.costs
            if len(quiet) >= 3:
                return Outcome(tuple(heapq.nsmallest(3, quiet)))
        self.disturbed += 1
        return Outcome(tuple(heapq.nsmallest(3, taken)))
