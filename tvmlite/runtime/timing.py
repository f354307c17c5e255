"""How long a call takes: a median, how sure of it we are, and whether the machine was quiet."""

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
"""Tells seconds since some time."""

Until: TypeAlias = Callable[[Sequence[float], float], bool]
"""Whether runs suffice: the seconds of a call in each so far, and the seconds spent on them."""

_SHORTEST = 2e-4
"""Seconds a run must last for the clock and the loop around the call not to matter."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one call.

    ``interval`` holds the true median with 95% confidence, if runs are independent. ``runs`` are the
    measured times, each the mean of ``number`` calls. ``busy`` is the share of the machine's processors
    that other processes used meanwhile: 0 on a quiet machine, NaN where that is not known.
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
    """Time ``call``: ``repeat`` runs of ``number`` calls each, after a warm-up if that is wanted.

    Without ``number``, so many that a run lasts 0.2 ms; without ``repeat``, as many runs as fit in
    ``budget`` seconds, at least 3 and at most 1000, or fewer that are enough by ``until``. ``clock`` gives
    seconds: by ``time.thread_time``, what runs on one thread is timed without what other processes take of
    its processor.
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
    """So many calls as last long enough, and the seconds of one in the run that showed it."""
    number = 1
    while (seconds := _run(call, number, clock)) * number < _SHORTEST:
        number = max(number + 1, min(number * 10, round(_SHORTEST / max(seconds, 1e-9) * 1.1)))
    return number, seconds


def median(ordered: Sequence[float]) -> float:
    """The middle of ``ordered``, which ascends and is not empty."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Order statistics around the median that hold it with 95% confidence."""
    count = len(ordered)
    reach = 0.98 * count**0.5
    low = max(int(count / 2 - reach), 0)
    high = min(int(count / 2 + reach) + 1, count - 1)
    return ordered[low], ordered[high]


class Others:
    """What other processes use of the machine from now on: none of this one's threads, but its children."""

    def __init__(self) -> None:
        self._start, self._used = time.perf_counter(), _others_seconds()

    @property
    def share(self) -> float:
        """The part of the machine's processors that they have used, until now; NaN where that is not
        known."""
        used = _others_seconds() - self._used
        passed = time.perf_counter() - self._start
        share = used / (passed * (os.cpu_count() or 1))
        return share if math.isnan(share) else max(share, 0.0)


def _others_seconds() -> float:
    """Processor seconds used so far by all other processes, and stolen from a virtual machine."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    except (OSError, ValueError):
        return float("nan")
    used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return used - time.process_time()
