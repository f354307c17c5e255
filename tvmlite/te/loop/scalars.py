"""What each scalar operation means, in plain numpy: the interpreter's arithmetic, for lanes alike.

Every function takes numpy scalars or arrays of one dtype and gives that dtype back, unless it says
otherwise. Callers silence numpy's floating point warnings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e


def _truncdiv(a: Any, b: Any) -> Any:
    quotient = a // b
    inexact = (quotient * b != a) & (b != 0)
    up = inexact & ((a < 0) != (b < 0))
    return (quotient + up.astype(quotient.dtype)).astype(quotient.dtype)


def _div(a: Any, b: Any) -> Any:
    return a / b


BINARY: dict[type[e.Binary], Callable[[Any, Any], Any]] = {
    e.Add: lambda a, b: a + b,
    e.ContractedAdd: lambda a, b: a + b,
    e.Sub: lambda a, b: a - b,
    e.ContractedSub: lambda a, b: a - b,
    e.Mul: lambda a, b: a * b,
    e.Div: _div,
    e.FloorDiv: lambda a, b: a // b,
    e.FloorMod: lambda a, b: a % b,
    e.TruncDiv: _truncdiv,
    e.TruncMod: np.fmod,
    e.Min: np.minimum,
    e.Max: np.maximum,
    e.Equal: lambda a, b: a == b,
    e.NotEqual: lambda a, b: a != b,
    e.Less: lambda a, b: a < b,
    e.LessEqual: lambda a, b: a <= b,
    e.And: lambda a, b: a & b,
    e.Or: lambda a, b: a | b,
}
"""The binary nodes. numpy's ints wrap; its floored division by zero gives 0, as ours does."""


def cast(value: Any, dtype: str) -> Any:
    """``value`` converted as ``te.expr`` says: floats to ints truncate, saturate, and take NaN to 0."""
    target = dtypes.numpy_of(dtype)
    source = np.asarray(value).dtype
    if source == target:
        return value
    if dtype == "bool":
        return np.asarray(value) != np.asarray(0, source)
    if dtypes.is_narrow(dtype):
        return to_narrow(np.asarray(value), dtype)[()]
    if not dtypes.is_int(dtype) or source.kind in "iub":
        return np.asarray(value).astype(target)[()]
    low, high = dtypes.limits(dtype)
    wide = np.trunc(np.asarray(value, np.float64))
    above, below = wide >= float(high), wide <= float(low)
    plain = np.where(above | below | np.isnan(wide), 0.0, wide).astype(target)
    result = np.where(above, target.type(high), np.where(below, target.type(low), plain))
    return result.astype(target)[()]


def to_narrow(array: np.ndarray, dtype: str) -> np.ndarray:
    """``array`` as a narrow dtype: floats by way of float32, ints by low bits, 0 of what int32 lacks."""
    target = dtypes.numpy_of(dtype)
    if not dtypes.is_int(dtype):
        return array.astype(np.float32).astype(target)
    if dtypes.is_float(dtypes.check(array.dtype)):
        whole = np.trunc(array.astype(np.float64))
        array = np.where(np.abs(whole) < 2.0**31, whole, 0).astype(np.int64)
    return (array.astype(np.int64) & ((1 << dtypes.width(dtype)) - 1)).astype(np.uint8).view(target)


def _floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of float64s, its result rounded once to the dtype of the arguments."""

    def rounded(*args: Any) -> Any:
        wide = [np.asarray(a).astype(np.float64) for a in args]
        return np.asarray(function(*wide)).astype(np.asarray(args[0]).dtype)[()]

    return rounded


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y)


def _shift(left: bool) -> Callable[[Any, Any], Any]:
    """Shifts by the width or more give 0, or the sign; a negative count is one of those."""

    def shift(a: Any, b: Any) -> Any:
        dtype = np.asarray(a).dtype
        width = dtype.itemsize * 8
        inside = (b >= 0) & (b < width)
        count = np.where(inside, b, 0).astype(dtype)
        if left:
            return np.where(inside, a << count, 0).astype(dtype)[()]
        filled = np.where(np.asarray(a) < 0, -1, 0).astype(dtype) if dtype.kind == "i" else dtype.type(0)
        return np.where(inside, a >> count, filled).astype(dtype)[()]

    return shift


def _bit_counter(count: Callable[[int, int], int]) -> Callable[[Any], Any]:
    def counter(a: Any) -> Any:
        array = np.asarray(a)
        width = array.dtype.itemsize * 8
        mask = (1 << width) - 1
        counted = [count(int(v) & mask, width) for v in array.reshape(-1)]
        return np.array(counted).astype(array.dtype).reshape(array.shape)[()]

    return counter


def _fma(a: Any, b: Any, c: Any) -> Any:
    """Of float64: two roundings. Of narrower floats: the exact sum's rounding to float64, then ours."""
    return a * b + c


INTRINSICS: dict[str, Callable[..., Any]] = {
    **{
        name: _floats(getattr(np, name))
        for name in "exp log log2 log10 tanh sqrt sin cos tan sinh cosh floor ceil trunc".split()
    },
    **{f"a{name}": _floats(getattr(np, f"arc{name}")) for name in "sin cos tan sinh cosh tanh tan2".split()},
    "sigmoid": _floats(_sigmoid),
    "erf": _floats(np.vectorize(math.erf, otypes=[np.float64])),
    "rsqrt": _floats(lambda x: 1.0 / np.sqrt(x)),
    "round": _floats(np.rint),
    "fabs": np.abs,
    "abs": np.abs,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "pow": _floats(_power),
    "copysign": _floats(np.copysign),
    "fmod": _floats(np.fmod),
    "fma": _floats(_fma),
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_not": lambda a: ~a,
    "shift_left": _shift(True),
    "shift_right": _shift(False),
    "popcount": _bit_counter(lambda value, width: value.bit_count()),
    "clz": _bit_counter(lambda value, width: width - value.bit_length()),
    "likely": lambda a: a,
    "fits_int32": lambda a: a,
}
"""Intrinsics by name. Those of floats are computed in float64 and rounded once."""


def intrinsic(name: str) -> Callable[..., Any]:
    """The meaning of the intrinsic ``name``."""
    if name not in INTRINSICS:
        raise UnsupportedError(f"the interpreter does not know the intrinsic {name!r}")
    return INTRINSICS[name]


def reinterpret(value: Any, dtype: str) -> Any:
    """The bits of ``value`` read as ``dtype``."""
    return np.ascontiguousarray(value).reshape(-1).view(dtypes.numpy_of(dtype)).reshape(np.shape(value))[()]


def bits(value: Any, dtype: np.dtype, lanes: int) -> Any:
    """The bits of ``value``, a scalar or vector, read as ``lanes`` of ``dtype``."""
    read = np.ascontiguousarray(value).reshape(-1).view(dtype)
    return read[0] if lanes == 1 else read


def splat(value: Any, lanes: int) -> Any:
    """``value`` in each lane; a vector as it is."""
    return value if lanes == 1 or np.ndim(value) else np.full(lanes, value)


def choose(test: Any, a: Any, b: Any, lanes: int) -> Any:
    """``a`` where ``test`` holds, else ``b``."""
    if lanes == 1:
        return a if test else b
    return np.where(test, a, b)
