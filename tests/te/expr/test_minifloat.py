"""Conversions of narrow dtypes agree with ml_dtypes bit for bit, for all codes and edge floats."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.te.expr.minifloat import CODES
from tvmlite.te.loop import interpret
from tvmlite.te.lowering.lower import lower

TO = ("float32", "float16", "float64", "bfloat16", "int32")


def edges() -> np.ndarray:
    """Every float32 of 16 significant bits, its neighbours, and the neighbours of the ties between two."""
    high = np.arange(2**16, dtype=np.uint32) << 16
    bits = [high | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    return np.concatenate([*bits, np.arange(0, 2**24, 4097, dtype=np.uint32)]).view(np.float32)


def codes(dtype: str) -> np.ndarray:
    form = CODES.get(dtype)
    count = 2 * form.sign if form else 256 if dtype == dtypes.POWER_OF_TWO else 1 << dtypes.width(dtype)
    return np.arange(count, dtype=np.uint8).view(dtypes.numpy_of(dtype))


def converted(x: np.ndarray, to: tuple[str, ...], target: str) -> list[np.ndarray]:
    """``x`` cast to each of ``to`` by a kernel with vectors of 16 lanes and a tail."""
    n = te.var("n")
    given = te.placeholder((n,), dtypes.check(x.dtype), "x")
    made = [te.compute((n,), lambda i, d=d: given[i].astype(d), name=d) for d in to]
    schedule = te.create_schedule([m.op for m in made])
    for one in made:
        _, inner = schedule[one].split(one.op.axis[0], 16)
        schedule[one].vectorize(inner)
    results = [np.empty(x.shape, dtypes.numpy_of(d)) for d in to]
    tvmlite.build(schedule, [given, *made], target)(x, *results)
    return results


def assert_same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """Assert equality bit for bit, except for the payload of a NaN wider than a byte."""
    assert got.dtype == expected.dtype
    plain = np.zeros(got.shape, bool)
    if got.dtype.itemsize > 1 and dtypes.is_float(dtypes.check(got.dtype)):
        plain = np.isnan(got.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    kind = np.dtype(f"u{got.dtype.itemsize}")
    same = plain | (got.view(kind) == expected.view(kind))
    first = int(np.argmin(same))
    assert same.all(), f"at {first}: {got[first]!r}, expected {expected[first]!r}"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("dtype", dtypes.NARROW)
def test_floats_are_rounded_like_ml_dtypes(dtype: str, target: str) -> None:
    x = edges()

    (made,) = converted(x, (dtype,), target)

    with np.errstate(all="ignore"):
        assert_same_bits(made, x.astype(dtypes.numpy_of(dtype)))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("dtype", dtypes.NARROW)
def test_every_code_has_the_value_of_ml_dtypes(dtype: str, target: str) -> None:
    x = codes(dtype)

    made = converted(x, TO, target)

    with np.errstate(all="ignore"):
        for name, one in zip(TO, made, strict=True):
            inside = np.abs(x.astype(np.float64)) < 2**31 if name == "int32" else np.ones(x.shape, bool)
            assert_same_bits(one[inside], x.astype(dtypes.numpy_of(name))[inside])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [d for d in dtypes.NARROW if d != dtypes.POWER_OF_TWO])
def test_other_dtypes_are_converted_like_ml_dtypes(dtype: str) -> None:
    floats = edges()
    with np.errstate(all="ignore"):
        sources = [
            floats.astype(np.float16),
            floats.astype(ml_dtypes.bfloat16),
            floats.astype(np.float64) * (1 + 2.0**-30),
            np.arange(-300, 300, dtype=np.int32) * 1001,
            np.arange(-300, 300, dtype=np.int64) * 2**30,
            np.arange(256, dtype=np.uint8),
        ]
        for x in sources:
            (made,) = converted(x, (dtype,), "native")
            assert_same_bits(made, x.astype(dtypes.numpy_of(dtype)))


@pytest.mark.parametrize("dtype", dtypes.NARROW)
def test_the_interpreter_converts_like_ml_dtypes(dtype: str) -> None:
    x = np.concatenate([edges()[::1013], np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)])
    given = te.placeholder(x.shape, "float32", "x")
    made = te.compute(x.shape, lambda i: given[i].astype(dtype), name="made")
    back = te.compute(x.shape, lambda i: made[i].astype("float32"), name="back")
    function = lower(te.create_schedule(back.op), [given, made, back])
    results = np.empty(x.shape, dtypes.numpy_of(dtype)), np.empty(x.shape, np.float32)

    interpret.interpret(function, [x, *results])

    with np.errstate(all="ignore"):
        expected = x.astype(dtypes.numpy_of(dtype))
    assert_same_bits(results[0], expected)
    assert_same_bits(results[1], expected.astype(np.float32))


def test_narrow_dtypes_are_converted_to_each_other() -> None:
    for x in (codes("float8_e4m3fn"), codes("int4")):
        wanted = ("float8_e5m2", "float4_e2m1fn", "float8_e8m0fnu", "int4", "uint2")
        for name, made in zip(wanted, converted(x, wanted, "native"), strict=True):
            with np.errstate(all="ignore"):
                assert_same_bits(made, x.astype(np.float32).astype(dtypes.numpy_of(name)))
