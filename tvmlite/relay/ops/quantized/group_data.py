"""Data of dense layers rounded to 8 or 16 bits, symmetrically, with a scale for each group of a row's terms.

Of a group whose largest magnitude is ``m``, the scale is ``m / 127`` and a term's code ``x * (127 / m)``,
rounded half to even, each step in float32: the rounding of onnxruntime's ``accuracy_level=4``. Codes of 16
bits have 32639 in place of 127: up to it, both parts of a code, the nearest multiple of 256 and what is
left, are signed bytes. Codes are 0 where ``127 / m`` is beyond float32. Where a term is not finite, the scale
is NaN, and so is what it scales.

Magnitudes are compared as the integers that their bits are, which have the same order: NaN is the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.te import expr as e
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, reduce_axis
from tvmlite.te.tensor.tensor import Tensor

LARGEST = {8: 127, 16: 127 * 256 + 127}
"""By bits: the largest code; that of the opposite sign is the least."""

MOST_TERMS = {8: 1 << 16, 16: 1 << 8}
"""By bits: the terms of a group whose products with codes of 8 bits int32 sums up."""

_MAGNITUDE, _INFINITY = 0x7FFFFFFF, 0x7F800000


def rounded_numpy(data: np.ndarray, group: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The codes ``(..., groups * group)``, int32, of ``data (..., k)``, 0 behind the last; and the scales
    ``(..., groups)``, float32."""
    *lead, depth = data.shape
    whole = np.pad(data.astype(np.float32), [(0, 0)] * len(lead) + [(0, -depth % group)])
    whole = whole.reshape(*lead, -1, group)
    largest = np.abs(whole).max(axis=-1)
    finite = np.isfinite(largest)
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.float32(LARGEST[bits]) / np.where(finite, largest, np.float32(np.inf))
    factor = np.where(np.isfinite(factor), factor, np.float32(0))[..., None]
    codes = np.rint(np.where(np.isfinite(whole), whole, np.float32(0)) * factor).astype(np.int32)
    scale = np.where(finite, largest / np.float32(LARGEST[bits]), np.float32(np.nan))
    return codes.reshape(*lead, -1), scale


def sums_numpy(codes: np.ndarray, group: int) -> np.ndarray:
    """The sums ``(..., groups)``, int32, of the codes of each group."""
    return codes.reshape(*codes.shape[:-1], -1, group).sum(axis=-1, dtype=np.int32)


def magnitude(value: e.Expr) -> e.Expr:
    """The bits of the magnitude of a float32, as an int32."""
    return e.Call("reinterpret", (value,), "int32") & _MAGNITUDE


def scale_of(largest: e.Expr, bits: int) -> e.Expr:
    """The scale of a group, from its largest ``magnitude``."""
    value = e.Call("reinterpret", (largest,), "float32")
    return e.Select(largest < _INFINITY, value / float(LARGEST[bits]), e.const(float("nan"), "float32"))


def factor_of(largest: e.Expr, bits: int) -> e.Expr:
    """What the terms of a group are multiplied with, from its largest ``magnitude``."""
    value = e.const(float(LARGEST[bits]), "float32") / e.Call("reinterpret", (largest,), "float32")
    return e.Select(magnitude(value) < _INFINITY, value, e.const(0.0, "float32"))


def code_of(value: e.Expr, factor: e.Expr) -> e.Expr:
    """The code of a term, a whole float32; NaN where the term is not finite."""
    return e.Call("round", (value * factor,), "float32")


def rounded(read: Callable[[Any, Any], e.Expr], rows: Any, depth: int, group: int, bits: int) -> Tensor:
    """``(rows, depth)`` of the data ``read(row, term)``, each rounded to its code times its scale."""
    terms = reduce_axis(group, name="term")

    def largest_of(row: Any, n: Any) -> e.Expr:
        place = n * group + terms
        if depth % group == 0:
            return reducers.max_reduce(magnitude(read(row, place)), terms)
        found = magnitude(read(row, e.Min(place, e.const(depth - 1, e.INDEX))))
        return reducers.max_reduce(e.Select(place < depth, found, e.const(0, "int32")), terms)

    largest = compute((rows, -(-depth // group)), largest_of, name="largest", tag="comm_reduce")

    def element(row: Any, k: Any) -> e.Expr:
        of_group = largest[row, k // group]
        return code_of(read(row, k), factor_of(of_group, bits)) * scale_of(of_group, bits)

    return compute((rows, depth), element, name="rounded", tag="injective")
