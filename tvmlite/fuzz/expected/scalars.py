"""The meaning of each scalar node, on bounded values: the fuzzer's own reading of ``te.expr``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.expected.bounded import WIDE, Bounded, bits_needed, constant, error_masks, of_ints, rounded
from tvmlite.te import expr as e

ULPS = 16.0
"""The error of the mathematical functions, as a number of roundings (half ULPs)."""


def binary(node: e.Binary, a: Bounded, b: Bounded) -> Bounded:
    """Apply ``node`` to its operands' values."""
    if isinstance(node, e.Compare):
        return _compare(node, a, b)
    if isinstance(node, (e.And, e.Or)):
        return _logical(a, b, isinstance(node, e.And))
    if isinstance(node, (e.Min, e.Max)):
        return _extreme(a, b, isinstance(node, e.Min))
    return _FLOAT[type(node)](a, b) if a.is_float else _int(node, a, b)


def add(a: Bounded, b: Bounded) -> Bounded:
    """Add floats."""
    value = a.value + b.value
    made = rounded(value, a.error + b.error, a.dtype, a, b)
    twice = a.value == b.value  # then the sum is a product
    return Bounded(
        made.value, np.where(twice, _unknown_if_overflowing(value, made).error, made.error), made.dtype
    )


def _subtract(a: Bounded, b: Bounded) -> Bounded:
    return rounded(a.value - b.value, a.error + b.error, a.dtype, a, b)


def multiply(a: Bounded, b: Bounded) -> Bounded:
    """Multiply floats."""
    fits = a.dtype != "float64" or bits_needed(a.value) + bits_needed(b.value) <= 64
    value = a.value * b.value
    return _unknown_if_overflowing(value, rounded(value, _product_error(a, b), a.dtype, a, b, is_exact=fits))


def _unknown_if_overflowing(value: np.ndarray, made: Bounded) -> Bounded:
    """Mark products that overflow as unknown: as part of a fused multiply-add they do not."""
    overflows = np.isfinite(value) & ~np.isfinite(made.value)
    return Bounded(made.value, np.where(overflows, np.inf, made.error), made.dtype)


def _product_error(a: Bounded, b: Bounded) -> Any:
    both = np.where((a.error == 0) | (b.error == 0), 0.0, a.error * b.error)
    left = np.where(b.error == 0, 0.0, np.abs(a.value) * b.error)
    return left + np.where(a.error == 0, 0.0, np.abs(b.value) * a.error) + both


def _divide(a: Bounded, b: Bounded) -> Bounded:
    value = a.value / b.value
    room = np.abs(b.value) - b.error
    both_exact = (a.error == 0) & (b.error == 0)
    error = np.where(room > 0, (a.error + np.abs(value) * b.error) / room, np.inf)
    error = np.where(both_exact & np.isfinite(value), 0.0, error)
    made = rounded(value, error, a.dtype, a, b, is_exact=bits_needed(value) <= 60)
    signless = (b.value == 0) & ~np.isnan(value)  # the sign of the zero is unknown
    made = Bounded(made.value, np.where(signless & (made.error == 0), np.inf, made.error), a.dtype)
    by_power_of_two = np.abs(np.frexp(b.value)[0]) == 0.5  # may be computed as a multiplication
    error = np.where(by_power_of_two, _unknown_if_overflowing(value, made).error, made.error)
    return Bounded(made.value, error, a.dtype)


def _remainder(a: Bounded, b: Bounded) -> Bounded:
    value = np.fmod(a.value, b.value)
    return rounded(value, np.where(error_masks(a, b)[0], 0.0, np.inf), a.dtype, a, b)


_FLOAT: dict[type[e.Binary], Callable[[Bounded, Bounded], Bounded]] = {
    e.Add: add,
    e.Sub: _subtract,
    e.Mul: multiply,
    e.Div: _divide,
    e.TruncMod: _remainder,
}


