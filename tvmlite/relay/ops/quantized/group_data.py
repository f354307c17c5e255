"""Symmetric rounding of a dense layer's data to 8 or 16 bits, with a scale for each group of a row.

For a group with the largest magnitude ``m``, the scale is ``m / 127``, and the code of ``x`` is
``x * (127 / m)``, rounded half to even, each step in float32: the rounding of onnxruntime's
``accuracy_level=4``. 16-bit codes have 32639 in place of 127: both parts of such a code, the nearest multiple
of 256 and the remainder, are signed bytes. Codes are 0 where ``127 / m`` overflows float32. If an element is
not finite, the scale is NaN, and so is everything that it scales.

Magnitudes are compared by their bits, as integers, which have the same order: NaN is the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.te import expr as e
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, reduce_axis
from tvmlite.te.tensor.tensor import Tensor

MAX_CODE = {8: 127, 16: 127 * 256 + 127}
"""By bits: the largest code; the least code is its negative."""

MAX_GROUP = {8: 1 << 16, 16: 1 << 8}
"""By bits: the largest group whose sum of products with 8-bit codes fits int32."""

_MAGNITUDE, _INFINITY = 0x7FFFFFFF, 0x7F800000


def rounded_numpy(data: np.ndarray, group: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantize ``data (..., k)``; return the codes and the scales.

    Codes are int32 ``(..., groups * group)``, 0 after the last element; scales are float32 ``(...,
    groups)``.
    """
    *lead, depth = data.shape
    whole = np.pad(data.astype(np.float32), [(0, 0)] * len(lead) + [(0, -depth % group)])
    whole = whole.reshape(*lead, -1, group)
    largest = np.abs(whole).max(axis=-1)
    finite = np.isfinite(largest)
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.float32(MAX_CODE[bits]) / np.where(finite, largest, np.float32(np.inf))
    factor = np.where(np.isfinite(factor), factor, np.float32(0))[..., None]
    codes = np.rint(np.where(np.isfinite(whole), whole, np.float32(0)) * factor).astype(np.int32)
    scale = np.where(finite, largest / np.float32(MAX_CODE[bits]), np.float32(np.nan))
    return codes.reshape(*lead, -1), scale


def sums_numpy(codes: np.ndarray, group: int) -> np.ndarray:
    """Return the sum of the codes of each group, int32 ``(..., groups)``."""
    return codes.reshape(*codes.shape[:-1], -1, group).sum(axis=-1, dtype=np.int32)


def magnitude_bits(value: e.Expr) -> e.Expr:
    """The bits of the magnitude of a float32, as an int32."""
    return e.Call("reinterpret", (value,), "int32") & _MAGNITUDE


def scale_of(largest: e.Expr, bits: int) -> e.Expr:
    """The scale of a group, from its largest ``magnitude_bits``."""
    value = e.Call("reinterpret", (largest,), "float32")
    return e.Select(largest < _INFINITY, value / float(MAX_CODE[bits]), e.const(float("nan"), "float32"))


def factor_of(largest: e.Expr, bits: int) -> e.Expr:
    """The factor for the elements of a group, from its largest ``magnitude_bits``."""
    value = e.const(float(MAX_CODE[bits]), "float32") / e.Call("reinterpret", (largest,), "float32")
    return e.Select(magnitude_bits(value) < _INFINITY, value, e.const(0.0, "float32"))


def code_of(value: e.Expr, factor: e.Expr) -> e.Expr:
    """The code of an element, as a whole float32; NaN where the element is not finite."""
    return e.Call("round", (value * factor,), "float32")


def rounded(read: Callable[[Any, Any], e.Expr], rows: Any, depth: int, group: int, bits: int) -> Tensor:
    """The data ``read(row, term)`` as ``(rows, depth)``, each element rounded to its code times its scale."""
    terms = reduce_axis(group, name="term")

    def largest_of(row: Any, n: Any) -> e.Expr:
        place = n * group + terms
        if depth % group == 0:
            return reducers.max_reduce(magnitude_bits(read(row, place)), terms)
        found = magnitude_bits(read(row, e.Min(place, e.const(depth - 1, e.INDEX))))
        return reducers.max_reduce(e.Select(place < depth, found, e.const(0, "int32")), terms)

    largest = compute((rows, -(-depth // group)), largest_of, name="largest", tag="comm_reduce")

    def element(row: Any, k: Any) -> e.Expr:
        of_group = largest[row, k // group]
        return code_of(read(row, k), factor_of(of_group, bits)) * scale_of(of_group, bits)

    return compute((rows, depth), element, name="rounded", tag="injective")
