"""Work divided among processes, on systems that can fork.

Compiling a kernel is Python's work as much as LLVM's, so threads would wait for Python's lock. A process that
was forked sees all that its parent has: nothing is sent but the number of what to do next.
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

ENOUGH = 6
"""Pieces of work that are worth a process."""

MOST = 16
"""Processes at once: what each writes is memory of its own."""

_NUMBER = struct.Struct("=q")


@contextlib.contextmanager
def divided_among_processes(
    numbers: Sequence[int], work: Callable[[int], object], alone: AbstractContextManager[object]
) -> Iterator[Iterator[int]]:
    """Gives those of ``numbers`` that the caller is to do itself, while forked processes do ``work`` for the
    others; they have ended when the context is left. They are forked inside ``alone``, where no other thread
    holds a lock that ``work`` takes: in a child it would never be released.

    What ``work`` gives or raises is lost with its process, warnings are raised in it, and it may be killed:
    whoever needs the result sees whether it is there, and else does it again. All numbers are the caller's
    where there are few, or one processor, or no Linux: elsewhere system libraries do not bear forking.
    """
    processes = min(processors(), len(numbers) // ENOUGH, MOST)
    if processes < 2 or sys.platform != "linux":
        yield iter(numbers)
        return
    queue = os.memfd_create("tvmlite")  # its position is one for all processes
    children: list[int] = []
    try:
        os.write(queue, b"".join(map(_NUMBER.pack, numbers)))
        os.lseek(queue, 0, os.SEEK_SET)
        with alone, _without_interrupts():
            while len(children) < processes - 1 and (child := _forked()):
                children.append(child)
            if len(children) < processes - 1:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and ends this
        if len(children) < processes - 1:
            _in_child(queue, work)
        yield _taken(queue)
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(queue)
        for child in children:
            with contextlib.suppress(ChildProcessError):  # a program may have all its children waited for
                os.waitpid(child, 0)


def _taken(queue: int) -> Iterator[int]:
    """The numbers in ``queue`` that no other process takes."""
    import fcntl  # not on every system

    while True:
        fcntl.lockf(queue, fcntl.LOCK_EX)  # Linux serializes reads of files with a path only
        number = os.read(queue, _NUMBER.size)
        fcntl.lockf(queue, fcntl.LOCK_UN)
        if not number:
            return
        yield _NUMBER.unpack(number)[0]


def _forked() -> int:
    """The number of a new process; 0 in that process."""
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold: the caller has those that matter.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits: raised in a child that is not ready for it, it would run on in the caller's program."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_child(queue: int, work: Callable[[int], object]) -> Never:
    """Do ``work`` for numbers of ``queue``, then end."""
    try:
        warnings.simplefilter("error")
        for category in (DeprecationWarning, ResourceWarning):  # which no user is shown
            warnings.simplefilter("ignore", category)
        for number in _taken(queue):
            with contextlib.suppress(Exception):  # the parent will see that it is missing
                work(number)
    finally:
        os._exit(0)
