"""Limits of a worker: of memory, before the system ends other processes; of time, if its tuner is gone."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

FREE = 0.9
"""The part of the memory that is free which a worker may take."""

LATE = 2.0
"""Seconds after its time limit at which a request ends the process; a living tuner has ended it before."""


def bound_memory() -> None:
    """Make this process fail where it asks for more than most of the memory that is free now.

    Otherwise the system would promise memory that it does not have, and end a process of its choice when that
    is written to. If memory runs short nevertheless, this process is ended first. On systems other than Linux
    nothing is bounded.
    """
    try:
        taken, free = _bytes("/proc/self/status", "VmData"), _bytes("/proc/meminfo", "MemAvailable")
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        return
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    known = [one for one in limits if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([taken + int(FREE * free), *known]), limits[1]))


@contextmanager
def bounded_time(seconds: float) -> Iterator[None]:
    """Have this process end if what is done within takes longer than ``seconds`` and some: a tuner that was
    killed cannot end it, and endless code does not notice a closed pipe."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it may have been ignored where the tuner was started
    signal.setitimer(signal.ITIMER_REAL, seconds + LATE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _bytes(path: str, name: str) -> int:
    """The value of ``name`` in the system's file at ``path``; an OSError if it is not there."""
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    raise OSError(f"{path} does not contain {name}")
