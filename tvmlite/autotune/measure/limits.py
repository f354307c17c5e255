"""What a worker may take of the machine: memory, before the system ends others; time, if nobody ends it."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

FREE = 0.9
"""The part of the memory that is free which a worker may take."""

LATE = 2.0
"""Seconds after its time that a request ends with the process: a tuner that lives has ended both before."""


def bound_memory() -> None:
    """Have this process fail where it asks for more memory than is free now, but for some.

    Without that it would get what there is not, and when that is written to the system ends a process of its
    choice. Where all runs short nevertheless, this is the one to end. Elsewhere than on Linux nothing is
    bounded.
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
    killed ends nobody, and endless code sees no pipe close."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # who started the tuner may have had it ignored
    signal.setitimer(signal.ITIMER_REAL, seconds + LATE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _bytes(path: str, name: str) -> int:
    """What the file at ``path`` of the system tells of ``name``; an OSError if it tells nothing."""
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    raise OSError(f"{path} does not contain {name}")
