"""Rates measured beside each other: turn by turn, so that the clock and the neighbours are the same for all.

One thread's work is measured in processor time, in which other processes on the same core do not count (what
they evict from the caches does); several threads' by the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Call = Callable[[], object]

PAUSE = 0.05
"""Seconds until the threads of a runtime that has been called do not spin any more."""


@dataclass(frozen=True)
class Effort:
    """``groups`` groups of ``rounds`` turns of ``seconds`` each; a group gives its median.

    Groups lie ``apart`` seconds: whoever shares a core of a virtual machine with it does so for a second or
    two, in which loops of nothing but multiply-adds keep their pace and those that load as well lose a third.
    """

    groups: int = 8
    rounds: int = 9
    seconds: float = 3e-3
    apart: float = 0.25


QUICK = Effort(2, 5, 1e-3, 0.0)


def seconds_of(call: Call, number: int, wall: bool = False) -> float:
    """Seconds a call takes, the mean of ``number``."""
    clock = time.perf_counter if wall else time.process_time
    start = clock()
    for _ in range(number):
        call()
    return (clock() - start) / number


def calls_for(call: Call, seconds: float) -> int:
    """How many calls last about ``seconds``, after a warm-up."""
    call()
    return max(1, round(seconds / max(seconds_of(call, 1), 1e-7)))


@dataclass(frozen=True)
class Share:
    """A kernel's rate by the peak's, the best group's median of each; ``lowest`` is the worst group's.

    ``seconds`` are those of a call, ``peak`` is in operations or bytes a second.
    """

    ratio: float
    lowest: float
    seconds: float
    peak: float


def share_of_peak(call: Call, work: float, peak: Callable[[], float], effort: Effort) -> Share:
    """The rate of ``call``, which does ``work``, by the rate that ``peak`` measures in turns with it."""
    number = calls_for(call, effort.seconds)
    peaks, taken = [], []
    for _ in range(effort.groups):
        time.sleep(effort.apart)
        group = [], []
        for _ in range(effort.rounds):
            group[0].append(peak())
            call()  # what the peak's loop evicted comes back
            group[1].append(seconds_of(call, number))
        peaks.append(statistics.median(group[0]))
        taken.append(statistics.median(group[1]))
    ratios = [work / seconds / rate for seconds, rate in zip(taken, peaks, strict=True)]
    return Share(work / min(taken) / max(peaks), min(ratios), min(taken), max(peaks))


def interleaved(
    calls: Mapping[str, Call], effort: Effort, wall: bool = False, pause: float = 0.0
) -> dict[str, float]:
    """Seconds of each call, in turns; of each the best group's median.

    ``pause`` seconds lie between them where threads may spin on after a call; then there is a warm-up.
    """
    numbers = {name: calls_for(call, effort.seconds) for name, call in calls.items()}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(effort.groups):
        time.sleep(effort.apart)
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(effort.rounds):
            for name, call in calls.items():
                if pause:
                    time.sleep(pause)
                    seconds_of(call, numbers[name])  # caches and clock as they are at work
                call()
                taken[name].append(seconds_of(call, numbers[name], wall))
        for name, values in taken.items():
            found[name].append(statistics.median(values))
    return {name: min(values) for name, values in found.items()}
