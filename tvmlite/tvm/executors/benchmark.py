"""Time measurements, as TVM's executors and functions return them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.runtime.timing import measure


class BenchmarkResult:
    """The seconds of one call: ``results`` has one number per run, and there are statistics of them."""

    def __init__(self, results: Sequence[float]) -> None:
        self.results = tuple(results)
        self.mean = float(np.mean(self.results))
        self.median = float(np.median(self.results))
        self.std = float(np.std(self.results))
        self.min, self.max = min(self.results), max(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = "".join(f"{f'{name} (ms)':^14}" for name in names)
        row = "".join(f"{getattr(self, name) * 1e3:^14.4f}" for name in names)
        return f"Execution time summary:\n{head}\n{row}"

    __repr__ = __str__


Runs = Callable[[int, int], Sequence[float]]
"""``runs(number, repeat)`` returns the seconds per call in each of ``repeat`` runs of ``number`` calls."""


def timed(
    runs: Runs,
    number: int,
    repeat: int,
    min_repeat_ms: float | None,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
) -> BenchmarkResult:
    """Measure ``repeat`` runs of ``number`` calls each, or of as many as fill ``min_repeat_ms``. After every
    ``repeats_to_cooldown`` runs there is a pause of ``cooldown_interval_ms``, to let the processor cool."""
    number = arguments.whole("number", number, InputError, least=1)
    repeat = arguments.whole("repeat", repeat, InputError, least=1)
    if min_repeat_ms:
        arguments.number("min_repeat_ms", min_repeat_ms, InputError)
        once = runs(number, 1)[0]
        number = max(number, math.ceil(min_repeat_ms * 1e-3 / max(once, 1e-9)))
    if not cooldown_interval_ms:
        return BenchmarkResult(runs(number, repeat))
    pause = arguments.number("cooldown_interval_ms", cooldown_interval_ms, InputError) * 1e-3
    every = arguments.whole("repeats_to_cooldown", repeats_to_cooldown, InputError, least=1)
    found: list[float] = []
    for start in range(0, repeat, every):
        found += runs(number, min(every, repeat - start))
        time.sleep(pause)
    return BenchmarkResult(found)


def of_call(call: Callable[[], Any]) -> Runs:
    """Return ``Runs`` of the function ``call``."""
    return lambda number, repeat: measure(call, number, repeat).runs
