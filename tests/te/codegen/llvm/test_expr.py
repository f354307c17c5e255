"""Every scalar operation through LLVM against numpy, on scalars and on vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir

INTS = (*dtypes.SIGNED, *dtypes.UNSIGNED)
NAN, INF = math.nan, math.inf
LANES = pytest.mark.parametrize("lanes", [1, 16])
BASELINE = "llvm -mtriple=x86_64-unknown-linux-gnu"  # no FMA, no rounding instructions, no float16


def edges(dtype: str) -> np.ndarray:
    """256 values of an int dtype: its limits, values around 0, and random ones."""
    low, high = dtypes.limits(dtype)
    picked = [low, int(low) + 1, high, int(high) - 1, *range(-8 if low else 0, 9)]
    random = np.random.default_rng(3).integers(int(low), int(high), 256 - len(picked), dtype, endpoint=True)
    return np.concatenate([np.array([int(p) for p in picked], dtype), random])


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of int values that combine all signs and limits."""
    a = edges(dtype)
    few = a[:16]
    return np.concatenate([np.repeat(few, 16), a]), np.concatenate([np.tile(few, 16), a[::-1]])


def wrapped(value: int, dtype: str) -> int:
    return int(te.const(value, dtype).value)


def floordiv(a: int, b: int) -> int:
    return a // b if b else 0


def floormod(a: int, b: int) -> int:
    return a % b if b else 0


def truncdiv(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def truncmod(a: int, b: int) -> int:
    return a - b * truncdiv(a, b) if b else 0


DIVISIONS = {te.FloorDiv: floordiv, te.FloorMod: floormod, te.TruncDiv: truncdiv, te.TruncMod: truncmod}


@LANES
@pytest.mark.parametrize("dtype", INTS)
def test_ints_wrap_around(elementwise: Any, dtype: str, lanes: int) -> None:
    a, b = pairs(dtype)
    table = {te.Add: np.add, te.Sub: np.subtract, te.Mul: np.multiply, te.Min: np.minimum, te.Max: np.maximum}

    results = elementwise(lambda x, y: [make(x, y) for make in table], a, b, lanes=lanes)

    for result, reference in zip(results, table.values(), strict=True):
        np.testing.assert_array_equal(result, reference(a, b))


@LANES
@pytest.mark.parametrize("dtype", INTS)
def test_divisions_never_trap(elementwise: Any, dtype: str, lanes: int) -> None:
    a, b = pairs(dtype)

    results = elementwise(lambda x, y: [make(x, y) for make in DIVISIONS], a, b, lanes=lanes)

    for result, (make, reference) in zip(results, DIVISIONS.items(), strict=True):
        wanted = [wrapped(reference(int(x), int(y)), dtype) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(result, np.array(wanted, dtype), make.__name__)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
@pytest.mark.parametrize("divisor", [0, 1, 7, 64, -1, -7, -128])
def test_divisions_by_a_constant(elementwise: Any, dtype: str, divisor: int) -> None:
    a = edges(dtype)
    by = te.const(divisor, dtype, 16)

    results = elementwise(lambda x: [make(x, by) for make in DIVISIONS], a, lanes=16)

    for result, (make, reference) in zip(results, DIVISIONS.items(), strict=True):
        wanted = [wrapped(reference(int(x), int(by.value)), dtype) for x in a]
        np.testing.assert_array_equal(result, np.array(wanted, dtype), make.__name__)


@LANES
@pytest.mark.parametrize("dtype", INTS)
def test_shifts_by_more_than_the_width_are_defined(elementwise: Any, dtype: str, lanes: int) -> None:
    width = dtypes.bits(dtype)
    a, b = edges(dtype), (np.arange(256) % (width + 5)).astype(dtype)
    b[-16:] = np.array(-1).astype(dtype)

    left = elementwise(lambda x, y: te.Call("shift_left", (x, y), dtype), a, b, lanes=lanes)
    right = elementwise(lambda x, y: te.Call("shift_right", (x, y), dtype), a, b, lanes=lanes)

    amounts = [int(v) if 0 <= v < width else width for v in b.astype("int64")]
    np.testing.assert_array_equal(
        left, [wrapped(int(x) << n, dtype) for x, n in zip(a, amounts, strict=True)]
    )
    np.testing.assert_array_equal(right, [int(x) >> n for x, n in zip(a, amounts, strict=True)])


@pytest.mark.parametrize("dtype", INTS)
def test_bitwise_operations(elementwise: Any, dtype: str) -> None:
    a, b = pairs(dtype)
    width = dtypes.bits(dtype)
    patterns = [int(v) & ((1 << width) - 1) for v in a]

    wanted = {
        "bitwise_and": a & b,
        "bitwise_or": a | b,
        "bitwise_xor": a ^ b,
        "bitwise_not": ~a,
        "popcount": [p.bit_count() for p in patterns],
        "clz": [width - p.bit_length() for p in patterns],
        "abs": np.abs(a),
    }

    def formulas(x: te.Expr, y: te.Expr) -> list[te.Expr]:
        return [te.Call(name, (x, y) if name in list(wanted)[:3] else (x,), dtype) for name in wanted]

    for name, result in zip(wanted, elementwise(formulas, a, b, lanes=16), strict=True):
        np.testing.assert_array_equal(result, wanted[name], name)


FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, -2.5, 0.1, 1e30, -1e30, 1e-40, INF, -INF, NAN, 1e10, -7.25], "float32"
)


