"""``tvm.contrib.pickle_memoize``: results of functions, kept for the life of a program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvmlite.tvm.absent import refusing


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps the results of a function by its arguments; those of arguments that have no hash are computed
    each time. ``key``, the name of TVM's file of results, and ``save_at_exit`` are of no account: nothing is
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
