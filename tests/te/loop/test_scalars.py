"""The semantics of scalar operations, compared with Python's own numbers."""

import math

import numpy as np
import pytest

from tvmlite.te import expr as e
from tvmlite.te.loop import scalars

EDGES = {name: [np.iinfo(name).min, np.iinfo(name).max] for name in ("int8", "uint8", "int32", "int64")}


def wrapped(value: int, dtype: str) -> int:
    bits = np.dtype(dtype).itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


def truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("dtype", list(EDGES))
@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (e.Add, lambda a, b: a + b),
        (e.Sub, lambda a, b: a - b),
        (e.Mul, lambda a, b: a * b),
        (e.FloorDiv, lambda a, b: a // b if b else 0),
        (e.FloorMod, lambda a, b: a % b if b else 0),
        (e.TruncDiv, lambda a, b: truncdiv(a, b) if b else 0),
        (e.TruncMod, lambda a, b: a - b * truncdiv(a, b) if b else 0),
    ],
)
def test_ints_wrap_and_never_trap(dtype: str, make: type, rule: object) -> None:
    low, high = EDGES[dtype]
    numbers = [n for n in (low, low + 1, -7, -2, -1, 0, 1, 2, 3, 7, high - 1, high) if low <= n <= high]
    left, right = (x.reshape(-1).astype(dtype) for x in np.meshgrid(numbers, numbers))

    with np.errstate(all="ignore"):
        found = scalars.BINARY[make](left, right)
        one = scalars.BINARY[make](left[0], right[0])

    wanted = [wrapped(rule(int(a), int(b)), dtype) for a, b in zip(left, right, strict=True)]  # type: ignore[operator]
    assert found.tolist() == wanted
    assert found.dtype == dtype
    assert one == found[0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_casts_truncate_and_saturate(dtype: str, source: str) -> None:
    limits = np.iinfo(dtype)
    values = [0.0, -0.9, 1.9, -1.9, 127.5, 200.0, -200.0, 3e9, -3e9, 1e30, -1e30, np.inf, -np.inf, np.nan]

    found = scalars.cast(np.array(values, source), dtype)

    def wanted(value: float) -> int:
        if math.isnan(value):
            return 0
        return max(limits.min, min(limits.max, limits.max if value > 1e29 else int(max(value, -1e29))))

    assert found.tolist() == [wanted(v) for v in values]
    assert found.dtype == dtype
    assert scalars.cast(np.dtype(source).type(np.nan), dtype) == 0


def test_min_and_max_propagate_nan() -> None:
    nan, one = np.float32("nan"), np.float32(1)

    assert np.isnan(scalars.BINARY[e.Min](nan, one))
    assert np.isnan(scalars.BINARY[e.Max](one, nan))


def test_shifts_by_the_width_or_more_are_defined() -> None:
    a = np.array([-8, 8, 8, -8, 1], "int32")
    b = np.array([1, 1, 32, 40, 31], "int32")

    assert scalars.INTRINSICS["shift_right"](a, b).tolist() == [-4, 4, 0, -1, 0]
    assert scalars.INTRINSICS["shift_left"](a, b).tolist() == [-16, 16, 0, 0, -(2**31)]


def test_popcount_and_clz_count_bits() -> None:
    a = np.array([0, 1, -1, 255], "int16")

    assert scalars.INTRINSICS["popcount"](a).tolist() == [0, 1, 16, 8]
    assert scalars.INTRINSICS["clz"](a).tolist() == [16, 15, 0, 8]
    assert scalars.INTRINSICS["clz"](np.uint8(1)) == 7


def test_every_intrinsic_of_the_table_has_an_implementation() -> None:
    from tvmlite.te.tensor.intrinsics import PREFETCHES, TABLE

    special = {"if_then_else", "reinterpret", *PREFETCHES}
    assert set(TABLE) - special == set(scalars.INTRINSICS)
    for name, row in TABLE.items():
        if name not in special:
            dtype = "int32" if row.argument_kind == "int" else "float32"
            args = [np.array([0, 1], "bool" if name == "likely" else dtype)] * row.arity
            with np.errstate(all="ignore"):
                result = scalars.INTRINSICS[name](*args)
            assert result.dtype == (row.result_dtype or args[0].dtype), name


def test_float16_and_bfloat16_are_rounded_after_each_step() -> None:
    a, b = np.float16(2048), np.float16(1)

    assert scalars.BINARY[e.Add](a, b) == 2048
    assert scalars.INTRINSICS["exp"](np.float16(1)) == np.float16(math.e)
    assert scalars.cast(np.float32(1.00390625), "bfloat16").astype("float32") == 1.0


def test_reinterpret_keeps_the_bits() -> None:
    assert scalars.reinterpret(np.float32(1.0), "int32") == 0x3F800000
    assert scalars.reinterpret(np.array([1, 2], "int32"), "float32").dtype == "float32"
