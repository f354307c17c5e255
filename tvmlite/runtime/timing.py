"""Measurement of the time of a call: a median, its confidence interval, and the load of the machine."""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvmlite.core import arguments
from tvmlite.core.errors import InputError

Clock: TypeAlias = Callable[[], float]
"""A function that returns seconds since a fixed time."""

Until: TypeAlias = Callable[[Sequence[float], float], bool]
"""A function of the seconds per call in each run, and the seconds spent, that says whether these suffice."""

_SHORTEST = 2e-4
"""The least seconds of a run for which the clock and the loop around the call are negligible."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one call.

    ``interval`` contains the true median with 95% confidence, if runs are independent. ``runs`` are the
    measured times, each the mean of ``number`` calls. ``busy`` is the share of the machine's processors
    that other processes used during the measurement: 0 on a quiet machine, NaN if unknown.
    """

    median: float
    interval: tuple[float, float]
    runs: tuple[float, ...]
    number: int
    busy: float

    def __repr__(self) -> str:
        low, high = self.interval
        text = f"{self.median * 1e6:.2f} us [{low * 1e6:.2f}, {high * 1e6:.2f}], {len(self.runs)} runs"
        return f"{text} of {self.number}" + (f", machine {self.busy:.0%} busy" if self.busy >= 0.05 else "")


def measure(
    call: Callable[[], object],
    number: int | None = None,
    repeat: int | None = None,
    budget: float = 0.5,
    clock: Clock = time.perf_counter,
    until: Until | None = None,
    warm: bool = True,
) -> Timing:
    """Time ``call``: ``repeat`` runs of ``number`` calls each, after a warm-up call if ``warm``.

    Without ``number``, a run has as many calls as last 0.2 ms; without ``repeat``, there are as many runs as
    fit in ``budget`` seconds, at least 3 and at most 1000. ``until`` may end the measurement earlier.
    ``clock`` returns seconds: with ``time.thread_time``, the time of a single-threaded call excludes the time
    that other processes use its processor.
    """
    for name, value in (("number", number), ("repeat", repeat)):
        if value is not None:
            arguments.whole(f"time: {name}", value, InputError, least=1)
    arguments.number("time: budget", budget, InputError)
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        if warm:
            _run(call, 1, clock)
        spent, others = clock(), Others()
        number, first = (number, _run(call, number, clock)) if number else _first_run(call, clock)
        runs = [first]
        while not _enough(len(runs), repeat, elapsed := clock() - spent, budget):
            if until is not None and until(runs, elapsed):
                break
            runs.append(_run(call, number, clock))
        busy = others.share
    finally:
        if was_collecting:
            gc.enable()
    ordered = sorted(runs)
    return Timing(median(ordered), interval(ordered), tuple(runs), number, busy)


def _enough(runs: int, repeat: int | None, elapsed: float, budget: float) -> bool:
    if repeat is not None:
        return runs >= repeat
    return runs >= 1000 or (runs >= 3 and elapsed >= budget)


def _run(call: Callable[[], object], number: int, clock: Clock) -> float:
    steps = range(number)
    start = clock()
    for _ in steps:
        call()
    return (clock() - start) / number


def _first_run(call: Callable[[], object], clock: Clock) -> tuple[int, float]:
    """The number of calls of a run that is long enough, and the seconds per call in such a run."""
    number = 1
    while (seconds := _run(call, number, clock)) * number < _SHORTEST:
        number = max(number + 1, min(number * 10, round(_SHORTEST / max(seconds, 1e-9) * 1.1)))
    return number, seconds


def median(ordered: Sequence[float]) -> float:
    """The median of ``ordered``, which is sorted and not empty."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(ordered: Sequence[float]) -> tuple[float, float]:
    """The order statistics around the median that contain the true one with 95% confidence."""
    count = len(ordered)
    reach = 0.98 * count**0.5
    low = max(int(count / 2 - reach), 0)
    high = min(int(count / 2 + reach) + 1, count - 1)
    return ordered[low], ordered[high]


class Others:
    """Measures the load by other processes from its creation on, without this process's threads, but with its
    children."""

    def __init__(self) -> None:
        self._start, self._used = time.perf_counter(), _others_seconds()

    @property
    def share(self) -> float:
        """The share of the machine's processors that other processes have used so far; NaN if unknown."""
        used = _others_seconds() - self._used
        passed = time.perf_counter() - self._start
        share = used / (passed * (os.cpu_count() or 1))
        return share if math.isnan(share) else max(share, 0.0)


def _others_seconds() -> float:
    """The processor seconds used so far by all other processes or stolen from a virtual machine."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    except (OSError, ValueError):
        return float("nan")
    used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return used - time.process_time()
