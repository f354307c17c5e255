"""What the kernels of groups take by themselves, measured one by one where candidates are."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from tvmlite.autotune.build import Builder
from tvmlite.autotune.measure import Outcome, Runner
from tvmlite.core.errors import TvmliteError
from tvmlite.core.target import Target
from tvmlite.relay import tasks
from tvmlite.relay.ir import Function
from tvmlite.runtime import timing

MOST_BYTES = 1 << 30
"""Bytes of arrays that a measuring process is left with; then another is started."""


@dataclass
class KernelCost:
    """Tells the seconds of the kernel of a group, scheduled as by default: infinity where it cannot be
    measured. Each kernel is measured once, none after ``end`` (``time.monotonic``): those are ``missed``.
    """

    target: Target
    runner: Runner
    end: float
    known: dict[str, float] = field(default_factory=dict)
    missed: set[str] = field(default_factory=set)
    held: int = 0

    def __call__(self, group: Function) -> float:
        text = tasks.task_text(group)
        if text not in self.known:
            if time.monotonic() > self.end:
                self.missed.add(text)
                return float("inf")
            self.known[text] = self._measured(group)
        return self.known[text]

    def _measured(self, group: Function) -> float:
        if tasks.why_no_task(group):
            return float("inf")
        task = tasks.task_of(group, self.target)
        built = Builder(task).built(task.default)
        if isinstance(built, Outcome):
            return float("inf")
        self.held += 2 * task.moved
        if self.held > MOST_BYTES:
            self.runner.close()
            self.held = 2 * task.moved
        candidate = replace(built.candidate, cold=task.cold)
        self.runner.prepare(task.key, candidate, 0)
        try:
            outcome = self.runner.measure(task.key, candidate)
        except TvmliteError:  # it crashed, or never ended
            return float("inf")
        return timing.median(sorted(outcome.costs)) if outcome.costs else float("inf")
