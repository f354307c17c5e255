"""Float reductions in any order: bounds on sums, products and extremes of bounded terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.expected.bounded import Bounded, least, lowest_bit, mantissa, rounded, unit


def sums_exactly(terms: Bounded, size: np.ndarray) -> np.ndarray:
    """Whether sums of the terms, whose magnitudes sum to ``size``, are exact in any order."""
    step = lowest_bit(terms.value).min(-1, initial=np.inf)
    exact = np.isfinite(size) & (size / step <= 2.0 ** mantissa(terms.dtype))
    if terms.dtype == "bfloat16":
        exact = exact & (step >= least(terms.dtype))  # no sum on the way is subnormal
    return (size == 0) | exact


def with_start(terms: Bounded, start: Bounded) -> Bounded:
    """Return the initial value of a reduction, followed by its terms."""
    return Bounded(
        np.concatenate([start.value[..., None], terms.value], -1),
        np.concatenate([start.error[..., None], terms.error], -1),
        terms.dtype,
    )


def total_sum(terms: Bounded) -> Bounded:
    """Return the sum over the last axis."""
    value, size = terms.value.sum(-1), np.abs(terms.value).sum(-1)
    count = terms.value.shape[-1]
    error = terms.error.sum(-1) + count * 1.1 * unit(terms.dtype) * size
    is_exact = (terms.error == 0).all(-1) & sums_exactly(terms, size)
    overflow = size * 1.01 > dtypes.limits(terms.dtype)[1]
    error = np.where(is_exact, 0.0, np.where(overflow & np.isfinite(size), np.inf, error))
    return _reduction_result(value, error, is_exact, terms)


def total_product(terms: Bounded) -> Bounded:
    """Return the product over the last axis."""
    value, size = terms.value.prod(-1), np.abs(terms.value)
    ones = np.isin(size, (0, 1)).all(-1) & (terms.error == 0).all(-1)
    relative = np.where(terms.error == 0, 0.0, terms.error / np.where(size > 0, size, 1))
    relative = np.where((size == 0) & (terms.error > 0), np.inf, relative)
    growth = np.prod(1 + relative + unit(terms.dtype) * 1.1, -1) - 1
    highest = np.where(size > 1, size + terms.error, 1).prod(-1)
    lowest = np.where((size < 1) & (size > 0), np.maximum(size - terms.error, 0), 1).prod(-1)
    limit = dtypes.limits(terms.dtype)[1]
    may_overflow = (highest * 1.1 > limit) | (lowest * limit < 4)
    error = np.where(ones, 0.0, np.where(may_overflow & np.isfinite(value), np.inf, np.abs(value) * growth))
    return _reduction_result(value, error, ones, terms)


def total_extreme(terms: Bounded, name: str) -> Bounded:
    """Return the minimum (``"min"``) or the maximum over the last axis."""
    value = (np.min if name == "min" else np.max)(terms.value, -1)
    nan = (np.isnan(terms.value) & (terms.error == 0)).any(-1)
    return Bounded(value, np.where(nan, 0.0, terms.error.max(-1)), terms.dtype)


def _reduction_result(value: np.ndarray, error: Any, is_exact: Any, terms: Bounded) -> Bounded:
    """Return the result of a float reduction; where it is not finite, it is known if all terms are exact."""
    all_exact, out_of_bounds = (terms.error == 0).all(-1), np.isnan(terms.error).any(-1)
    zeros = terms.value.dtype.type(0)
    last = Bounded(np.where(all_exact, zeros, zeros), np.where(all_exact, 0.0, np.inf), terms.dtype)
    finite = np.isfinite(value)
    made = rounded(value, error, terms.dtype, last, is_exact=is_exact)
    size = np.abs(np.where(np.isfinite(terms.value), terms.value, 0)).sum(-1)
    cannot_overflow = size * 1.01 < dtypes.limits(terms.dtype)[1]  # no overflow on the way
    total = np.where(finite, made.error, np.where(all_exact & cannot_overflow, 0.0, np.inf))
    total = np.where(is_exact & finite, 0.0, total)
    return Bounded(made.value, np.where(out_of_bounds, np.nan, total), terms.dtype)
