"""Rates measured in interleaved runs, so that clock changes and other programs affect all of them alike.

The work of one thread is measured in processor time, which other processes on the same core do not increase
(except by evicting data from the caches); that of several threads by the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Call = Callable[[], object]

PAUSE = 0.05
"""Seconds after a call until the threads of a runtime no longer spin."""


@dataclass(frozen=True)
class Effort:
    """``groups`` groups of ``rounds`` measurements of ``seconds`` each; the result of a group is its median.

    Groups are ``group_pause`` seconds apart: another virtual machine may share the core for a second or two.
    In this time loops of only multiply-adds keep their speed, and those with loads lose a third.
    """

    groups: int = 8
    rounds: int = 9
    seconds: float = 3e-3
    group_pause: float = 0.25


QUICK = Effort(2, 5, 1e-3, 0.0)


def seconds_of(call: Call, number: int, wall: bool = False) -> float:
    """The mean seconds of ``number`` calls."""
    clock = time.perf_counter if wall else time.process_time
    start = clock()
    for _ in range(number):
        call()
    return (clock() - start) / number


def calls_for(call: Call, seconds: float) -> int:
    """The number of calls that take about ``seconds``, after a warm-up."""
    call()
    return max(1, round(seconds / max(seconds_of(call, 1), 1e-7)))


@dataclass(frozen=True)
class Share:
    """A kernel's rate relative to the peak, from the best group's median of each; ``lowest`` is the worst
    group's.

    ``seconds`` is the time of a call, ``peak`` is in operations or bytes per second.
    """

    ratio: float
    lowest: float
    seconds: float
    peak: float


def share_of_peak(call: Call, work: float, peak: Callable[[], float], effort: Effort) -> Share:
    """The rate of ``call``, which does ``work``, relative to the rate of ``peak``, in interleaved runs."""
    number = calls_for(call, effort.seconds)
    peaks, taken = [], []
    for _ in range(effort.groups):
        time.sleep(effort.group_pause)
        group = [], []
        for _ in range(effort.rounds):
            group[0].append(peak())
            call()  # reloads the data that the peak's loop has evicted
            group[1].append(seconds_of(call, number))
        peaks.append(statistics.median(group[0]))
        taken.append(statistics.median(group[1]))
    ratios = [work / seconds / rate for seconds, rate in zip(taken, peaks, strict=True)]
    return Share(work / min(taken) / max(peaks), min(ratios), min(taken), max(peaks))


def interleaved(
    calls: Mapping[str, Call], effort: Effort, wall: bool = False, pause: float = 0.0
) -> dict[str, float]:
    """The seconds of each call in interleaved runs: the median of the best group.

    ``pause`` is the number of seconds between calls, for threads that spin after a call; a warm-up follows
    it.
    """
    numbers = {name: calls_for(call, effort.seconds) for name, call in calls.items()}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(effort.groups):
        time.sleep(effort.group_pause)
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(effort.rounds):
            for name, call in calls.items():
                if pause:
                    time.sleep(pause)
                    seconds_of(call, numbers[name])  # warms up caches and clock
                call()
                taken[name].append(seconds_of(call, numbers[name], wall))
        for name, values in taken.items():
            found[name].append(statistics.median(values))
    return {name: min(values) for name, values in found.items()}
