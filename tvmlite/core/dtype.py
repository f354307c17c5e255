"""Scalar data types: plain strings such as ``"float32"``, and what is known of each."""

from __future__ import annotations

import numpy as np

from tvmlite.core.errors import UnsupportedError

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
ALL = (*FLOATS, *SIGNED, *UNSIGNED, "bool")

_BITS = {"bfloat16": 16, "bool": 8} | {name: int(name.lstrip("uintfloa")) for name in ALL[:1] + ALL[2:-1]}


def check(dtype: object) -> str:
    """``dtype`` as one of our names; accepts numpy dtypes and scalar types too."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name  # type: ignore[call-overload]
    if name == "bool_":
        name = "bool"
    if name not in _BITS:
        raise UnsupportedError(f"dtype {name!r} is not supported; supported are {', '.join(ALL)}")
    return name


def bits(dtype: str) -> int:
    """Width in memory, in bits (a bool takes a byte)."""
    return _BITS[dtype]


def bytes_of(dtype: str) -> int:
    """Width in memory, in bytes."""
    return _BITS[dtype] // 8


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_int(dtype: str) -> bool:
    """Signed or unsigned; a bool is not an int."""
    return dtype in SIGNED or dtype in UNSIGNED


def is_unsigned(dtype: str) -> bool:
    return dtype in UNSIGNED


def limits(dtype: str) -> tuple[float | int, float | int]:
    """The least and the greatest finite value."""
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
    """The numpy dtype; ``bfloat16`` comes from the ml_dtypes package."""
    if dtype == "bfloat16":
        try:
            import ml_dtypes  # an optional extra: only bfloat16 arrays need it
        except ImportError:
            raise UnsupportedError(
                "dtype 'bfloat16' needs the package ml_dtypes", hint="pip install ml_dtypes"
            ) from None
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def promote(left: str, right: str) -> str:
    """The common dtype of a binary operation: floats win over ints, wide over narrow.

    A signed and an unsigned int of one width give the signed one, as in TVM.
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
        raise UnsupportedError(f"no common dtype of {left} and {right}: cast one of them")
    return left if left in SIGNED else right
