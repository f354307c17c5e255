"""Scratch memory for compiled functions: kept between calls, one block for each running call."""

from __future__ import annotations

from typing import Any

import cffi
import numpy as np

from tvmlite.core.errors import ExecutionError
from tvmlite.runtime.pool.threads import num_threads, register_runner
from tvmlite.runtime.tensor import empty_array

_ffi: Any = cffi.FFI()
_BYTES = np.dtype(np.uint8)


class Scratch:
    """One block of memory, aligned to 64 bytes, for a call with ``threads`` threads (0: not known yet)."""

    __slots__ = ("address", "size", "threads")

    def __init__(self) -> None:
        self.address: Any = _ffi.NULL
        self.size = 0
        self.threads = 0

    def grow(self, size: int, function: str) -> None:
        """Allocate a larger block if this one has fewer than ``size`` bytes."""
        if size > self.size:
            try:
                self.address = _ffi.from_buffer(empty_array((size,), _BYTES))
            except (MemoryError, ValueError) as error:
                raise ExecutionError(f"{function}: no memory for a workspace of {size:,} bytes") from error
            self.size = size


class ScratchPool:
    """The blocks of one function: free ones, and those in use.

    Lists grow and shrink atomically, so that calls in several threads need no lock. A call that needs the
    same memory for any number of threads may take a block from ``free``, or make one, and put it there.
    """

    def __init__(self) -> None:
        self.free: list[Scratch] = []
        self._used: list[Scratch] = []
        register_runner(self)

    def take(self) -> Scratch:
        """A block for one call, with ``threads`` set; it must be returned with ``put``."""
        try:
            scratch = self.free.pop()
        except IndexError:
            scratch = Scratch()
        scratch.threads = 0
        self._used.append(scratch)  # before the number is read: see threads.set_num_threads
        scratch.threads = num_threads()
        return scratch

    def put(self, scratch: Scratch) -> None:
        """Return the block of a finished call, which is kept for the next call."""
        self._used.remove(scratch)
        self.free.append(scratch)

    def runs_for_fewer(self, threads: int) -> bool:
        """Whether a call is running whose memory is for fewer than ``threads`` threads."""
        return any(scratch.threads < threads for scratch in list(self._used))
