"""The source of a resized element: its coordinate, taps and weights along one axis.

The formulas are generic in the arithmetic: ``TeNumbers`` for expressions, ``NumpyNumbers`` for arrays. They
keep ONNX Runtime's order of float32 operations, since nearest neighbours depend on the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.te import expr as e

Settings = Call | Mapping[str, Any]
"""The attributes of a call, by name."""


class Tap(NamedTuple):
    """A source index, known to be in range only if ``inside``, and its weight (None: 1)."""

    index: Any
    weight: Any = None
    inside: bool = False


@dataclass(frozen=True)
class TeNumbers:
    """Arithmetic on te expressions of a float ``dtype``."""

    dtype: str

    def number(self, value: Any) -> Any:
        """``value`` as an expression of ``dtype``: a cast or a constant."""
        return e.cast(self.dtype, value) if isinstance(value, e.Expr) else e.const(float(value), self.dtype)

    def floor(self, x: e.Expr) -> e.Expr:
        """The greatest whole number that is not above ``x``, still a float."""
        return e.Call("floor", (x,), self.dtype)

    def ceil(self, x: e.Expr) -> e.Expr:
        """The least whole number that is not below ``x``, still a float."""
        return e.Call("ceil", (x,), self.dtype)

    def to_index(self, x: e.Expr) -> e.Expr:
        """A whole float as an int32 index."""
        return e.cast("int32", x)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """``a`` where ``condition`` holds, else ``b``."""
        return e.Select(condition, a, b)

    def logical_and(self, a: Any, b: Any) -> Any:
        """Whether two conditions hold."""
        return e.And(a, b)

    def logical_or(self, a: Any, b: Any) -> Any:
        """Whether at least one of two conditions holds."""
        return e.Or(a, b)

    def absolute(self, x: e.Expr) -> e.Expr:
        """``|x|``."""
        return e.Call("abs", (x,), self.dtype)


@dataclass(frozen=True)
class NumpyNumbers:
    """Arithmetic on numpy arrays of a float ``dtype``."""

    dtype: np.dtype

    def number(self, value: Any) -> Any:
        """``value`` as a numpy scalar of ``dtype``."""
        return self.dtype.type(value)

    def floor(self, x: Any) -> Any:
        """The greatest whole number that is not above ``x``, still a float."""
        return np.floor(x)

    def ceil(self, x: Any) -> Any:
        """The least whole number that is not below ``x``, still a float."""
        return np.ceil(x)

    def to_index(self, x: Any) -> Any:
        """Whole floats as int32 indices."""
        return np.asarray(x).astype(np.int32)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """``a`` where ``condition`` holds, else ``b``, element by element."""
        return np.where(condition, a, b)

    def logical_and(self, a: Any, b: Any) -> Any:
        """Whether two conditions hold, element by element."""
        return a & b

    def logical_or(self, a: Any, b: Any) -> Any:
        """Whether at least one of two conditions holds, element by element."""
        return a | b

    def absolute(self, x: Any) -> Any:
        """``|x|``."""
        return np.abs(x)


def taps_of(call: Call, numbers: Any, axis: int, x: Any, sizes: tuple[Any, Any]) -> tuple[list[Tap], Any]:
    """Return the taps of output index ``x`` (a float) along spatial ``axis``, and a mask of those outside.

    The mask may be None. ``sizes`` are the extents of input and output along the axis.
    """
    source = coordinate(call, numbers, axis, x, sizes)
    outside = None
    if call["coordinate_transformation_mode"] == "tf_crop_and_resize":
        last = numbers.number(sizes[0] - 1)
        outside = numbers.logical_or(source < numbers.number(0), source > last)
    if call["method"] == "nearest_neighbor":
        return [Tap(numbers.to_index(round_coordinate(call, numbers, source)))], outside
    below = numbers.floor(source)
    fraction, first = source - below, numbers.to_index(below)
    if call["method"] == "linear":
        return [Tap(first, numbers.number(1) - fraction), Tap(first + 1, fraction)], outside
    return _cubic(call, numbers, fraction, first, sizes[0]), outside


def coordinate(call: Settings, numbers: Any, axis: int, x: Any, sizes: tuple[Any, Any]) -> Any:
    """Return the source coordinate of output index ``x``."""
    mode, number, (size, out_size) = call["coordinate_transformation_mode"], numbers.number, sizes
    half, zero, one = number(0.5), number(0), number(1)
    if mode == "align_corners":
        return _if_several(numbers, out_size, x * (number(size) - one) / number(_divisor(out_size)), zero)
    if mode == "tf_crop_and_resize":
        rank = len(call["roi"]) // 2
        start, end = (number(call["roi"][axis]), number(call["roi"][axis + rank])) if rank else (zero, one)
        span = number(size) - one
        several = start * span + x * (end - start) * span / number(_divisor(out_size))
        return _if_several(numbers, out_size, several, half * (start + end) * span)
    scale = number(out_size) / number(size) if call["scales"] is None else number(call["scales"][axis])
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + half) / scale
    centred = (x + half) / scale - half
    if mode == "pytorch_half_pixel":
        return _if_several(numbers, out_size, centred, zero)
    if mode == "half_pixel_symmetric":
        adjustment = number(out_size) / (scale * number(size))
        return number(size) / number(2) * (one - adjustment) + (x + half) / scale - half
    return centred


def _divisor(out_size: Any) -> Any:
    """``out_size - 1``, but at least 1, as a divisor."""
    if isinstance(out_size, e.Expr):
        return e.Max(*e.match(out_size - 1, 1))
    return max(out_size - 1, 1)


def _if_several(numbers: Any, out_size: Any, several: Any, single: Any) -> Any:
    """``several`` if the output has more than one element, else ``single``."""
    if isinstance(out_size, e.Expr):
        return numbers.select(out_size > 1, several, single)
    return several if out_size > 1 else several * numbers.number(0) + single


def round_coordinate(call: Settings, numbers: Any, source: Any) -> Any:
    """Round a source coordinate as ``rounding_method`` says; the result is still a float."""
    rounding, half = call["rounding_method"], numbers.number(0.5)
    if rounding == "":
        rounding = "round" if call["coordinate_transformation_mode"] == "align_corners" else "floor"
    if rounding == "floor":
        return numbers.floor(source)
    if rounding == "ceil":
        return numbers.ceil(source)
    if rounding == "round_prefer_floor":
        return numbers.ceil(source - half)
    return numbers.floor(source + half)


def _cubic(call: Call, numbers: Any, fraction: Any, first: Any, size: Any) -> list[Tap]:
    """Four taps with Keys' weights; ``cubic_exclude`` leaves out those outside and rescales the others."""
    a = numbers.number(call["cubic_alpha"])
    one, two, three = numbers.number(1), numbers.number(2), numbers.number(3)
    four, five, eight = numbers.number(4), numbers.number(5), numbers.number(8)
    taps = []
    for step in (-1, 0, 1, 2):
        t = numbers.absolute(fraction - numbers.number(step))
        if step in (0, 1):
            weight = ((a + two) * t - (a + three)) * t * t + one
        else:
            weight = ((a * t - five * a) * t + eight * a) * t - four * a
        taps.append(Tap(first + step, weight))
    if not call["cubic_exclude"]:
        return taps
    zero = numbers.number(0)
    kept = [
        numbers.select(numbers.logical_and(tap.index >= 0, tap.index < size), tap.weight, zero)
        for tap in taps
    ]
    total = kept[0] + kept[1] + kept[2] + kept[3]
    return [Tap(tap.index, weight / total) for tap, weight in zip(taps, kept, strict=True)]
