"""The task scheduler: chooses the task for the next batch of trials.

Time goes to the task with the most to gain, as in Ansor (Zheng et al., "Ansor: Generating High-Performance
Tensor Programs for Deep Learning", OSDI 2020, section 6). The objective is the time of all kernels together,
each weighted by how often it runs. Its gradient is estimated from a task's recent improvement and from its
distance to the best rate observed on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.autotune.search.engine import Search
from tvmlite.autotune.search.progress import Progress

WINDOW = 24
"""The number of trials over which recent improvement is measured."""

RECENT = 0.2
"""The weight of recent improvement; the rest is that of the most that can still be gained."""

HEADROOM = 0.9
"""The best rate observed, as a share of what the machine is assumed to reach."""

EXPLORE = 0.05
"""The probability of choosing a task at random: an estimate may be wrong."""

FLOPS, BANDWIDTH = 1e11, 1e11
"""Operations and bytes a second assumed until something is measured: only their ratio counts, and most
weights come from a cache."""

HOPELESS = 32
"""Trials without success after which a task has to wait for all others."""


class Scheduler:
    """Chooses among ``searches``.

    A task that was not tried yet is assumed to run at the best rate of the others, so that all of its time
    can still be gained. Decisions depend on records and ``seed`` alone and never on the clock, so that a
    resumed run decides as it would have.
    """

    def __init__(self, searches: Sequence[Search], seed: int = 0) -> None:
        self.searches = list(searches)
        self._generator = np.random.default_rng(seed)

    def choose(self, early_stopping: int | None = None) -> Search | None:
        """Return the task for the next batch; None if all are over."""
        ready = [n for n, search in enumerate(self.searches) if not search.is_over(early_stopping)]
        if not ready:
            return None
        if len(ready) > 1 and self._generator.random() < EXPLORE:
            return self.searches[ready[int(self._generator.integers(len(ready)))]]
        gains = self.gains()
        return self.searches[max(ready, key=lambda number: (gains[number], -number))]

    def gains(self) -> list[float]:
        """The seconds of the whole model that one more trial of each task is expected to save."""
        done = [search.progress for search in self.searches]
        flops = max((p.best_flops for p in done), default=0.0) or FLOPS
        bandwidth = max((p.task.moved / p.best.cost for p in done if p.best), default=0.0) or BANDWIDTH
        return [_gain(p, HEADROOM * max(p.task.flop / flops, p.task.moved / bandwidth)) for p in done]


def _gain(progress: Progress, bound: float) -> float:
    """The seconds that a trial is expected to save; ``bound`` is the least time of a call."""
    best = progress.best
    if best is None:
        return 0.0 if progress.trials >= HOPELESS else progress.weight * bound / max(progress.trials, 1)
    before = progress.curve[max(len(progress.curve) - 1 - WINDOW, 0)]
    lately = (before - best.cost) / WINDOW if before < float("inf") else best.cost / WINDOW
    left = min(best.cost / progress.trials, max(best.cost - bound, 0.0))
    return progress.weight * (RECENT * lately + (1 - RECENT) * left)
