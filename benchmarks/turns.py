"""Timing in turns, A B A B ..., so that what happens to the machine happens to all that is compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""The time that passes, or that this process has taken of its processors: for a busy machine."""

Turn: TypeAlias = Callable[[float], list[float]]
"""A turn that lasts so many seconds; gives the seconds of each call in it."""


def turn(run: Callable[[], object], seconds: float, clock: Callable[[], float]) -> list[float]:
    """The seconds of each call of ``run`` in a turn that lasts so long, after a call that warms up."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = clock()
        run()
        times.append(clock() - start)
    return times


def in_turns(
    turns: Mapping[str, Turn], rounds: int, seconds: float, pause: float = 0.0
) -> dict[str, list[float]]:
    """The seconds of each call of each of ``turns``, which last so many ``seconds``, with a ``pause`` before
    each: the threads of some runtimes spin on after a run."""
    times: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name, one in turns.items():
            time.sleep(pause)
            times[name] += one(seconds)
    return times