def _int(node: e.Binary, a: Bounded, b: Bounded) -> Bounded:
    x, y = np.broadcast_arrays(a.value, b.value)
    match node:
        case e.Add():
            value = x + y
        case e.Sub():
            value = x - y
        case e.Mul():
            value = x * y
        case _:
            value = _int_division(node, x, y)
    return of_ints(value, a.dtype, a, b)


def _int_division(node: e.Binary, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    one = y.dtype.type(1)
    signed = y.dtype.kind == "i"
    overflow = (x == np.iinfo(x.dtype).min) & (y == -1) if signed else np.zeros(x.shape, bool)
    safe = np.where((y == 0) | overflow, one, y)
    floor = np.where(y == 0, 0, x // safe).astype(x.dtype)
    rest = np.where((y == 0) | overflow, 0, x - (x // safe) * safe).astype(x.dtype)
    match node:
        case e.FloorDiv():
            return floor
        case e.FloorMod():
            return rest
    up = (rest != 0) & ((x < 0) != (y < 0))
    if isinstance(node, e.TruncDiv):
        return np.where(up, floor + one, floor)
    return np.where(up, rest - safe, rest)


def _compare(node: e.Compare, a: Bounded, b: Bounded) -> Bounded:
    x, y = a.value, b.value
    match node:
        case e.Equal():
            value = x == y
        case e.NotEqual():
            value = x != y
        case e.Less():
            value = x < y
        case _:
            value = x <= y
    all_exact, out_of_bounds = error_masks(a, b)
    if a.is_float:
        tolerance = a.error + b.error
        distance = np.abs(x - y)
        all_exact = all_exact | (
            np.isfinite(tolerance) & (np.isnan(x) | np.isnan(y) | (distance > tolerance))
        )
    error = np.where(out_of_bounds, np.nan, np.where(all_exact, 0.0, np.inf))
    return Bounded(np.asarray(value), np.broadcast_to(error, np.shape(value)), "bool")


def _logical(a: Bounded, b: Bounded, both: bool) -> Bounded:
    value = a.value & b.value if both else a.value | b.value
    decided = ((a.error == 0) & (a.value != both)) | ((b.error == 0) & (b.value != both))
    all_exact, out_of_bounds = error_masks(a, b)
    return Bounded(value, np.where(out_of_bounds, np.nan, np.where(all_exact | decided, 0.0, np.inf)), "bool")


def negate(a: Bounded) -> Bounded:
    """``not a``"""
    return Bounded(~a.value, a.error, "bool")


def _extreme(a: Bounded, b: Bounded, least: bool) -> Bounded:
    value = (np.minimum if least else np.maximum)(a.value, b.value)
    if not a.is_float:
        return of_ints(value, a.dtype, a, b)
    error = np.maximum(a.error, b.error)
    nan = (np.isnan(a.value) & (a.error == 0)) | (np.isnan(b.value) & (b.error == 0))
    error = np.where(nan, 0.0, error)
    return Bounded(value, np.where(error_masks(a, b)[1], np.nan, error), a.dtype)


def choose(test: Bounded, a: Bounded, b: Bounded, lazy: bool) -> Bounded:
    """Return ``a`` where ``test`` holds, else ``b``; the other one may be out of bounds if ``lazy``."""
    value = np.where(test.value, a.value, b.value)
    error = np.where(test.value, a.error, b.error)
    error = np.where(test.error > 0, np.inf, error)
    out_of_bounds = error_masks(test, a, b)[1] if not lazy else np.isnan(test.error) | np.isnan(error)
    return Bounded(value, np.where(out_of_bounds, np.nan, error), a.dtype)


def cast(a: Bounded, dtype: str) -> Bounded:
    """Convert ``a``: floats to ints truncate and saturate, and NaN becomes 0."""
    if dtype == a.dtype:
        return a
    if dtype == "bool":
        all_exact = (a.error == 0) | ((np.abs(a.value) > a.error) if a.is_float else False)
        error = np.where(np.isnan(a.error), np.nan, np.where(all_exact, 0.0, np.inf))
        return Bounded(a.value != 0, error, "bool")
    if dtypes.is_float(dtype):
        return rounded(a.value.astype(WIDE), a.error, dtype, a)
    if not a.is_float:
        return of_ints(a.value.astype(dtypes.numpy_of(dtype)), dtype, a)
    value = _to_int(a.value, dtype)
    low, high = _to_int(a.value - a.error, dtype), _to_int(a.value + a.error, dtype)
    error = np.where(a.error == 0, 0.0, high.astype(np.float64) - low.astype(np.float64))
    error = np.where(np.isfinite(a.error), error, a.error)
    return Bounded(value, error, dtype)


def _to_int(value: np.ndarray, dtype: str) -> np.ndarray:
    info = np.iinfo(dtypes.numpy_of(dtype))
    truncated = np.trunc(np.where(np.isnan(value), 0, value))
    inside = (truncated > info.min) & (truncated < info.max)
    limit = np.where(truncated > 0, info.dtype.type(info.max), info.dtype.type(0))
    limit = np.where(truncated < 0, info.dtype.type(info.min), limit)
    return np.where(inside, np.where(inside, truncated, 0).astype(info.dtype), limit)


def reinterpret(a: Bounded, dtype: str) -> Bounded:
    """Reinterpret the bits of ``a``; unknown if ``a`` is not exact, or is a float NaN or zero."""
    raw = np.ascontiguousarray(a.value.astype(dtypes.numpy_of(a.dtype)))
    made = exact_view(raw, dtype).reshape(np.shape(a.value))
    unknown = (a.error != 0) | ((np.isnan(a.value) | (a.value == 0)) if a.is_float else False)
    error = np.where(np.isnan(a.error), np.nan, np.where(unknown, np.inf, 0.0))
    return Bounded(made.astype(WIDE) if dtypes.is_float(dtype) else made, error, dtype)


def exact_view(raw: np.ndarray, dtype: str) -> np.ndarray:
    """Return the bytes of ``raw`` as elements of ``dtype``."""
    return raw.reshape(-1).view(dtypes.numpy_of(dtype))


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x, np.float64)).astype(WIDE)


_MONOTONE: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in "exp log log2 log10 tanh sqrt sinh".split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan sinh cosh tanh".split()},
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "erf": _erf,
}
_ROUNDING: dict[str, Callable[[Any], Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}


def call(name: str, dtype: str, args: list[Bounded]) -> Bounded:
    """Apply the intrinsic ``name``; raise a KeyError if it is not known here."""
    a = args[0]
    if name in _MONOTONE:
        return _monotone(_MONOTONE[name], a, 2.0 if name == "sqrt" else ULPS)
    if name in _ROUNDING:
        return _rounding(_ROUNDING[name], a)
    if name in ("sin", "cos", "cosh", "tan"):
        return _smooth(name, a)
    if name in ("abs", "fabs"):
        return Bounded(np.abs(a.value), a.error, dtype) if a.is_float else of_ints(np.abs(a.value), dtype, a)
    if name in ("isnan", "isinf", "isfinite"):
        error = np.where(np.isfinite(a.error) | np.isnan(a.error), a.error * 0, np.inf)
        return Bounded(getattr(np, name)(a.value), error, "bool")
    if name == "reinterpret":
        return reinterpret(a, dtype)
    return _OTHERS[name](*args)


def _monotone(function: Callable[[Any], Any], a: Bounded, ulps: float) -> Bounded:
    value = function(a.value)
    error = np.maximum(
        np.abs(function(a.value + a.error) - value), np.abs(function(a.value - a.error) - value)
    )
    error = np.where(np.isinf(a.error), np.inf, error)  # it may be NaN, which no function bounds
    return rounded(value, np.where(a.error == 0, 0.0, error), a.dtype, a, ulps=ulps)


def _rounding(function: Callable[[Any], Any], a: Bounded) -> Bounded:
    value = function(a.value)
    low, high = function(a.value - a.error), function(a.value + a.error)
    return rounded(value, np.where(a.error == 0, 0.0, high - low), a.dtype, a)


def _smooth(name: str, a: Bounded) -> Bounded:
    value = getattr(np, name)(a.value)
    slope: Any = 1.0
    if name == "cosh":
        slope = np.sinh(np.abs(a.value) + a.error)
    elif name == "tan":
        slope = np.where(np.abs(a.value) + a.error < 1.5, 1 + np.tan(np.abs(a.value) + a.error) ** 2, np.inf)
    return rounded(value, np.where(a.error == 0, 0.0, slope * a.error), a.dtype, a, ulps=ULPS)


def _only_exact(function: Callable[..., Any], ulps: float = ULPS) -> Callable[..., Bounded]:
    """Return ``function`` on bounded values; its result is unknown unless all arguments are exact."""

    def apply(*args: Bounded) -> Bounded:
        all_exact, _ = error_masks(*args)
        return rounded(
            function(*(a.value for a in args)),
            np.where(all_exact, 0.0, np.inf),
            args[0].dtype,
            *args,
            ulps=ulps,
        )

    return apply


def _copysign(a: Bounded, b: Bounded) -> Bounded:
    unknown_sign = (np.abs(b.value) <= b.error) | (b.value == 0) | np.isnan(b.value)
    error = np.where(unknown_sign & ~np.isnan(b.error), np.inf, a.error)
    return Bounded(np.copysign(a.value, b.value), np.where(error_masks(a, b)[1], np.nan, error), a.dtype)


def _atan2(a: Bounded, b: Bounded) -> Bounded:
    made = _only_exact(np.arctan2)(a, b)
    return Bounded(made.value, np.where((a.value == 0) | (b.value == 0), np.inf, made.error), a.dtype)


def _fma(a: Bounded, b: Bounded, c: Bounded) -> Bounded:
    return add(multiply(a, b), c)


def _shift(a: Bounded, b: Bounded, left: bool) -> Bounded:
    width = dtypes.bits(a.dtype)
    x, count = np.broadcast_arrays(a.value, b.value)
    made = []
    for value, by in zip(x.reshape(-1).tolist(), count.reshape(-1).tolist(), strict=True):
        inside = 0 <= by < width
        if left:
            made.append((value << by) if inside else 0)
        else:
            made.append(value >> (by if inside else width))
    wrapped = [constant_int(v, a.dtype) for v in made]
    return of_ints(np.array(wrapped, dtypes.numpy_of(a.dtype)).reshape(x.shape), a.dtype, a, b)


def constant_int(value: int, dtype: str) -> int:
    """Return ``value`` wrapped to ``dtype``."""
    width = dtypes.bits(dtype)
    value &= (1 << width) - 1
    return value - (1 << width) if not dtypes.is_unsigned(dtype) and value >> (width - 1) else value


def _count(a: Bounded, leading: bool) -> Bounded:
    width = dtypes.bits(a.dtype)
    patterns = [int(v) & ((1 << width) - 1) for v in a.value.reshape(-1).tolist()]
    made = [width - p.bit_length() if leading else p.bit_count() for p in patterns]
    return of_ints(np.array(made, dtypes.numpy_of(a.dtype)).reshape(a.value.shape), a.dtype, a)


_OTHERS: dict[str, Callable[..., Bounded]] = {
    "pow": _only_exact(np.power, 4 * ULPS),
    "fmod": _only_exact(np.fmod),
    "atan2": _atan2,
    "copysign": _copysign,
    "fma": _fma,
    "bitwise_and": lambda a, b: of_ints(a.value & b.value, a.dtype, a, b),
    "bitwise_or": lambda a, b: of_ints(a.value | b.value, a.dtype, a, b),
    "bitwise_xor": lambda a, b: of_ints(a.value ^ b.value, a.dtype, a, b),
    "bitwise_not": lambda a: of_ints(~a.value, a.dtype, a),
    "shift_left": lambda a, b: _shift(a, b, True),
    "shift_right": lambda a, b: _shift(a, b, False),
    "popcount": lambda a: _count(a, False),
    "clz": lambda a: _count(a, True),
    "likely": lambda a: a,
    "fits_int32": lambda a: a,
}

TRUE, FALSE = constant(True, "bool"), constant(False, "bool")
