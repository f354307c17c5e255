"""What a second thread gains, by the wall clock."""

from __future__ import annotations

from collections.abc import Callable

from kernels import clock, convolution, matmul
from kernels.case import Case
from tvmlite import runtime

CASES: dict[str, Callable[[], Case]] = {
    "matmul1024": lambda: matmul.packed(1024, parallel=True),
    "conv3x3": lambda: convolution.three_by_three(parallel=True),
}


def measure(make: Callable[[], Case], effort: clock.Effort) -> tuple[float, str]:
    """How much faster two threads are than one."""
    case = make()
    ready = case.prepare(case.build())

    def on(threads: int) -> Callable[[], None]:
        def call() -> None:
            runtime.set_num_threads(threads)
            ready()

        return call

    one, two = clock.interleaved({"1": on(1), "2": on(2)}, effort, wall=True).values()
    runtime.set_num_threads(1)
    words = f"1 thread {one * 1e6:.0f} us, 2 threads {two * 1e6:.0f} us"
    return one / two, f"{words}; schedule of {case.lines} lines"
