"""Small helpers that AutoTVM's programs import."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.te.expr import Const
from tvmlite.tvm.absent import refusing

SI_PREFIXES = "yzafpn\xb5m kMGTPEZY"
"""The SI prefixes for powers of 1000, from 1e-24 to 1e24."""

_NONE = SI_PREFIXES.index(" ")


class EmptyContext:
    """A context that does nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def get_rank(values: Any) -> np.ndarray:
    """Return the rank of each of ``values``, 1 for the largest; equal values rank in their order."""
    order = np.argsort(-np.asarray(values), kind="stable")
    ranks = np.empty(len(order), int)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def sample_ints(low: int, high: int, m: int) -> list[int]:
    """Return ``m`` different random integers in ``[low, high)``; all of them if there are fewer."""
    generator = np.random.default_rng()
    return (low + generator.choice(high - low, min(m, high - low), replace=False)).astype(int).tolist()


def get_const_int(exp: Any) -> int:
    """Return a constant expression or a number as an int; an InputError if it is not constant."""
    value = exp.value if isinstance(exp, Const) else exp
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"get_const_int: {exp} given, expected a constant")
    return int(value)


def get_const_tuple(in_tuple: Any) -> tuple[Any, ...]:
    """Return a shape with its constants as ints; extents that are not known stay expressions."""
    return tuple(get_const_int(one) if isinstance(one, (Const, int, np.integer)) else one for one in in_tuple)


def get_func_name(func: Any) -> str:
    """Return the name of a function."""
    return func.func_name if hasattr(func, "func_name") else func.__qualname__


def format_si_prefix(x: float, si_prefix: str) -> float:
    """Return ``x`` in units of ``si_prefix``, so ``format_si_prefix(2e9, "G")`` is 2; an InputError if
    unknown."""
    if si_prefix not in tuple(SI_PREFIXES):
        raise InputError(f"si_prefix is {si_prefix!r}, expected one of {', '.join(map(repr, SI_PREFIXES))}")
    return x * 10.0 ** (-3 * (SI_PREFIXES.index(si_prefix) - _NONE))


__getattr__ = refusing(__name__)
