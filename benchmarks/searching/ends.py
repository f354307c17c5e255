"""Time the results of searches against the machine's peak."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from kernels import peaks

import tvmlite
from searching.remembered import CachingRunner
from tvmlite.autotune.measure import Candidate
from tvmlite.autotune.measure.build import Builder
from tvmlite.autotune.measure.cold import copies_in_one_block
from tvmlite.autotune.records.records import Record
from tvmlite.autotune.search.progress import Progress
from tvmlite.runtime import timing
from tvmlite.te.space import ConfigEntity, Task

MEASUREMENTS = 120
"""The number of interleaved measurements of a candidate and of the peak's loop."""

MEASUREMENT_SECONDS = 1e-3
"""The approximate seconds of one measurement."""

QUANTILE = 0.75
"""The quantile of the shares that is used as the result. The clock changes within milliseconds and affects
both, so a measurement is compared with the faster of the peak's before and after it. Programs that share the
core slow down loads, but not a loop of only multiply-adds, so an upper quantile is used."""

REPEATS = 5
"""The number of measurements of a candidate that seems to be the best."""


class Shares:
    """The fraction of the peak of multiply-adds that candidates of a task reach. Candidate and peak run
    interleaved on one thread, so that the clock and other programs have no influence. Each is measured once;
    ``runner`` stores the results."""

    def __init__(self, task: Task, runner: CachingRunner) -> None:
        self.task, self.runner = task, runner
        self.known: dict[str, float] = {}
        self._configs: dict[str, ConfigEntity] = {}
        self._builder = Builder(task)

    def best(self) -> float:
        """The best share of all candidates so far: the median of ``REPEATS`` measurements. Among many similar
        ones, one seems the best by luck, but not when it is measured again."""
        remeasured: set[str] = set()
        while (name := max(self.known, key=self.known.__getitem__)) not in remeasured:
            remeasured.add(name)
            several = [self._share(name, n) for n in range(REPEATS)]
            self.known[name] = statistics.median(several)
        return self.known[name]

    def of_result(self, search: Progress) -> float:
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
            self.known[name] = self._share(name, 0)
        return self.known[name]

    def _share(self, name: str, repeat: int) -> float:
        """The share of a configuration, as first measured for its code with this number ``repeat``."""
        config = self._configs[name]
        candidate = self._builder.built(config)
        assert isinstance(candidate, Candidate)  # a search has measured it
        return self.runner.share(candidate, repeat, lambda: self._measured(config))

    def _measured(self, config: ConfigEntity) -> float:
        schedule, args = self.task.instantiate(config)
        function = tvmlite.build(schedule, args, "native")
        generator = np.random.default_rng(0)
        shapes: list[tuple[Any, ...]] = [p.shape for p in function.signature.arrays]
        arrays = copies_in_one_block([generator.uniform(-1, 1, shape).astype(np.float32) for shape in shapes])

        def seconds(**options: int) -> timing.Timing:  # as in searches: without the checks of a call
            return function.time(*arrays, clock=time.process_time, **options)

        peak, number = (
            peaks.multiply_add("float32"),
            max(1, round(MEASUREMENT_SECONDS / seconds(repeat=3).median)),
        )
        rates, shares = [peak()], []
        for _ in range(MEASUREMENTS):
            taken = seconds(number=number, repeat=1).median
            rates.append(peak())
            shares.append(self.task.flop / taken / max(rates[-2:]))
        return float(np.quantile(shares, QUANTILE))
