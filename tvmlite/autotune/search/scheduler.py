"""The task scheduler: which of several tasks gets the next batch of trials.

Time goes to the task with most to win, as in Ansor (Zheng et al., "Ansor: Generating High-Performance Tensor
Programs for Deep Learning", OSDI 2020, section 6): its objective is the time of all kernels together, each
taken as often as it runs, and its gradient is estimated from how a task has bettered itself lately and from
how far it still is from what the machine was seen to do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.autotune.search.engine import Search
from tvmlite.autotune.search.progress import Progress

WINDOW = 24
"""Trials over which recent progress is taken."""

RECENT = 0.2
"""How much recent progress counts; the rest is what is left to win at most."""

HEADROOM = 0.9
"""The best rate that was seen is taken to be so much of what the machine can do."""

EXPLORE = 0.05
"""How often a task is chosen at random: an estimate may be wrong."""

FLOPS, BANDWIDTH = 1e11, 1e11
"""Operations and bytes a second of a processor, as long as nothing was measured: their ratio counts, and
most weights come from a cache."""

HOPELESS = 32
"""Trials without one that ran, after which a task has to wait for all others."""


class Scheduler:
    """Chooses among ``searches``.

    A task that was not tried yet is taken to be as quick as the best of the others, all of which might still
    be won. What is decided follows from records and ``seed`` alone and never from the clock, so that a run
    that is taken up again decides as it would have.
    """

    def __init__(self, searches: Sequence[Search], seed: int = 0) -> None:
        self.searches = list(searches)
        self._generator = np.random.default_rng(seed)

    def choose(self, early_stopping: int | None = None) -> Search | None:
        """The task for the next batch; None if all are over."""
        ready = [n for n, search in enumerate(self.searches) if not search.is_over(early_stopping)]
        if not ready:
            return None
        if len(ready) > 1 and self._generator.random() < EXPLORE:
            return self.searches[ready[int(self._generator.integers(len(ready)))]]
        gains = self.gains()
        return self.searches[max(ready, key=lambda number: (gains[number], -number))]

    def gains(self) -> list[float]:
        """How many seconds of the whole one more trial of each task is expected to save."""
        done = [search.progress for search in self.searches]
        flops = max((p.best_flops for p in done), default=0.0) or FLOPS
        bandwidth = max((p.task.moved / p.best.cost for p in done if p.best), default=0.0) or BANDWIDTH
        return [_gain(p, HEADROOM * max(p.task.flop / flops, p.task.moved / bandwidth)) for p in done]


def _gain(progress: Progress, bound: float) -> float:
    """Seconds a trial is expected to save, ``bound`` being the least a call can take."""
    best = progress.best
    if best is None:
        return 0.0 if progress.trials >= HOPELESS else progress.weight * bound / max(progress.trials, 1)
    before = progress.curve[max(len(progress.curve) - 1 - WINDOW, 0)]
    lately = (before - best.cost) / WINDOW if before < float("inf") else best.cost / WINDOW
    left = min(best.cost / progress.trials, max(best.cost - bound, 0.0))
    return progress.weight * (RECENT * lately + (1 - RECENT) * left)
