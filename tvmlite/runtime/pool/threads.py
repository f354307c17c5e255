"""How many threads compiled code uses: one number for every thread pool in the process."""

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
"""A pool has no more threads than this."""


class RunsCode(Protocol):
    """What runs compiled code with scratch memory for a number of threads."""

    def runs_for_fewer(self, threads: int) -> bool:
        """Whether a call is under way whose scratch memory is for fewer than ``threads``."""
        ...


_lock = threading.Lock()
_wanted: int | None = None
_setters: dict[object, Callable[[int], object]] = {}
_runners: weakref.WeakSet[RunsCode] = weakref.WeakSet()


def num_threads() -> int:
    """The number of threads of a parallel loop, the caller's among them."""
    global _wanted
    if _wanted is None:
        _wanted = min(config.num_threads() or processors(), MOST)
    return _wanted


def set_num_threads(threads: int) -> None:
    """Have parallel loops use ``threads`` threads, from the next call of a compiled function on.

    A larger number takes effect once the calls under way in other threads are done: this waits for them.
    """
    global _wanted
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST:
        raise ConfigError(
            f"set_num_threads: {arguments.shown(threads)} threads, expected a number from 1 to {MOST}"
        )
    with _lock:
        if threads < num_threads():  # first the pools, then the scratch memory
            _set_pools(threads)
        _wanted = threads  # calls that begin now bring scratch memory for so many
        while any(runner.runs_for_fewer(threads) for runner in list(_runners)):
            time.sleep(0.0005)
        _set_pools(threads)


def _set_pools(threads: int) -> None:
    for setter in _setters.values():
        setter(threads)


def register_pool(key: object, setter: Callable[[int], object]) -> None:
    """Have ``setter``, a pool's ``tvmlite_set_num_threads``, called now and at each change.

    ``key`` is the pool's own: a second registration under it takes the first one's place.
    """
    with _lock:
        _setters[key] = setter
        setter(num_threads())


def register_runner(runner: RunsCode) -> None:
    """Have ``runner`` asked before the number of threads grows; it is held weakly."""
    _runners.add(runner)
