"""Time the results of searches against the machine's peak."""

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
from tvmlite.autotune.measure.cold import copies_in_one_block
from tvmlite.autotune.records.records import Record
from tvmlite.autotune.search.progress import Progress
from tvmlite.runtime import timing
from tvmlite.te.space import ConfigEntity, Task

TURNS = 120
"""The number of interleaved measurements of a candidate and of the peak's loop."""

TURN = 1e-3
"""The approximate seconds of one measurement."""

UPPER = 0.75
"""The quantile of the shares that is used as the result. The clock changes within milliseconds and affects
both, so a measurement is compared with the faster of the peak's before and after it. Programs that share the
core slow down loads, but not a loop of only multiply-adds, so an upper quantile is used."""

AGAIN = 5
"""The number of measurements of a candidate that seems to be the best."""


class Shares:
    """The fraction of the peak of multiply-adds that candidates of a task reach. Candidate and peak run
    interleaved on one thread, so that the clock and other programs have no influence. Each is measured once;
    ``kept`` stores the results."""

    def __init__(self, task: Task, kept: Remembered) -> None:
        self.task, self.kept = task, kept
        self.known: dict[str, float] = {}
        self._configs: dict[str, ConfigEntity] = {}
        self._builder = Builder(task)

    def best(self) -> float:
        """The best share of all candidates so far: the median of ``AGAIN`` measurements. Among many similar
        ones, one seems the best by luck, but not when it is measured again."""
        again: set[str] = set()
        while (name := max(self.known, key=self.known.__getitem__)) not in again:
            again.add(name)
            several = [self._kept(name, n) for n in range(AGAIN)]
            self.known[name] = statistics.median(several)
        return self.known[name]

    def of_end(self, search: Progress) -> float:
        """The best share among the best candidates of ``search``, which it would compare at the end."""
        return max(self(record.config) for record in search.leaders)

    def curve(self, records: Sequence[Record]) -> list[float]:
        """For each of the ``records`` of a search, the share of the best candidate so far by the search's own
        times; 0 while there is none.

        The share is measured again, because those times favour lucky candidates: among many similar ones, one
        seems the fastest.
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
        """The share of a configuration, as first measured for its code with this number ``turn``."""
        config = self._configs[name]
        candidate = self._builder.built(config)
        assert isinstance(candidate, Candidate)  # a search has measured it
        return self.kept.share(candidate, turn, lambda: self._measured(config))

    def _measured(self, config: ConfigEntity) -> float:
        schedule, args = self.task.instantiate(config)
        function = tvmlite.build(schedule, args, "native")
        generator = np.random.default_rng(0)
        shapes: list[tuple[Any, ...]] = [p.shape for p in function.signature.arrays]
        arrays = copies_in_one_block([generator.uniform(-1, 1, shape).astype(np.float32) for shape in shapes])

        def seconds(**options: int) -> timing.Timing:  # as in searches: without the checks of a call
            return function.time(*arrays, clock=time.process_time, **options)

        peak, number = peaks.multiply_add("float32"), max(1, round(TURN / seconds(repeat=3).median))
        rates, shares = [peak()], []
        for _ in range(TURNS):
            taken = seconds(number=number, repeat=1).median
            rates.append(peak())
            shares.append(self.task.flop / taken / max(rates[-2:]))
        return float(np.quantile(shares, UPPER))
