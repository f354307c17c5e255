"""Interleaved timing, A B A B ..., so that changes of the machine's speed affect all programs alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""Wall-clock time, or this process's processor time, which is better on a busy machine."""

Measurement: TypeAlias = Callable[[float], list[float]]
"""A measurement of a given number of seconds; returns the seconds of each call in it."""


def measure(run: Callable[[], object], seconds: float, clock: Callable[[], float]) -> list[float]:
    """The seconds of each call of ``run`` within ``seconds`` seconds, after a call that warms up."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = clock()
        run()
        times.append(clock() - start)
    return times


def interleave(
    measurements: Mapping[str, Measurement], rounds: int, seconds: float, pause: float = 0.0
) -> dict[str, list[float]]:
    """The seconds of each call in each of ``measurements``, which last ``seconds`` each, with a ``pause``
    before each: the threads of some runtimes spin after a run."""
    times: dict[str, list[float]] = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, one in measurements.items():
            time.sleep(pause)
            times[name] += one(seconds)
    return times
