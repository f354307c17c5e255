"""Random arrays for a function's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.te.loop import ir
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.te.tensor.work import value_of


def operands(
    function: ir.Function, args: Sequence[Any], sizes: Mapping[str, int], indices: set[Tensor]
) -> list[Any]:
    """Arguments for ``function``, whose parameters are ``args``; the same in every call.

    Floats are between 0.5 and 1.5 and ints from 1 to 7, so that no formula overflows or divides by zero.
    Outputs are zeros, and so are the tensors in ``indices``, which must be valid indices. A scalar parameter
    gets its value from ``sizes``.
    """
    rng = np.random.default_rng(0)
    made: list[Any] = []
    for param, arg in zip(function.params, args, strict=True):
        if not isinstance(param, ir.Buffer):
            made.append(value_of(param, sizes))
            continue
        shape = tuple(value_of(extent, sizes) for extent in param.shape)
        dtype = dtypes.numpy_of(param.dtype)
        if param in function.outputs or arg in indices:
            made.append(np.zeros(shape, dtype))
        elif dtypes.is_float(param.dtype):
            made.append((rng.random(shape, "float32") + 0.5).astype(dtype))
        else:
            made.append(
                rng.integers(
                    0 if param.dtype == "bool" else 1, 2 if param.dtype == "bool" else 8, shape
                ).astype(dtype)
            )
    return made


def difference(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> float:
    """The largest difference of two lists of arrays, relative to the largest value of each ``wanted`` one."""
    worst = 0.0
    for one, other in zip(found, wanted, strict=True):
        a, b = one.astype("float64"), other.astype("float64")
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        finite = np.isfinite(b)
        apart = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
        worst = max(worst, apart / max(float(np.max(np.abs(b[finite]), initial=0.0)), 1e-30))
    return worst
