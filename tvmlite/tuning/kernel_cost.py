"""The times of groups' kernels alone, measured one by one in the runner for candidates."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace

from tvmlite.autotune.measure import Outcome, ReferenceFailed, Runner
from tvmlite.autotune.measure.build import Builder
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.ir.nodes import Function
from tvmlite.runtime import timing

MOST_BYTES = 1 << 30
"""The most bytes of arrays that a measuring process holds; beyond that another is started."""


@dataclass
class KernelCost:
    """Returns the seconds of a group's kernel with its default schedule: infinity if it cannot be measured.

    Each kernel is measured once, none after ``end`` (``time.monotonic``). ``unmeasured`` has the reason for
    each that could not be measured.
    """

    target: Target
    runner: Runner
    end: float
    known: dict[str, float] = field(default_factory=dict)
    unmeasured: dict[str, str] = field(default_factory=dict)
    bytes_held: int = 0

    def __call__(self, group: Function) -> float:
        """Return the seconds of the kernel of ``group``, measured at the first call, infinity on failure."""
        text = tasks.task_text(group)
        if text not in self.known:
            found = self._measured(group)
            if isinstance(found, str):
                self.unmeasured[text] = found
            self.known[text] = float("inf") if isinstance(found, str) else found
        return self.known[text]

    def reasons(self) -> str:
        """Return the number of kernels that were not measured, with reasons; empty if all were."""
        if not self.unmeasured:
            return ""
        counted = Counter(self.unmeasured.values())
        causes = ", ".join(f"{count} {why}" for why, count in sorted(counted.items()))
        return f"{len(self.unmeasured)} kernel{'s' * (len(self.unmeasured) > 1)} not measured: {causes}"

    def _measured(self, group: Function) -> float | str:
        """The seconds, or the reason why there are none."""
        if time.monotonic() > self.end:
            return "for lack of time"
        if tasks.why_no_task(group):
            return "not being tuning tasks"
        task = tasks.task_of(group, self.target)
        built = Builder(task).built(task.default)
        if isinstance(built, Outcome):
            return f"for an error ({built.error})"
        self.bytes_held += 2 * task.moved
        if self.bytes_held > MOST_BYTES:
            self.runner.close()
            self.bytes_held = 2 * task.moved
        candidate = replace(built, cold=task.cold)
        self.runner.prepare(task.key, candidate, 0)
        try:
            outcome = self.runner.measure(task.key, candidate)
        except ReferenceFailed as failed:  # the reference is the kernel itself
            return f"for an error ({failed.error})"
        return timing.median(sorted(outcome.costs)) if outcome.costs else f"for an error ({outcome.error})"
