"""Values with a bound on their error, for any order of operations and any contraction.

This arithmetic is the fuzzer's own. It shares no code with the compiler or its interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes

WIDE = np.longdouble
"""The type in which floats of every dtype are computed."""

_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-149, "float64": 5e-324}
"""The least positive number, which bounds the absolute error of a rounding; for bfloat16 the least normal
one, since subnormal numbers may become 0 (te.expr.Cast)."""
_SLACK = 1.0 + 2.0**-6


@dataclass(frozen=True)
class Bounded:
    """Elements of ``dtype``, with floats as ``WIDE``; the true values differ by at most ``error``.

    An ``error`` of infinity means that nothing is known, NaN that the value comes from an access out of
    bounds. An ``error`` of 0 means exactly this value (but for the sign of a zero), including NaN and
    infinities. A subnormal bfloat16 never has an error of 0, since an instruction makes it 0.
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
    """Return ``array`` without error."""
    value = np.asarray(array)
    value = value.astype(WIDE) if dtypes.is_float(dtype) else value.astype(dtypes.numpy_of(dtype))
    return Bounded(value, np.zeros(value.shape), dtype)


def constant(value: Any, dtype: str) -> Bounded:
    """Return a number, rounded to ``dtype``, without error."""
    return exact(np.asarray(value).astype(dtypes.numpy_of(dtype)), dtype)


def mantissa(dtype: str) -> int:
    """Return the bits of precision of a float dtype."""
    return _MANTISSA[dtype]


def unit(dtype: str) -> float:
    """Return the largest relative error of one rounding."""
    return 2.0 ** -_MANTISSA[dtype]


def least(dtype: str) -> float:
    """Return the least positive number; for bfloat16 the least normal one."""
    return _LEAST[dtype]


def error_masks(*parts: Bounded) -> tuple[np.ndarray, np.ndarray]:
    """Return where all ``parts`` are exact, and where one is out of bounds."""
    all_exact: Any = True
    out_of_bounds: Any = False
    for part in parts:
        all_exact = all_exact & (part.error == 0)
        out_of_bounds = out_of_bounds | np.isnan(part.error)
    return all_exact, out_of_bounds


def of_ints(value: Any, dtype: str, *parts: Bounded) -> Bounded:
    """Return the result of an int or bool operation on ``parts``: exact if they are, else unknown."""
    value = np.asarray(value)
    all_exact, out_of_bounds = error_masks(*parts)
    error = np.where(out_of_bounds, np.nan, np.where(all_exact, 0.0, np.inf))
    return Bounded(value.astype(dtypes.numpy_of(dtype)), np.broadcast_to(error, value.shape), dtype)


def rounded(
    value: Any, error: Any, dtype: str, *parts: Bounded, ulps: float = 1.0, is_exact: Any = True
) -> Bounded:
    """Return the result of a float operation: ``value`` within ``error``, then rounded to ``dtype``.

    It is exact where ``parts`` are exact, the operation is exact (``is_exact``), and rounding changes
    nothing. ``ulps`` is the operation's error as a number of roundings.
    """
    value = np.asarray(value, WIDE)
    all_exact, out_of_bounds = error_masks(*parts)
    highest = dtypes.limits(dtype)[1]
    size, error = np.abs(value), np.asarray(error, np.float64)
    error = np.where(np.isnan(error), np.inf, error)
    stays_exact = (
        all_exact & is_exact & (value.astype(dtypes.numpy_of(dtype)).astype(WIDE) == value) & (ulps <= 1)
    )
    total = error + np.where(np.isfinite(size), size, 0) * (unit(dtype) * ulps * _SLACK) + least(dtype)
    total = np.asarray(np.where(stays_exact, 0.0, total), np.float64)
    finite = np.isfinite(value)
    overflows = finite & (size - error > highest * (1 + unit(dtype)))
    may_overflow = finite & ~overflows & (size + total > highest) & ~stays_exact
    nan = np.zeros(np.shape(value), bool)
    for part in parts:
        nan = nan | (np.isnan(part.value) & (part.error == 0) if part.is_float else False)
    total = np.where(finite, total, np.where(all_exact | nan, 0.0, np.inf))
    total = np.where(overflows & np.isfinite(error), 0.0, np.where(may_overflow, np.inf, total))
    value = np.where(overflows, np.copysign(WIDE(np.inf), value), value)
    total = np.where(out_of_bounds, np.nan, total)
    return Bounded(value, np.broadcast_to(total, value.shape), dtype)


def lowest_bit(value: np.ndarray) -> np.ndarray:
    """Return the value of the lowest bit set in each number; infinity for zero."""
    fraction, exponent = np.frexp(value.astype(WIDE))
    finite = np.isfinite(fraction)
    digits = np.where(finite, np.abs(fraction), 0) * WIDE(2) ** 64
    low = (digits / 2).astype(np.uint64) * np.uint64(2) + (digits % 2).astype(np.uint64)
    bit = low & (~low + np.uint64(1))
    return np.where(low == 0, WIDE(np.inf), np.ldexp(bit.astype(WIDE), np.where(low == 0, 0, exponent - 64)))


def bits_needed(value: np.ndarray) -> np.ndarray:
    """Return the number of mantissa bits that each number needs; 0 for zero."""
    low = lowest_bit(value)
    ratio = np.where(np.isfinite(low), np.abs(value) / np.where(np.isfinite(low), low, 1), 0)
    return np.where(ratio > 0, np.frexp(ratio)[1], 0)


def difference(wanted: Bounded, got: np.ndarray) -> tuple[np.ndarray, int]:
    """Return where ``got`` differs from ``wanted`` by more than its error, and how many were checked."""
    error = wanted.error
    known = np.isfinite(error)
    if not wanted.is_float:
        tolerance = np.where(known, error, 0)
        distance = np.where(
            got == wanted.value, 0.0, np.abs(got.astype(np.float64) - wanted.value.astype(np.float64))
        )
        wrong = known & (got != wanted.value) & ((distance > tolerance) | (tolerance == 0))
        return wrong, int(known.sum())
    value, have = wanted.value, got.astype(WIDE)
    equal = (have == value) | (np.isnan(have) & np.isnan(value))
    close = np.isfinite(have) & np.isfinite(value) & (np.abs(have - value) <= np.where(known, error, 0))
    return known & ~equal & ~close, int(known.sum())
