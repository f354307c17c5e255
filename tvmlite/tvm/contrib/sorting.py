"""Packed functions that sort, which TVM's programs call by name: ``call_packed("tvm.contrib.sort.sort", data,
out, axis, is_ascend)``. They need no import."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.te.tensor.registry import register_func
from tvmlite.tvm.absent import refusing


def _order(data: np.ndarray, axis: int, is_ascend: bool) -> np.ndarray:
    """Return the indices that sort ``data`` along ``axis``; equal elements keep their order."""
    if is_ascend:
        return np.argsort(data, axis=axis, kind="stable")
    turned = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return np.flip(data.shape[axis] - 1 - turned, axis)


def sort(data: np.ndarray, out: np.ndarray, axis: int, is_ascend: bool) -> None:
    """Write ``data``, sorted along ``axis``, to ``out``."""
    out[...] = np.take_along_axis(data, _order(data, axis, is_ascend), axis)


def argsort(data: np.ndarray, out: np.ndarray, axis: int, is_ascend: bool) -> None:
    """Write the indices that sort ``data`` along ``axis`` to ``out``."""
    out[...] = _order(data, axis, is_ascend)


def argsort_nms(data: np.ndarray, sort_num: np.ndarray, out: np.ndarray, axis: int, is_ascend: bool) -> None:
    """Like ``argsort``, for the first ``sort_num`` elements of each line only; the elements after them keep
    their positions. ``sort_num`` has the shape of ``data`` without ``axis``."""
    lines, ordered = np.moveaxis(data, axis, -1), np.moveaxis(out, axis, -1)
    ordered[...] = np.arange(data.shape[axis])
    for place in np.ndindex(lines.shape[:-1]):
        known = max(int(sort_num[place]), 0)
        ordered[place][:known] = _order(lines[place][:known], 0, is_ascend)


def _register() -> None:
    functions: list[Any] = [sort, argsort, argsort_nms]
    for one in functions:
        register_func(f"tvm.contrib.sort.{one.__name__}", one)


_register()

__getattr__ = refusing(__name__)
