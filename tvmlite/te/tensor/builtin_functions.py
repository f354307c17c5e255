"""Python functions that programs may call by name without registering them."""

from __future__ import annotations

import numpy as np

from tvmlite.te.tensor.registry import register_func

MATMUL = "tvm.contrib.cblas.matmul"


@register_func(MATMUL, override=True)
def matmul(a: np.ndarray, b: np.ndarray, c: np.ndarray, transa: bool = False, transb: bool = False) -> None:
    """``c`` becomes the product of ``a`` and ``b``, each transposed if so wanted."""
    np.matmul(a.T if transa else a, b.T if transb else b, out=c)
