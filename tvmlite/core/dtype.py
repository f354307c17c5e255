"""Scalar data types: plain strings such as ``"float32"``, and the properties of each.

Processors compute with those of ``ALL``. The ``NARROW`` ones, floats of at most 8 bits and ints of at most 4,
are only stored and converted. They take one byte per element in memory, with their bits at its low end
(as in ml_dtypes); arithmetic on the floats is done in float32 and rounded once. Casts are those of ml_dtypes:

- to a narrow float: by way of float32, to nearest even; values beyond the greatest become infinity or NaN if
  the dtype has one (the ONNX importer of ``relay`` clips first where ONNX asks for saturation);
- to int4, uint4, int2, uint2: truncated, keeping the low bits; infinities and NaN become 0.
"""

from __future__ import annotations

import numpy as np

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
ALL = (*FLOATS, *SIGNED, *UNSIGNED, "bool")

POWER_OF_TWO = "float8_e8m0fnu"
"""A dtype with an exponent only: the value is 2 ** (code - 127), 255 is NaN; no zero and no sign."""

MINIFLOATS = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
    "float4_e2m1fn": 6.0,
}
"""Floats of at most eight bits, with their greatest finite values; ``te.expr.minifloat`` encodes them."""

NARROW_FLOATS = (*MINIFLOATS, POWER_OF_TWO)
NARROW_INTS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
"""The narrow ints with their widths; in memory an element takes one byte, whose upper bits are 0."""

NARROW = (*NARROW_FLOATS, *NARROW_INTS)

_BITS = {"bfloat16": 16, "bool": 8} | {name: int(name.lstrip("uintfloa")) for name in ALL[:1] + ALL[2:-1]}
_BITS |= dict.fromkeys(NARROW, 8)


def check(dtype: object) -> str:
    """The name of ``dtype``, which may also be a numpy dtype or scalar type; an error if not supported."""
    try:
        name = str(dtype) if isinstance(dtype, str) else np.dtype(dtype).name  # type: ignore[call-overload]
    except (TypeError, ValueError):
        name = f"of a {type(dtype).__name__}"
    if dtype is None:  # numpy's default would be float64
        name = "None"
    if name == "bool_":
        name = "bool"
    if name not in _BITS:
        raise UnsupportedError(
            f"dtype {name!r} is not supported; supported are {', '.join((*ALL, *NARROW))}", Span.of_caller()
        )
    return name


def is_known(name: object) -> bool:
    """Whether ``name`` is the name of a dtype."""
    return type(name) is str and name in _BITS


def bits(dtype: str) -> int:
    """The width in memory, in bits (bools and narrow dtypes take one byte)."""
    return _BITS[dtype]


def width(dtype: str) -> int:
    """The number of significant bits: 4 for int4, which takes 8 in memory."""
    known = NARROW_INTS.get(dtype) or _BITS.get(dtype)
    return _BITS[check(dtype)] if known is None else known


def is_narrow(dtype: str) -> bool:
    """Whether elements are only stored and converted: floats of at most eight bits, ints of at most four."""
    return dtype in NARROW


def bytes_of(dtype: str) -> int:
    """The width in memory, in bytes."""
    return _BITS[dtype] // 8


def is_float(dtype: str) -> bool:
    """Whether elements are floats of any width, from float64 down to those of 8 bits or fewer."""
    return dtype in FLOATS or dtype in NARROW_FLOATS


def is_int(dtype: str) -> bool:
    """Whether elements are signed or unsigned ints; a bool is not an int."""
    return dtype in SIGNED or dtype in UNSIGNED or dtype in NARROW_INTS


def is_unsigned(dtype: str) -> bool:
    """Whether elements are unsigned ints; a bool is not."""
    return dtype in UNSIGNED or dtype in ("uint4", "uint2")


def limits(dtype: str) -> tuple[float | int, float | int]:
    """The least and the greatest finite value."""
    if dtype in MINIFLOATS:
        return -MINIFLOATS[dtype], MINIFLOATS[dtype]
    if dtype == POWER_OF_TWO:
        return 2.0**-127, 2.0**127
    if dtype in NARROW_INTS:
        high = (1 << NARROW_INTS[dtype]) - 1
        return (0, high) if is_unsigned(dtype) else (-(high // 2) - 1, high // 2)
    if is_float(dtype):
        if dtype == "bfloat16":
            return -3.3895313892515355e38, 3.3895313892515355e38
        info = np.finfo(dtype)
        return float(info.min), float(info.max)
    if dtype == "bool":
        return 0, 1
    ints = np.iinfo(dtype)
    return int(ints.min), int(ints.max)


def numpy_of(dtype: str) -> np.dtype:
    """The numpy dtype; ``bfloat16`` and the narrow ones come from the ml_dtypes package."""
    if dtype == "bfloat16" or dtype in NARROW:
        try:
            import ml_dtypes  # an optional extra: only arrays of these dtypes need it
        except ImportError:
            raise UnsupportedError(
                f"dtype {dtype!r} needs the package ml_dtypes", hint="pip install ml_dtypes"
            ) from None
        return np.dtype(getattr(ml_dtypes, dtype))
    return np.dtype(dtype)


def array_dtype(dtype: str) -> np.dtype:
    """The numpy dtype of arrays passed to and from compiled code; without ml_dtypes, a uint of that width."""
    if dtype == "bfloat16" or dtype in NARROW:
        try:
            return numpy_of(dtype)
        except UnsupportedError:
            return np.dtype(f"uint{bits(dtype)}")
    return np.dtype(dtype)


def promote(left: str, right: str) -> str:
    """The common dtype of a binary operation: floats take precedence over ints, wide dtypes over narrow.

    A signed and an unsigned int of equal width give the unsigned one, as in TVM.
    """
    if left == right:
        return left
    if is_float(left) != is_float(right):
        return left if is_float(left) else right
    if left == "bool" or right == "bool":
        return right if left == "bool" else left
    if bits(left) != bits(right):
        return left if bits(left) > bits(right) else right
    if is_float(left):
        raise UnsupportedError(f"no common dtype of {left} and {right}: cast one of them", Span.of_caller())
    return right if left in SIGNED else left
