"""``tvm.topi.nn.utils``: padding as tuples of ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import sides
from tvmlite.tvm.topi.utils import get_const_int


def get_pad_tuple(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding (top, left, bottom, right) of images for windows of the size ``kernel``. ``padding``
    is one, two or four ints, ``"SAME"`` or ``"VALID"``."""
    return sides("get_pad_tuple", padding, kernel, (1,) * len(kernel))


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[int, ...]:
    """Return the padding (before, after) of sequences for windows of ``kernel`` elements."""
    return get_pad_tuple(padding, kernel if isinstance(kernel, (tuple, list)) else (kernel,))


def get_pad_tuple3d(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding (front, top, left, back, bottom, right) of volumes."""
    return get_pad_tuple(padding, kernel)


get_pad_tuple_generic = get_pad_tuple


def infer_pad(data: Tensor, data_pad: Tensor | None) -> tuple[int, int]:
    """Return the padding on each side of the rows and columns of NCHW ``data``; ``data_pad`` is padded."""
    if data_pad is None:
        return 0, 0
    rows, columns = (
        (get_const_int(wide) - get_const_int(plain)) // 2
        for wide, plain in zip(data_pad.shape[2:4], data.shape[2:4], strict=True)
    )
    return rows, columns


__getattr__ = refusing(__name__)
