"""Narrow dtypes become bytes: copies stay bytes, operands of arithmetic are decoded first."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.passes.narrow import narrow
from tvmlite.te.lowering.lower import lower

N = 20


def function(dtype: str, formula: object, inputs: int = 1, out: str = "") -> ir.Function:
    given = [te.placeholder((N,), dtype, f"x{k}") for k in range(inputs)]
    made = te.compute((N,), lambda i: formula(*(x[i] for x in given)), name="y")  # type: ignore[operator]
    assert made.dtype == (out or dtype)
    return lower(te.create_schedule(made.op), [*given, made], "f")


def test_copied_elements_are_copied_as_bytes() -> None:
    after = narrow(function("float8_e4m3fn", lambda x: x))

    assert str(after).splitlines()[1:] == ["    for i in range(0, 20):", "        y[i] = x0[i]"]
    assert [(b.dtype, b.narrow_dtype) for b in after.buffers] == [("uint8", "float8_e4m3fn")] * 2


def test_narrow_ints_are_the_low_bits_of_a_byte() -> None:
    after = narrow(function("int4", lambda x: x.astype("int32"), out="int32"))

    assert str(after).splitlines()[-1].strip() == ("y[i] = bitwise_xor(bitwise_and(int32(x0[i]), 15), 8) - 8")


def test_a_function_without_narrow_dtypes_is_unchanged() -> None:
    before = function("int8", lambda x: x + x)

    assert narrow(before) is before


@pytest.mark.parametrize("dtype", [d for d in dtypes.NARROW if d != dtypes.POWER_OF_TWO])
@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: x + y,
        lambda x, y: x * y,
        lambda x, y: te.max(x, y),
        lambda x, y: te.if_then_else(x < y, x, y),
        lambda x, y: e.Select(x <= y, y, e.const(1, x.dtype)),
    ],
)
def test_arithmetic_is_rounded_once(dtype: str, formula: object) -> None:
    kind = dtypes.numpy_of(dtype)
    rng = np.random.default_rng(1)
    low, high = dtypes.limits(dtype)
    x, y = (rng.uniform(max(low, -6), min(high, 6) + 1, N).astype(kind) for _ in range(2))
    before = function(dtype, formula, 2)
    after, expected, made = narrow(before), np.empty(N, kind), np.empty(N, kind)

    interpret(before, [x, y, expected])
    interpret(after, [x, y, made])

    np.testing.assert_array_equal(made.view(np.uint8), expected.view(np.uint8))


def test_a_math_function_is_computed_in_float32() -> None:
    x = np.linspace(-3, 3, N).astype(ml_dtypes.float8_e5m2)
    before = function("float8_e5m2", te.exp)
    made = np.empty_like(x)

    interpret(narrow(before), [x, made])

    expected = np.exp(x.astype(np.float64)).astype(np.float32).astype(x.dtype)
    np.testing.assert_array_equal(made.view(np.uint8), expected.view(np.uint8))


def test_a_built_function_takes_and_returns_arrays_of_the_narrow_dtype() -> None:
    n = te.var("n")
    x = te.placeholder((n,), "float4_e2m1fn", "x")
    y = te.compute((n,), lambda i: x[i] * te.const(2, "float4_e2m1fn"), name="y")
    given = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn)
    made = np.empty_like(given)

    tvmlite.build(te.create_schedule(y.op), [x, y], "native")(given, made)

    doubled = (given.astype(np.float32) * 2).astype(given.dtype)
    np.testing.assert_array_equal(made.view(np.uint8), doubled.view(np.uint8))


def test_a_scalar_argument_is_refused() -> None:
    x, s = te.placeholder((N,), "float8_e5m2", "x"), te.var("s", "float8_e5m2")
    y = te.compute((N,), lambda i: x[i] + s, name="y")
    before = lower(te.create_schedule(y.op), [x, s, y], "f")

    with pytest.raises(UnsupportedError, match=r"argument 's' is a scalar of float8_e5m2; expected an array"):
        narrow(before)


def test_bit_counting_is_refused() -> None:
    before = function("int4", lambda x: e.Call("popcount", (x,), "int4"))

    with pytest.raises(UnsupportedError, match="popcount of int4: cast it to a wider dtype first"):
        narrow(before)
