"""Times default and tuned kernels interleaved in the model itself: only those that are faster there are kept.

A kernel's time alone differs from its time among others, whose data fills the caches and whose layouts it
must read; so this measurement decides whether a record is used.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tvmlite.machine.machine import BEYOND_CACHES
from tvmlite.model import example_inputs
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.entry import tasks
from tvmlite.runtime import timing
from tvmlite.runtime.library.profile import Profile
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.visualizer import text

FEWEST_RATIOS = 6
"""The least ratios of a comparison: the range of fewer contains the median too rarely."""

MOST_ROUNDS = 3000
"""The most rounds of a comparison."""

MOST_PAIRS_WITHOUT_GAIN = {1: 0, 2: 0, 3: 0, 4: 1, 5: 4}
"""By the number of copies, the most pairs of a copy before and one after in which the latter may not be
faster: the critical values at 5% of Mann and Whitney's test (On a test of whether one of two random variables
is stochastically larger than the other, 1947) for 3 and more; with 2 chance would do it once in six times."""

Run = Callable[[CompiledModule, Sequence[np.ndarray]], Profile]
"""Run a library once and return its time and those of its kernels."""


def profiled(lib: CompiledModule, inputs: Sequence[np.ndarray]) -> Profile:
    """Run ``lib`` once on this machine, with each kernel timed.

    With one thread, the total is this thread's CPU time, which excludes what other processes take of a busy
    machine.
    """
    spent = time.thread_time_ns()
    profile = lib.profile(*inputs)
    spent = time.thread_time_ns() - spent
    return replace(profile, nanoseconds=spent) if num_threads() == 1 else profile


@dataclass(frozen=True)
class InterleavedRuns:
    """Interleaved runs of two libraries of one model: ``before`` and ``after`` have a profile of each round.

    ``copies`` are the runs of further copies of both, with weights at other addresses, in the same rounds.
    """

    before: tuple[Profile, ...]
    after: tuple[Profile, ...]
    copies: tuple[tuple[tuple[Profile, ...], tuple[Profile, ...]], ...] = ()

    @property
    def seconds(self) -> tuple[float, float]:
        """The median seconds of each."""
        return _median(self.before), _median(self.after)

    @property
    def ratio(self) -> float:
        """The time of ``after`` relative to that of ``before``, the median of all rounds."""
        return timing.median(self._ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the ratio."""
        return timing.interval(self._ratios)

    @property
    def is_better(self) -> bool:
        """Whether ``after`` is significantly faster: if there are copies, each of its copies than each of
        ``before``, except for as few pairs as are unlikely by chance. Copies of one library differ
        significantly if their time depends on the addresses of their weights."""
        return self._pairs_without_gain <= MOST_PAIRS_WITHOUT_GAIN[1 + len(self.copies)]

    @property
    def _pairs_without_gain(self) -> int:
        """The number of pairs of a copy before and a copy after whose interval does not show a gain."""
        befores, afters = zip(*self._pairs, strict=True)
        each = itertools.product(befores, afters)
        return sum(timing.interval(ratios(*pair, self._libraries))[1] >= 1 for pair in each)

    @property
    def why_not(self) -> str:
        """Why ``after`` is not taken, if it is not better."""
        if self.interval[1] >= 1:
            return why_not(self.interval)
        count = 1 + len(self.copies)
        return (
            f"each was loaded {count} times, with its weights at other addresses, and "
            f"{self._pairs_without_gain} of the {count**2} pairs do not show a gain: it may be due to the "
            "addresses of the weights"
        )

    def kernel(self, positions: Sequence[int]) -> tuple[list[float], list[float]]:
        """Return the seconds of a call of the kernels at ``positions``, by order of calls, for each round."""
        return seconds_of_call(self.before, positions), seconds_of_call(self.after, positions)

    @property
    def _pairs(self) -> list[tuple[list[int], list[int]]]:
        """The nanoseconds of all runs, before and after, of each copy."""
        pairs = [(self.before, self.after), *self.copies]
        return [(_nanoseconds(before), _nanoseconds(after)) for before, after in pairs]

    @property
    def _libraries(self) -> int:
        return 2 * (1 + len(self.copies))

    @property
    def _ratios(self) -> list[float]:
        befores, afters = zip(*self._pairs, strict=True)
        before, after = (list(map(math.prod, zip(*each, strict=True))) for each in (befores, afters))
        found = ratios(before, after, self._libraries)
        return [one ** (1 / len(befores)) for one in found]

    def __repr__(self) -> str:
        before, after = map(text.seconds, self.seconds)
        copies = f" of {1 + len(self.copies)} copies" if self.copies else ""
        gain = speedup(self.ratio, self.interval)
        return f"{before} before, {after} after: {gain}, {len(self.before)} rounds{copies}"


def speedup(ratio: float, interval: tuple[float, float]) -> str:
    """Format a ratio of times as a speedup with its 95% interval: ``1.04x [1.01, 1.07]``."""
    low, high = interval
    return f"{1 / ratio:.3f}x [{1 / high:.3f}, {1 / low:.3f}]"


