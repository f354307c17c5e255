"""Default and tuned kernels timed in turns in the model itself: only what is quicker there stays.

What a kernel takes by itself is not what it takes among others, whose data fills the caches and whose layouts
it must read; so the last word on a record is spoken here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tvmlite.artifact import CompiledModule
from tvmlite.relay import tasks
from tvmlite.runtime import timing
from tvmlite.runtime.profile import Profile
from tvmlite.runtime.threads import num_threads

FEWEST, MOST = 7, 300
"""Turns of a comparison."""

CACHES = 64 << 20
"""Bytes of weights that no cache holds."""

Run = Callable[[CompiledModule, Sequence[np.ndarray]], Profile]
"""Runs a library once and says how long it and its kernels took."""


def profiled(lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
    """One run of ``lib`` on this machine, its kernels timed one by one.

    On one thread the whole is this thread's own time: what other processes take of a busy machine is not the
    model's.
    """
    spent = time.thread_time_ns()
    profile = lib.profile(*inputs)
    spent = time.thread_time_ns() - spent
    return replace(profile, nanoseconds=spent) if num_threads() == 1 else profile


@dataclass(frozen=True)
class Turns:
    """Two libraries of one model, run in turns: ``before`` and ``after`` have a profile of each turn."""

    before: tuple[Profile, ...]
    after: tuple[Profile, ...]

    @property
    def seconds(self) -> tuple[float, float]:
        """The median of each."""
        return _median(self.before), _median(self.after)

    @property
    def ratio(self) -> float:
        """The time of ``after`` as a part of that of ``before``, in the middle of all turns."""
        return timing.median(self._ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the ratio is, with 95% confidence."""
        return timing.interval(self._ratios)

    @property
    def is_better(self) -> bool:
        """Whether ``after`` is quicker beyond doubt."""
        return self.interval[1] < 1

    def kernel(self, positions: Sequence[int]) -> tuple[list[float], list[float]]:
        """Seconds of a call of the kernels at ``positions`` in the order of calls, turn by turn."""
        return seconds_of_call(self.before, positions), seconds_of_call(self.after, positions)

    @property
    def _ratios(self) -> list[float]:
        pairs = zip(self.before, self.after, strict=True)
        return sorted(new.nanoseconds / max(old.nanoseconds, 1) for old, new in pairs)

    def __str__(self) -> str:
        before, after = self.seconds
        low, high = self.interval
        return (
            f"{before * 1e3:.3f} ms before, {after * 1e3:.3f} ms after: {1 / self.ratio:.3f}x "
            f"[{1 / high:.3f}, {1 / low:.3f}], {len(self.before)} turns"
        )


def in_turns(
    before: CompiledModule,
    after: CompiledModule,
    inputs: Sequence[np.ndarray],
    seconds: float,
    run: Run = profiled,
) -> Turns:
    """Run both on ``inputs`` in turns, for ``seconds``; each is the first of a turn as often as the other."""
    one, two = rounds([before, after], inputs, seconds, run)
    return Turns(one, two)


def rounds(
    libs: Sequence[CompiledModule], inputs: Sequence[np.ndarray], seconds: float, run: Run = profiled
) -> list[tuple[Profile, ...]]:
    """Run all ``libs`` on ``inputs`` in turns, for ``seconds``; the runs of each. Each turn another begins.

    A run finds in the caches what one of the same library has left there, as it does where a model is used,
    unless the weights are too large for any cache.
    """
    for lib in libs:
        run(lib, inputs)
    warm = all(lib.signature.constants < CACHES for lib in libs)
    runs: list[list[Profile]] = [[] for _ in libs]
    end = time.monotonic() + seconds
    turn = 0
    while turn < FEWEST or (turn < MOST and time.monotonic() < end):
        for place in range(len(libs)):
            number = (place + turn) % len(libs)
            if warm:
                run(libs[number], inputs)
            runs[number].append(run(libs[number], inputs))
        turn += 1
    return [tuple(one) for one in runs]


def positions(lib: CompiledModule) -> dict[str, list[int]]:
    """Where kernels are called, by their task's text."""
    texts = {kernel.task.symbol: tasks.task_text(kernel.task.group) for kernel in lib.kernels}
    found: dict[str, list[int]] = {}
    for position, symbol in enumerate(lib.signature.kernels):
        found.setdefault(texts[symbol], []).append(position)
    return found


def positions_of_tuned(lib: CompiledModule) -> dict[str, list[int]]:
    """``positions`` of the kernels that are not scheduled by default."""
    configured = {tasks.task_text(k.task.group) for k in lib.kernels if k.task.config is not None}
    return {text: places for text, places in positions(lib).items() if text in configured}


def seconds_of_call(profiles: Sequence[Profile], positions: Sequence[int]) -> list[float]:
    """Seconds of a call of the kernels at ``positions``, run by run; never 0: a clock may be too coarse."""
    sums = [sum(one.kernels[position][1] for position in positions) for one in profiles]
    return [max(total, 1) * 1e-9 / len(positions) for total in sums]


def _median(profiles: Sequence[Profile]) -> float:
    return timing.median(sorted(one.nanoseconds for one in profiles)) * 1e-9
