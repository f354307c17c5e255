"""Work divided among processes, on systems that can fork.

Compiling a kernel takes Python's time as much as LLVM's, so that threads would wait for Python's lock. A
forked process has all of its parent's data: only the number of the next item is communicated.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Never

from tvmlite.machine.cores import processors

FEWEST_ITEMS = 6
"""The items of work for which a process is worthwhile."""

MOST_PROCESSES = 16
"""The most processes at once: each has its own copy of the memory it writes."""

_NUMBER = struct.Struct("=q")


@contextlib.contextmanager
def divided_among_processes(
    numbers: Sequence[int], work: Callable[[int], object], exclusive: AbstractContextManager[object]
) -> Iterator[Iterator[int]]:
    """Yield those of ``numbers`` that the caller has to process, while forked processes do ``work`` for the
    others.

    The processes have ended when the context is left. They are forked inside ``exclusive``, which ensures
    that no other thread holds a lock that ``work`` takes: in a child it would never be released. Results and
    exceptions of ``work`` are lost with its process, warnings are errors in it, and it may be killed: the
    caller checks for its side effects, and otherwise repeats it. The caller gets all numbers if they are few,
    with one processor, or on a system other than Linux, whose libraries may not support forking.
    """
    processes = min(processors(), len(numbers) // FEWEST_ITEMS, MOST_PROCESSES)
    if processes < 2 or sys.platform != "linux":
        yield iter(numbers)
        return
    queue = os.memfd_create("tvmlite")  # all processes share its position
    children: list[int] = []
    try:
        os.write(queue, b"".join(map(_NUMBER.pack, numbers)))
        os.lseek(queue, 0, os.SEEK_SET)
        with exclusive, _without_interrupts():
            while len(children) < processes - 1 and (child := _fork()):
                children.append(child)
            if len(children) < processes - 1:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it, and ends this process
        if len(children) < processes - 1:
            _in_child(queue, work)
        yield _next_numbers(queue)
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(queue)
        for child in children:
            with contextlib.suppress(ChildProcessError):  # the program may have waited for all its children
                os.waitpid(child, 0)


def _next_numbers(queue: int) -> Iterator[int]:
    """The numbers in ``queue`` that no other process takes."""
    import fcntl  # not on every system

    while True:
        fcntl.lockf(queue, fcntl.LOCK_EX)  # Linux serializes reads of files with a path only
        number = os.read(queue, _NUMBER.size)
        fcntl.lockf(queue, fcntl.LOCK_UN)
        if not number:
            return
        yield _NUMBER.unpack(number)[0]


def _fork() -> int:
    """Fork, and return the number of the new process; 0 in that process."""
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold: the caller holds those that matter.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Defer Ctrl-C: in a child that is not ready for it, it would continue in the caller's program."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_child(queue: int, work: Callable[[int], object]) -> Never:
    """Do ``work`` for numbers of ``queue``, then end the process."""
    try:
        warnings.simplefilter("error")
        for category in (DeprecationWarning, ResourceWarning):  # which are not shown to users
            warnings.simplefilter("ignore", category)
        for number in _next_numbers(queue):
            with contextlib.suppress(Exception):  # the parent will notice the missing result
                work(number)
    finally:
        os._exit(0)
