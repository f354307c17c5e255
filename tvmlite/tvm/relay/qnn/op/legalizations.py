"""Functions of numpy that quantized operators stand for."""

from __future__ import annotations

import numpy as np

from tvmlite.tvm.absent import refusing


def hardswish_func(x: np.ndarray) -> np.ndarray:
    """``x``, scaled by a line from 0 at -3 to 1 at 3."""
    return x * np.clip(x + 3, 0, 6) / 6


__getattr__ = refusing(__name__)
