"""Each scalar operation in numpy: the arithmetic of the interpreter, for scalars and for vectors.

Every function takes numpy scalars or arrays of one dtype and returns that dtype, unless documented
otherwise. Callers silence numpy's floating-point warnings.
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
"""The functions of binary nodes. As in compiled code, ints wrap and floored division by zero gives 0."""


def cast(value: Any, dtype: str) -> Any:
    """``value`` converted as ``te.expr`` defines it: floats to ints truncate and saturate; NaN becomes 0."""
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
    """``array`` as a narrow dtype: floats via float32, ints by their low bits (0 outside int32's range)."""
    target = dtypes.numpy_of(dtype)
    if not dtypes.is_int(dtype):
        return array.astype(np.float32).astype(target)
    if dtypes.is_float(dtypes.check(array.dtype)):
        whole = np.trunc(array.astype(np.float64))
        array = np.where(np.abs(whole) < 2.0**31, whole, 0).astype(np.int64)
    return (array.astype(np.int64) & ((1 << dtypes.width(dtype)) - 1)).astype(np.uint8).view(target)


def _floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` computed in float64, its result rounded once to the dtype of the first argument."""

    def rounded(*args: Any) -> Any:
        wide = [np.asarray(a).astype(np.float64) for a in args]
        return np.asarray(function(*wide)).astype(np.asarray(args[0]).dtype)[()]

    return rounded


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y)


def _shift(left: bool) -> Callable[[Any, Any], Any]:
    """A shift that gives 0, or the sign, for counts that are negative or at least the width."""

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
    """Two roundings for float64; narrower products are exact, and their sum is rounded to float64 first."""
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
"""The functions of intrinsics by name. Those on floats are computed in float64 and rounded once."""


def intrinsic(name: str) -> Callable[..., Any]:
    """The function of the intrinsic ``name``; UnsupportedError if it is unknown."""
    if name not in INTRINSICS:
        raise UnsupportedError(f"the interpreter does not know the intrinsic {name!r}")
    return INTRINSICS[name]


def reinterpret(value: Any, dtype: str) -> Any:
    """The bits of ``value`` read as ``dtype``."""
    return np.ascontiguousarray(value).reshape(-1).view(dtypes.numpy_of(dtype)).reshape(np.shape(value))[()]


def bits(value: Any, dtype: np.dtype, lanes: int) -> Any:
    """The bits of ``value``, a scalar or vector, read as ``lanes`` values of ``dtype``."""
    read = np.ascontiguousarray(value).reshape(-1).view(dtype)
    return read[0] if lanes == 1 else read


def splat(value: Any, lanes: int) -> Any:
    """``value`` broadcast to ``lanes`` lanes; a vector is returned unchanged."""
    return value if lanes == 1 or np.ndim(value) else np.full(lanes, value)


def choose(test: Any, a: Any, b: Any, lanes: int) -> Any:
    """``a`` where ``test`` holds, else ``b``."""
    if lanes == 1:
        return a if test else b
    return np.where(test, a, b)
