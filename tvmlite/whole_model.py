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
        return _calls(self.before, positions), _calls(self.after, positions)

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
    for lib in (before, after):
        run(lib, inputs)
    pairs: list[tuple[Profile, Profile]] = []
    end = time.monotonic() + seconds
    while len(pairs) < FEWEST or (len(pairs) < MOST and time.monotonic() < end):
        if len(pairs) % 2:
            second = run(after, inputs)
            pairs.append((run(before, inputs), second))
        else:
            first = run(before, inputs)
            pairs.append((first, run(after, inputs)))
    return Turns(tuple(one for one, _ in pairs), tuple(two for _, two in pairs))


def positions_of_tuned(lib: CompiledModule) -> dict[str, list[int]]:
    """Where the kernels that are not scheduled by default are called, by their task's text."""
    texts = {
        kernel.task.symbol: tasks.task_text(kernel.task.group)
        for kernel in lib.kernels
        if kernel.task.config is not None
    }
    found: dict[str, list[int]] = {}
    for position, symbol in enumerate(lib.signature.kernels):
        if symbol in texts:
            found.setdefault(texts[symbol], []).append(position)
    return found


def _median(profiles: Sequence[Profile]) -> float:
    return timing.median(sorted(one.nanoseconds for one in profiles)) * 1e-9


def _calls(profiles: Sequence[Profile], positions: Sequence[int]) -> list[float]:
    """Seconds of a call, never 0: a clock may be too coarse to see one."""
    sums = [sum(one.kernels[position][1] for position in positions) for one in profiles]
    return [max(total, 1) * 1e-9 / len(positions) for total in sums]
