"""The speedup by a second thread, measured by the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from kernels import clock, convolution, matmul, peaks
from kernels.case import Case
from tvmlite import runtime

CASES: dict[str, Callable[[], Case]] = {
    "matmul1024": lambda: matmul.packed(1024, parallel=True),
    "conv3x3": lambda: convolution.three_by_three(parallel=True),
}

BOTH = 1.9
"""The least speedup of two loops of only multiply-adds if the two processors are two cores."""

PATIENCE = 10.0
"""Seconds to wait for this speedup: hosts of virtual machines ran both processors on one core for about a
second after one of them had been idle."""


def measure(make: Callable[[], Case], effort: clock.Effort) -> tuple[float, str]:
    """The speedup of two threads over one, once the two processors are found to be two cores."""
    case = make()
    ready = case.prepare(case.build())

    def on(threads: int) -> Callable[[], None]:
        def call() -> None:
            runtime.set_num_threads(threads)
            ready()

        return call

    deadline = time.monotonic() + PATIENCE
    while (cores := peaks.cores()) < BOTH and time.monotonic() < deadline:
        pass
    one, two = clock.interleaved({"1": on(1), "2": on(2)}, effort, wall=True).values()
    runtime.set_num_threads(1)
    words = (
        f"1 thread {one * 1e6:.0f} us, 2 threads {two * 1e6:.0f} us; nothing but multiply-adds {cores:.2f}x"
    )
    return one / two, f"{words}; schedule of {case.lines} lines"
