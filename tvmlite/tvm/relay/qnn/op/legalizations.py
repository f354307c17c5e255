"""Numpy functions that quantized operators compute."""

from __future__ import annotations

import numpy as np

from tvmlite.tvm.absent import refusing


def hardswish_func(x: np.ndarray) -> np.ndarray:
    """``x * min(max(x + 3, 0), 6) / 6``."""
    return x * np.clip(x + 3, 0, 6) / 6


__getattr__ = refusing(__name__)
