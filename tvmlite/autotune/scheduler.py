"""The task scheduler: which of several tasks gets the next batch of trials.

Time goes to the task with most to win, as in Ansor (Zheng et al., "Ansor: Generating High-Performance Tensor
Programs for Deep Learning", OSDI 2020, section 6): its objective is the time of all kernels together, each
taken as often as it runs, and its gradient is estimated from how a task has bettered itself lately and from
how far it still is from what the machine was seen to do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.autotune.engine import Progress, Search
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi import Signature

WINDOW = 24
"""Trials over which recent progress is taken."""

TRUST = 0.2
"""How much recent progress counts; the rest is what is left to win at most."""

HEADROOM = 0.9
"""The best rate that was seen is taken to be so much of what the machine can do."""

EXPLORE = 0.05
"""How often a task is chosen at random: an estimate may be wrong."""

HOPELESS = 32
"""Trials without one that ran, after which a task has to wait for all others."""


class Scheduler:
    """Chooses among ``searches``.

    What it decides follows from their records and ``seed`` alone and never from the clock, so that a run that
    is taken up again decides as it would have.
    """

    def __init__(self, searches: Sequence[Search], seed: int = 0) -> None:
        self.searches = list(searches)
        self._generator = np.random.default_rng(seed)
        self._bytes = [moved_bytes(Signature.from_json(s.reference.signature)) for s in searches]

    def choose(self, early_stopping: int | None = None) -> Search | None:
        """The task for the next batch; None if all are over."""
        ready = [n for n, search in enumerate(self.searches) if not search.is_over(early_stopping)]
        if not ready:
            return None
        for number in ready:  # each is tried once before any is estimated
            if self.searches[number].progress.trials == 0:
                return self.searches[number]
        if len(ready) > 1 and self._generator.random() < EXPLORE:
            return self.searches[ready[int(self._generator.integers(len(ready)))]]
        gains = self.gains()
        return self.searches[max(ready, key=lambda number: (gains[number], -number))]

    def gains(self) -> list[float]:
        """How many seconds of the whole one more trial of each task is expected to save."""
        done = [search.progress for search in self.searches]
        flops = max((p.best_flops for p in done), default=0.0) or 1.0
        rates = [size / p.best.cost for p, size in zip(done, self._bytes, strict=True) if p.best]
        bandwidth = max(rates, default=0.0) or 1.0
        bounds = [
            HEADROOM * max(p.task.flop / flops, size / bandwidth)
            for p, size in zip(done, self._bytes, strict=True)
        ]
        return [_gain(progress, bound) for progress, bound in zip(done, bounds, strict=True)]


def moved_bytes(signature: Signature) -> int:
    """The bytes of the arrays a function takes: each is moved once at least."""
    total = 0
    for parameter in signature.arrays:
        size = dtypes.numpy_of(parameter.dtype).itemsize
        for extent in parameter.shape:
            assert isinstance(extent, int), "a task has shapes that are numbers"
            size *= extent
        total += size
    return total


def _gain(progress: Progress, bound: float) -> float:
    """Seconds a trial is expected to save, ``bound`` being the least a call can take."""
    best = progress.best
    if best is None:
        return 0.0 if progress.trials >= HOPELESS else float("inf")
    before = progress.curve[max(len(progress.curve) - 1 - WINDOW, 0)]
    lately = (before - best.cost) / WINDOW if before < float("inf") else best.cost / WINDOW
    left = min(best.cost / progress.trials, max(best.cost - bound, 0.0))
    return progress.weight * (TRUST * lately + (1 - TRUST) * left)
