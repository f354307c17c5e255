"""Rounding of constants to float types."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes


def rounded(value: float, dtype: str) -> float:
    """``value`` rounded to the float type ``dtype``, to nearest, ties to even."""
    with np.errstate(over="ignore"):
        if dtype != "bfloat16":
            return float(np.array(value, dtypes.numpy_of(dtype)))
        bits = int(np.array(value, np.float32).view(np.uint32))
        if value == value:
            bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return float(np.array(bits, np.uint32).view(np.float32))
