"""The number of threads of compiled code: one number for every thread pool in the process."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from tvmlite.core import arguments, config
from tvmlite.core.errors import ConfigError
from tvmlite.machine.cores import processors

MOST = 1024
"""The most threads of a pool."""


class RunsCode(Protocol):
    """An object that runs compiled code with scratch memory for a number of threads."""

    def runs_for_fewer(self, threads: int) -> bool:
        """Whether a call is running whose scratch memory is for fewer than ``threads`` threads."""
        ...


_lock = threading.Lock()
_wanted: int | None = None
_setters: dict[object, Callable[[int], object]] = {}
_runners: weakref.WeakSet[RunsCode] = weakref.WeakSet()


def num_threads() -> int:
    """The number of threads of a parallel loop, including the caller."""
    global _wanted
    if _wanted is None:
        _wanted = min(config.num_threads() or processors(), MOST)
    return _wanted


def set_num_threads(threads: int) -> None:
    """Let parallel loops use ``threads`` threads, starting with the next call of a compiled function.

    A larger number takes effect when running calls in other threads have returned; this waits for them.
    """
    global _wanted
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST:
        raise ConfigError(
            f"set_num_threads: {arguments.shown(threads)} threads, expected a number from 1 to {MOST}"
        )
    with _lock:
        if threads < num_threads():  # first the pools, then the scratch memory
            _set_pools(threads)
        _wanted = threads  # new calls have scratch memory for this number
        while any(runner.runs_for_fewer(threads) for runner in list(_runners)):
            time.sleep(0.0005)
        _set_pools(threads)


def _set_pools(threads: int) -> None:
    for setter in _setters.values():
        setter(threads)


def register_pool(key: object, setter: Callable[[int], object]) -> None:
    """Call ``setter``, a pool's ``tvmlite_set_num_threads``, now and at each change.

    ``key`` identifies the pool: a second registration with the same key replaces the first.
    """
    with _lock:
        _setters[key] = setter
        setter(num_threads())


def register_runner(runner: RunsCode) -> None:
    """Let ``set_num_threads`` wait for calls of ``runner`` before the number grows; it is held weakly."""
    _runners.add(runner)
