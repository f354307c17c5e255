"""What a search has found, timed beside the machine's peak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from kernels import clock, peaks

import tvmlite
from tvmlite.autotune.engine import Progress
from tvmlite.autotune.records import Record
from tvmlite.runtime.tensor import side_by_side
from tvmlite.te.space import ConfigEntity, Task

EFFORT = clock.Effort(groups=400, rounds=1, seconds=1e-3, apart=0.0)
"""Some one and a half seconds of each, of which the best turns count. Where others use the processor's core
too, a kernel may lose a third to them, and a loop of nothing but multiply-adds nothing. On a host where they
did so for three quarters of the time they left it alone for milliseconds now and then; the shares of a
candidate were alike within 3% then, and those of 24 groups of 5 turns were 13% apart."""

LARGE = 8 << 20
"""Bytes of memory for which numpy asks for large pages."""

PAGE = 2 << 20
"""Bytes of one."""


class Shares:
    """Of candidates of a task how much of the peak of multiply-adds each reaches: both are run in turns, on
    one thread, so that neither the clock nor what else the machine does counts. Each is measured once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.known: dict[str, float] = {}

    def of_end(self, search: Progress) -> float:
        """The best share among the candidates that ``search`` found best, which it would compare last."""
        return max(self(record.config) for record in search.leaders)

    def curve(self, records: Sequence[Record]) -> list[float]:
        """After each of the ``records`` of a search the share of the one that was told to be the best so far;
        0 as long as there is none.

        What a search was told favours those that luck did: of many that are alike one seems the quickest.
        """
        found: list[float] = []
        best: Record | None = None
        for record in records:
            if record.ok and (best is None or record.cost < best.cost):
                best = record
            found.append(0.0 if best is None else self(best.config))
        return found

    def __call__(self, config: ConfigEntity) -> float:
        key = str(config)
        if key not in self.known:
            schedule, args = self.task.instantiate(config)
            function = tvmlite.build(schedule, args, "native")
            arrays = _arrays([p.shape for p in function.signature.arrays])
            peak = peaks.multiply_add("float32")
            share = clock.share_of_peak(lambda: function(*arrays), self.task.flop, peak, EFFORT)
            self.known[key] = share.ratio
        return self.known[key]


def _arrays(shapes: Sequence[tuple[Any, ...]]) -> list[np.ndarray]:
    """Random numbers side by side in one large block, as the values of a model."""
    values = [np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    return side_by_side(values, PAGE, LARGE)