@LANES
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("target", ["native", BASELINE])
def test_float_arithmetic_is_ieee(elementwise: Any, dtype: str, lanes: int, target: str) -> None:
    with np.errstate(all="ignore"):
        a, b = np.repeat(FLOATS, 16).astype(dtype), np.tile(FLOATS, 16).astype(dtype)
        table = {
            te.Add: np.add,
            te.Sub: np.subtract,
            te.Mul: np.multiply,
            te.Div: np.divide,
            te.Min: np.minimum,
            te.Max: np.maximum,
            te.TruncMod: np.fmod,
        }
        results = elementwise(lambda x, y: [make(x, y) for make in table], a, b, lanes=lanes, target=target)
        for result, (make, reference) in zip(results, table.items(), strict=True):
            np.testing.assert_array_equal(result, reference(a, b), make.__name__)


@pytest.mark.parametrize("lanes", [1, 16])
def test_min_and_max_with_a_constant_keep_nan(elementwise: Any, lanes: int) -> None:
    zero, nan = te.const(0.0, "float32", lanes), te.const(NAN, "float32", lanes)

    for make, reference in ((te.Min, np.minimum), (te.Max, np.maximum)):
        wanted = reference(FLOATS, np.float32(0))
        np.testing.assert_array_equal(elementwise(lambda x, m=make: m(x, zero), FLOATS, lanes=lanes), wanted)
        np.testing.assert_array_equal(elementwise(lambda x, m=make: m(zero, x), FLOATS, lanes=lanes), wanted)
        assert np.isnan(elementwise(lambda x, m=make: m(x, nan), FLOATS, lanes=lanes)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_comparisons_with_nan_are_false_except_not_equal(elementwise: Any, dtype: str) -> None:
    a, b = np.repeat(FLOATS, 16).astype(dtype), np.tile(FLOATS, 16).astype(dtype)

    for make, reference in (
        (te.Equal, np.equal),
        (te.NotEqual, np.not_equal),
        (te.Less, np.less),
        (te.LessEqual, np.less_equal),
    ):
        np.testing.assert_array_equal(elementwise(make, a, b, lanes=16), reference(a, b))


@pytest.mark.parametrize("dtype", [*INTS, "bool"])
def test_comparisons_of_ints_respect_signedness(elementwise: Any, dtype: str) -> None:
    a, b = (np.tile([True, False], 8), np.repeat([True, False], 8)) if dtype == "bool" else pairs(dtype)

    np.testing.assert_array_equal(elementwise(te.Less, a, b, lanes=16), a < b)
    np.testing.assert_array_equal(elementwise(te.LessEqual, a, b), a <= b)


@LANES
def test_operations_on_bools(elementwise: Any, lanes: int) -> None:
    a, b = np.tile([True, False], 8), np.repeat([True, False], 8)

    np.testing.assert_array_equal(elementwise(te.And, a, b, lanes=lanes), a & b)
    np.testing.assert_array_equal(elementwise(te.Or, a, b, lanes=lanes), a | b)
    np.testing.assert_array_equal(elementwise(te.Not, a, lanes=lanes), ~a)
    np.testing.assert_array_equal(elementwise(te.Min, a, b, lanes=lanes), a & b)
    np.testing.assert_array_equal(elementwise(te.Max, a, b, lanes=lanes), a | b)


def saturated(values: np.ndarray, to: str) -> np.ndarray:
    """Truncated and clamped with Python ints; NaN becomes 0."""
    low, high = (int(v) for v in dtypes.limits(to))
    whole = [0 if v != v else low if v < low else high if v > high else int(v) for v in values.tolist()]
    return np.array(whole, to)


@LANES
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("to", INTS)
def test_casts_to_ints_saturate(elementwise: Any, source: str, to: str, lanes: int) -> None:
    low, high = (float(v) for v in dtypes.limits(to))
    with np.errstate(over="ignore"):
        around = np.array([low, high, low * 1.001, high * 1.001, low * 0.999, high * 0.999]).astype(source)
        values = np.concatenate([FLOATS.astype(source), around, np.nextafter(around, np.array(0, source))])
    values = np.concatenate([values, np.zeros(-len(values) % 16, source)])

    result = elementwise(lambda x: te.Cast(to, x), values, lanes=lanes)

    np.testing.assert_array_equal(result, saturated(values, to))


@pytest.mark.parametrize("to", [*INTS, "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("source", [*INTS, "bool"])
def test_casts_from_ints(elementwise: Any, source: str, to: str) -> None:
    values = np.tile([True, False], 8) if source == "bool" else edges(source)

    with np.errstate(over="ignore"):
        wanted = values.astype(to)
    np.testing.assert_array_equal(elementwise(lambda x: te.Cast(to, x), values, lanes=16), wanted)


@pytest.mark.parametrize("source", ["float32", "float64", "float16"])
def test_a_float_casts_to_true_unless_it_is_zero(elementwise: Any, source: str) -> None:
    with np.errstate(over="ignore"):
        values = FLOATS.astype(source)

    np.testing.assert_array_equal(elementwise(lambda x: te.Cast("bool", x), values, lanes=16), values != 0)


@pytest.mark.parametrize("target", ["native", BASELINE])
def test_every_float16_survives_widening_and_narrowing(elementwise: Any, target: str) -> None:
    values = np.arange(65536, dtype=np.uint16).view(np.float16)

    wide = elementwise(lambda x: te.Cast("float32", x), values, lanes=16, target=target)
    back = elementwise(lambda x: te.Cast("float16", x), wide, lanes=16, target=target)

    np.testing.assert_array_equal(wide, values.astype(np.float32))
    np.testing.assert_array_equal(back, values)
    np.testing.assert_array_equal(np.signbit(back), np.signbit(values))


def half_ways(dtype: type) -> np.ndarray:
    """Floats at, just above and just below the midpoint of adjacent float16s, and random ones."""
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float64)
    after = (np.arange(0, 0x7C00, 7, dtype=np.uint16) + np.uint16(1)).view(np.float16).astype(np.float64)
    middle = ((halves + np.where(np.isinf(after), 65536.0, after)) / 2).astype(dtype)
    zero, top = np.array(0, dtype), np.array(np.inf, dtype)
    random = np.random.default_rng(1).standard_normal(4000).astype(dtype) * dtype(10.0)
    values = np.concatenate([middle, np.nextafter(middle, zero), np.nextafter(middle, top), random])
    values = np.concatenate([values, -values, FLOATS.astype(dtype)])
    return values[: len(values) // 16 * 16]


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("target", ["native", BASELINE])
def test_narrowing_to_float16_rounds_to_nearest_even_once(
    elementwise: Any, source: type, target: str
) -> None:
    values = half_ways(source)

    result = elementwise(lambda x: te.Cast("float16", x), values, lanes=16, target=target)

    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(result, values.astype(np.float16))


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=x86-64-v3"])
def test_bfloat16_rounds_to_nearest_even(elementwise: Any, target: str) -> None:
    values = np.random.default_rng(5).integers(0, 2**32, 1 << 16, dtype=np.uint32)
    values[:8] = [
        0x3F808000,
        0x3F818000,
        0x3F807FFF,
        0x7F7FFFFF,
        0x7F800001,
        0x00000001,
        0x80008000,
        0x7FC0FFFF,
    ]

    bits = elementwise(lambda x: te.Cast("bfloat16", x), values.view(np.float32), lanes=16, target=target)

    with np.errstate(invalid="ignore"):
        wanted = values.view(np.float32).astype(ml_dtypes.bfloat16).astype("float32")
    if Target.parse(target).has("avx512bf16"):  # the instruction flushes subnormals to 0
        wanted = np.where(np.abs(values.view(np.float32)) < 2.0**-126, np.float32(0), wanted)
    np.testing.assert_array_equal(bits.view(ml_dtypes.bfloat16).astype("float32"), wanted)


@LANES
def test_bfloat16_arithmetic_rounds_each_step(elementwise: Any, lanes: int) -> None:
    generator = np.random.default_rng(9)
    a, b = (generator.standard_normal(256).astype(ml_dtypes.bfloat16) for _ in range(2))

    def formula(x: te.Expr, y: te.Expr) -> te.Expr:
        return te.Add(te.Mul(x, y), te.Div(x, y))

    bits = elementwise(formula, (a.view(np.uint16), "bfloat16"), (b.view(np.uint16), "bfloat16"), lanes=lanes)

    np.testing.assert_array_equal(bits.view(ml_dtypes.bfloat16), a * b + a / b)


@pytest.mark.parametrize("target", ["native", BASELINE])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounding_and_classification_of_floats(elementwise: Any, dtype: str, target: str) -> None:
    with np.errstate(over="ignore"):
        values = FLOATS.astype(dtype)
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round": np.round,
        "trunc": np.trunc,
        "fabs": np.abs,
        "abs": np.abs,
        "isnan": np.isnan,
        "isinf": np.isinf,
        "isfinite": np.isfinite,
    }

    def formulas(x: te.Expr) -> list[te.Expr]:
        return [te.Call(name, (x,), "bool" if name.startswith("is") else dtype) for name in functions]

    results = elementwise(formulas, values, lanes=16, target=target)

    for result, (name, reference) in zip(results, functions.items(), strict=True):
        np.testing.assert_array_equal(result, reference(values), name)
        assert np.array_equal(np.signbit(result), np.signbit(reference(values))) or name in ("fabs", "abs")


@LANES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_math_functions_agree_with_numpy(elementwise: Any, dtype: str, lanes: int) -> None:
    x = np.linspace(0.05, 0.95, 32).astype(dtype)
    y = np.linspace(3, -2, 32).astype(dtype)

    references: dict[str, Any] = {
        name: getattr(np, name)(x)
        for name in ("exp", "log", "log2", "log10", "tanh", "sqrt", "sin", "cos", "tan", "sinh", "cosh")
    }
    references |= {f"a{name}": getattr(np, f"arc{name}")(x) for name in ("sin", "cos", "tan", "sinh", "tanh")}
    references |= {
        "erf": [math.erf(v) for v in x],
        "rsqrt": 1 / np.sqrt(x),
        "sigmoid": 1 / (1 + np.exp(-x)),
        "pow": x**y,
        "atan2": np.arctan2(x, y),
        "fmod": np.fmod(x, y),
        "copysign": np.copysign(x, y),
    }
    binary = ("pow", "atan2", "fmod", "copysign")

    def formulas(a: te.Expr, b: te.Expr) -> list[te.Expr]:
        acosh = te.Call("acosh", (a + te.const(1.0, dtype, lanes),), dtype)
        return [*(te.Call(name, (a, b) if name in binary else (a,), dtype) for name in references), acosh]

    *results, acosh = elementwise(formulas, x, y, lanes=lanes)

    tolerance = 1e-6 if dtype == "float32" else 1e-14
    for name, result in zip(references, results, strict=True):
        np.testing.assert_allclose(result, references[name], tolerance, err_msg=name)
    np.testing.assert_allclose(acosh, np.arccosh(x + 1), tolerance * 10)


def test_fma_rounds_once(elementwise: Any) -> None:
    a = np.full(16, 1 + 2.0**-12, "float32")
    c = np.full(16, -(1 + 2.0**-11), "float32")

    result = elementwise(lambda x, y, z: te.Call("fma", (x, y, z), "float32"), a, a, c, lanes=16)

    np.testing.assert_array_equal(result, np.full(16, 2.0**-24, "float32"))


@pytest.mark.parametrize(
    ("source", "to"),
    [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float64", "uint64"),
        ("float16", "uint16"),
        ("int16", "float16"),
    ],
)
def test_reinterpret_keeps_the_bits(elementwise: Any, source: str, to: str) -> None:
    values = np.random.default_rng(2).standard_normal(32) * 100
    given = values.astype(source)

    result = elementwise(lambda x: te.Call("reinterpret", (x,), to), given, lanes=16)

    np.testing.assert_array_equal(result.view("uint8"), given.view("uint8"))


def test_a_shared_node_is_computed_once(native: Any) -> None:
    x = te.Var("x", "float32")
    out = ir.Buffer("out", "float32", (te.const(1, "int64"),), "param")
    value: te.Expr = x
    for _ in range(2000):
        value = value * value
    function = ir.Function("deep", (x, out), (out,), (), ir.Store(out, (te.const(0, "int64"),), value))

    assert llvm.generate(function, native).count("fmul") == 2000


def test_an_intrinsic_without_an_emitter_is_named_in_the_error(elementwise: Any) -> None:
    with pytest.raises(UnsupportedError, match="the intrinsic lgamma of float32"):
        elementwise(lambda x: te.Call("lgamma", (x,), "float32"), FLOATS)