def why_not(interval: tuple[float, float]) -> str:
    """Return why a ratio of times with the 95% interval ``interval`` is not taken as a gain."""
    if interval[0] > 1:
        return "it is slower there"
    return "may be chance: the interval reaches 1 or below"


def interleaved(
    before: CompiledModule,
    after: CompiledModule,
    inputs: Sequence[np.ndarray],
    seconds: float,
    run: Run = profiled,
    copies: bool = False,
) -> InterleavedRuns:
    """Run both on ``inputs`` alternately, for ``seconds``; each begins a round equally often.

    ``copies``: also run copies of both, if their weights fit into a cache; as many in all as
    ``MOST_PAIRS_WITHOUT_GAIN`` has at most, and all their runs fit into twice the time.
    """
    libs = [before, after]
    if copies and _is_warm(libs):
        once = run(before, inputs).nanoseconds * 1e-9
        fit = [n for n in MOST_PAIRS_WITHOUT_GAIN if once * fewest_runs(2 * n) <= 2 * seconds]
        libs += [lib.copy() for _ in range(1, max(fit, default=1)) for lib in (before, after)]
    runs = rounds(libs, inputs, seconds, run)
    first, *others = zip(runs[::2], runs[1::2], strict=True)
    return InterleavedRuns(*first, tuple(others))


def ratios(before: Sequence[float], after: Sequence[float], libraries: int) -> list[float]:
    """Return the ratios of times ``after`` to those ``before``, ascending, one for each ``libraries`` rounds.

    The runs of ``libraries`` libraries were interleaved, and each began one of these rounds. The first run of
    a round may differ from the others by 5% if kernels take microseconds; the geometric mean cancels this.
    """
    each = [new / max(old, 1e-12) for old, new in zip(before, after, strict=True)]
    whole = (each[first : first + libraries] for first in range(0, len(each), libraries))
    return sorted(math.prod(some) ** (1 / libraries) for some in whole)


def rounds(
    libs: Sequence[CompiledModule],
    inputs: Sequence[np.ndarray],
    seconds: float,
    run: Run = profiled,
    least: int = FEWEST_RATIOS,
) -> list[tuple[Profile, ...]]:
    """Run all ``libs`` on ``inputs`` alternately, for ``seconds``, and at least for ``least`` ratios; return
    the runs of each.

    Each round begins with another library, each equally often. A run finds in the caches what a run of the
    same library has left there, as in use, unless the weights are too large for any cache.
    """
    for lib in libs:
        run(lib, inputs)
    warm = _is_warm(libs)
    runs: list[list[Profile]] = [[] for _ in libs]
    end = time.monotonic() + seconds
    done = 0
    while done < least * len(libs) or (done < MOST_ROUNDS and time.monotonic() < end):
        for first in range(len(libs)):
            for number in (*range(first, len(libs)), *range(first)):
                if warm:
                    run(libs[number], inputs)
                runs[number].append(run(libs[number], inputs))
        done += len(libs)
    return [tuple(one) for one in runs]


def _is_warm(libs: Sequence[CompiledModule]) -> bool:
    """Whether a run may find its weights in a cache."""
    return all(lib.signature.constants < BEYOND_CACHES for lib in libs)


def fewest_runs(libraries: int) -> int:
    """Return the least number of runs that ``rounds`` makes of ``libraries`` libraries."""
    return 2 * FEWEST_RATIOS * libraries**2


def output_gap(lib: CompiledModule, reference: CompiledModule, inputs: Sequence[np.ndarray]) -> float:
    """Return the largest difference between the outputs of both, relative to the largest of each."""
    pairs = zip(_outputs(lib, inputs), _outputs(reference, inputs), strict=True)
    return max(example_inputs.relative_gap(a, b) for a, b in pairs)


def positions(lib: CompiledModule) -> dict[str, list[int]]:
    """Return the positions of kernel calls, by task text."""
    texts = {kernel.task.symbol: tasks.task_text(kernel.task.group) for kernel in lib.kernels}
    found: dict[str, list[int]] = {}
    for position, symbol in enumerate(lib.signature.kernels):
        found.setdefault(texts[symbol], []).append(position)
    return found


def positions_of_tuned(lib: CompiledModule) -> dict[str, list[int]]:
    """Return ``positions`` of the kernels that are not scheduled by default."""
    configured = {tasks.task_text(k.task.group) for k in lib.kernels if k.task.config is not None}
    return {text: places for text, places in positions(lib).items() if text in configured}


def seconds_of_call(profiles: Sequence[Profile], positions: Sequence[int]) -> list[float]:
    """Return the seconds of a call of the kernels at ``positions``, run by run, never 0."""
    sums = [sum(one.kernels[position][1] for position in positions) for one in profiles]
    return [max(total, 1) * 1e-9 / len(positions) for total in sums]


def _nanoseconds(profiles: Sequence[Profile]) -> list[int]:
    return [one.nanoseconds for one in profiles]


def _median(profiles: Sequence[Profile]) -> float:
    return timing.median(sorted(_nanoseconds(profiles))) * 1e-9


def _outputs(lib: CompiledModule, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    made = lib(*inputs)
    return [np.asarray(one) for one in (made if isinstance(made, (tuple, list)) else (made,))]
