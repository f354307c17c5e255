"""``tvm.contrib.pickle_memoize``: cache results of functions in this process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvmlite.tvm.absent import refusing


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that caches the results of a function by its arguments; calls with unhashable arguments are
    not cached. ``key``, the name of TVM's cache file, and ``save_at_exit`` have no effect: nothing is
    written."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        kept = functools.cache(function)

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            try:
                hash((args, tuple(options.values())))
            except TypeError:
                return function(*args, **options)
            return kept(*args, **options)

        return call

    return keep


__getattr__ = refusing(__name__)
