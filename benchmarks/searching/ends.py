"""What a search ends with, timed beside the machine's peak."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernels import clock, peaks

import tvmlite
from tvmlite.autotune.engine import Progress
from tvmlite.runtime.tensor import empty_array
from tvmlite.te.space import ConfigEntity, Task

EFFORT = clock.Effort(groups=6, rounds=5, seconds=2e-3)
"""Two seconds of each: where others use the processor's core too, a kernel may lose a third to them for one,
and a loop of nothing but multiply-adds nothing."""


class Shares:
    """Of candidates of a task how much of the peak of multiply-adds each reaches: both are run in turns, on
    one thread, so that neither the clock nor what else the machine does counts. Each is measured once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.known: dict[str, float] = {}

    def of_end(self, search: Progress) -> float:
        """The best share among the candidates that ``search`` found best, which it would compare last."""
        return max(self(record.config) for record in search.leaders)

    def __call__(self, config: ConfigEntity) -> float:
        key = str(config)
        if key not in self.known:
            schedule, args = self.task.instantiate(config)
            function = tvmlite.build(schedule, args, "native")
            arrays = [_array(p.shape) for p in function.signature.arrays]
            peak = peaks.multiply_add("float32")
            share = clock.share_of_peak(lambda: function(*arrays), self.task.flop, peak, EFFORT)
            self.known[key] = share.ratio
        return self.known[key]


def _array(shape: tuple[Any, ...]) -> np.ndarray:
    array = empty_array(shape, np.dtype("float32"))
    array[...] = np.random.default_rng(0).uniform(-1, 1, array.shape)
    return array
