"""What a search has found, timed beside the machine's peak."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from kernels import peaks

import tvmlite
from searching.remembered import Remembered
from tvmlite.autotune.measure import Candidate
from tvmlite.autotune.measure.build import Builder
from tvmlite.autotune.measure.cold import as_in_a_model
from tvmlite.autotune.records.records import Record
from tvmlite.autotune.search.progress import Progress
from tvmlite.runtime import timing
from tvmlite.te.space import ConfigEntity, Task

TURNS = 120
"""Of a candidate and of the peak's loop."""

TURN = 1e-3
"""Seconds of one, about."""

UPPER = 0.75
"""What share of the turns is no better than what counts. The clock rises and falls within milliseconds and
takes both along, so a turn is held against the quicker of the peak's before and after it; and who shares the
processor's core with us slows down what loads, and a loop of nothing but multiply-adds not."""

AGAIN = 5
"""How often what seems to be the best is measured."""


class Shares:
    """Of candidates of a task how much of the peak of multiply-adds each reaches: both are run in turns, on
    one thread, so that neither the clock nor what else the machine does counts. Each is measured once, and
    ``kept`` by the machine that remembers."""

    def __init__(self, task: Task, kept: Remembered) -> None:
        self.task, self.kept = task, kept
        self.known: dict[str, float] = {}
        self._configs: dict[str, ConfigEntity] = {}
        self._builder = Builder(task)

    def best(self) -> float:
        """The best of all that were asked for: the median of ``AGAIN`` times that it was measured. Of many
        that are alike one seems the best by luck, and no longer when it is measured again."""
        again: set[str] = set()
        while (name := max(self.known, key=self.known.__getitem__)) not in again:
            again.add(name)
            several = [self._kept(name, n) for n in range(AGAIN)]
            self.known[name] = statistics.median(several)
        return self.known[name]

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
        name = str(config)
        if name not in self.known:
            self._configs[name] = config
            self.known[name] = self._kept(name, 0)
        return self.known[name]

    def _kept(self, name: str, turn: int) -> float:
        """The share of a configuration as it was measured in that ``turn`` first, of the same code."""
        config = self._configs[name]
        candidate = self._builder.built(config)
        assert isinstance(candidate, Candidate)  # a search has measured it
        return self.kept.share(candidate, turn, lambda: self._measured(config))

    def _measured(self, config: ConfigEntity) -> float:
        schedule, args = self.task.instantiate(config)
        function = tvmlite.build(schedule, args, "native")
        generator = np.random.default_rng(0)
        shapes: list[tuple[Any, ...]] = [p.shape for p in function.signature.arrays]
        arrays = as_in_a_model([generator.uniform(-1, 1, shape).astype(np.float32) for shape in shapes])

        def seconds(**options: int) -> timing.Timing:  # as searches are told: without the checks of a call
            return function.time(*arrays, clock=time.process_time, **options)

        peak, number = peaks.multiply_add("float32"), max(1, round(TURN / seconds(repeat=3).median))
        rates, shares = [peak()], []
        for _ in range(TURNS):
            taken = seconds(number=number, repeat=1).median
            rates.append(peak())
            shares.append(self.task.flop / taken / max(rates[-2:]))
        return float(np.quantile(shares, UPPER))
