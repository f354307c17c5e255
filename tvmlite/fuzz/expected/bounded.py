"""Values with a bound on their error: what any order of operations and any contraction may give.

This arithmetic is the fuzzer's own. It shares no code with the compiler or its interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes

WIDE = np.longdouble
"""Floats of every dtype are computed in this."""

_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-149, "float64": 5e-324}
"""What rounding is off by at least: half the least number above 0, and as bfloat16 (te.expr.Cast) all below
the least normal one."""
_SLACK = 1.0 + 2.0**-6


@dataclass(frozen=True)
class Bounded:
    """Elements of ``dtype``, floats as ``WIDE``; the true ones differ by at most ``error``.

    An ``error`` of infinity says that nothing is known, NaN that the value comes from an access out of
    bounds. An ``error`` of 0 says exactly this value (but for the sign of a zero), NaN and infinities too:
    none of a bfloat16 that is subnormal, of which an instruction makes 0.
    """

    value: np.ndarray
    error: np.ndarray
    dtype: str

    def __post_init__(self) -> None:
        if self.dtype == "bfloat16":
            small = (self.value != 0) & (np.abs(self.value) < least(self.dtype)) & (self.error == 0)
            if small.any():
                object.__setattr__(self, "error", np.where(small, least(self.dtype), self.error))

    @property
    def is_float(self) -> bool:
        """Whether ``dtype`` is a float's, so that ``value`` is of type ``WIDE``."""
        return dtypes.is_float(self.dtype)


def exact(array: Any, dtype: str) -> Bounded:
    """``array`` as it is."""
    value = np.asarray(array)
    value = value.astype(WIDE) if dtypes.is_float(dtype) else value.astype(dtypes.numpy_of(dtype))
    return Bounded(value, np.zeros(value.shape), dtype)


def constant(value: Any, dtype: str) -> Bounded:
    """A number, rounded to ``dtype``."""
    return exact(np.asarray(value).astype(dtypes.numpy_of(dtype)), dtype)


def mantissa(dtype: str) -> int:
    """The bits of precision of a float."""
    return _MANTISSA[dtype]


def unit(dtype: str) -> float:
    """The greatest relative error of one rounding."""
    return 2.0 ** -_MANTISSA[dtype]


def least(dtype: str) -> float:
    """The least positive number."""
    return _LEAST[dtype]


def errors(*parts: Bounded) -> tuple[np.ndarray, np.ndarray]:
    """Where all ``parts`` are exact, and where one is out of bounds."""
    sure: Any = True
    lost: Any = False
    for part in parts:
        sure = sure & (part.error == 0)
        lost = lost | np.isnan(part.error)
    return sure, lost


def of_ints(value: Any, dtype: str, *parts: Bounded) -> Bounded:
    """The result of an int or bool operation on ``parts``: exact, or unknown."""
    value = np.asarray(value)
    sure, lost = errors(*parts)
    error = np.where(lost, np.nan, np.where(sure, 0.0, np.inf))
    return Bounded(value.astype(dtypes.numpy_of(dtype)), np.broadcast_to(error, value.shape), dtype)


def rounded(
    value: Any, error: Any, dtype: str, *parts: Bounded, ulps: float = 1.0, whole: Any = True
) -> Bounded:
    """The result of a float operation: ``value`` within ``error``, then rounded to ``dtype``.

    It is exact where ``parts`` are, the operation itself is (``whole``), and rounding changes nothing.
    ``ulps`` is how many roundings' worth the operation may be wrong by.
    """
    value = np.asarray(value, WIDE)
    sure, lost = errors(*parts)
    highest = dtypes.limits(dtype)[1]
    size, error = np.abs(value), np.asarray(error, np.float64)
    error = np.where(np.isnan(error), np.inf, error)
    same = sure & whole & (value.astype(dtypes.numpy_of(dtype)).astype(WIDE) == value) & (ulps <= 1)
    total = error + np.where(np.isfinite(size), size, 0) * (unit(dtype) * ulps * _SLACK) + least(dtype)
    total = np.asarray(np.where(same, 0.0, total), np.float64)
    finite = np.isfinite(value)
    over = finite & (size - error > highest * (1 + unit(dtype)))
    near = finite & ~over & (size + total > highest) & ~same
    nan = np.zeros(np.shape(value), bool)
    for part in parts:
        nan = nan | (np.isnan(part.value) & (part.error == 0) if part.is_float else False)
    total = np.where(finite, total, np.where(sure | nan, 0.0, np.inf))
    total = np.where(over & np.isfinite(error), 0.0, np.where(near, np.inf, total))
    value = np.where(over, np.copysign(WIDE(np.inf), value), value)
    total = np.where(lost, np.nan, total)
    return Bounded(value, np.broadcast_to(total, value.shape), dtype)


def lowest_bit(value: np.ndarray) -> np.ndarray:
    """The value of the lowest bit set in each number; infinity for zero."""
    fraction, exponent = np.frexp(value.astype(WIDE))
    finite = np.isfinite(fraction)
    digits = np.where(finite, np.abs(fraction), 0) * WIDE(2) ** 64
    low = (digits / 2).astype(np.uint64) * np.uint64(2) + (digits % 2).astype(np.uint64)
    bit = low & (~low + np.uint64(1))
    return np.where(low == 0, WIDE(np.inf), np.ldexp(bit.astype(WIDE), np.where(low == 0, 0, exponent - 64)))


def bits_needed(value: np.ndarray) -> np.ndarray:
    """How many bits of mantissa each number takes; 0 for zero."""
    low = lowest_bit(value)
    ratio = np.where(np.isfinite(low), np.abs(value) / np.where(np.isfinite(low), low, 1), 0)
    return np.where(ratio > 0, np.frexp(ratio)[1], 0)


def difference(wanted: Bounded, got: np.ndarray) -> tuple[np.ndarray, int]:
    """Where ``got`` is not what was ``wanted``, and how many elements could be checked."""
    error = wanted.error
    known = np.isfinite(error)
    if not wanted.is_float:
        room = np.where(known, error, 0)
        apart = np.where(
            got == wanted.value, 0.0, np.abs(got.astype(np.float64) - wanted.value.astype(np.float64))
        )
        wrong = known & (got != wanted.value) & ((apart > room) | (room == 0))
        return wrong, int(known.sum())
    value, have = wanted.value, got.astype(WIDE)
    alike = (have == value) | (np.isnan(have) & np.isnan(value))
    close = np.isfinite(have) & np.isfinite(value) & (np.abs(have - value) <= np.where(known, error, 0))
    return known & ~alike & ~close, int(known.sum())
