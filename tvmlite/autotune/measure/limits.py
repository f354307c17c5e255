"""A worker's limits: of memory, before the system ends other processes; of time, if its tuner has ended."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SHARE_OF_FREE_MEMORY = 0.9
"""The share of the free memory that a worker may take."""

EXTRA_SECONDS = 2.0
"""Seconds after its time limit at which a request ends the process; a running tuner has ended it before."""


def bound_memory() -> None:
    """Make allocations of this process fail beyond most of the memory that is free now.

    Otherwise the system would promise memory that it does not have, and end a process of its choice when the
    memory is written to. If memory runs short nevertheless, this process is ended first. On systems other
    than Linux there is no limit.
    """
    try:
        taken, free = _bytes("/proc/self/status", "VmData"), _bytes("/proc/meminfo", "MemAvailable")
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        return
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    known = [one for one in limits if one != resource.RLIM_INFINITY]
    resource.setrlimit(
        resource.RLIMIT_DATA, (min([taken + int(SHARE_OF_FREE_MEMORY * free), *known]), limits[1])
    )


@contextmanager
def bounded_time(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer than ``seconds`` plus ``EXTRA_SECONDS``: a tuner that was
    killed cannot end it, and an endless loop does not notice a closed pipe."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it may have been ignored where the tuner was started
    signal.setitimer(signal.ITIMER_REAL, seconds + EXTRA_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _bytes(path: str, name: str) -> int:
    """The value of ``name`` in the system file at ``path``, in bytes; an OSError if it is not there."""
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    raise OSError(f"{path} does not contain {name}")
