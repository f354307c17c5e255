"""The float32 math functions as formulas: errors and limits, evaluated with numpy alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen.contraction import MULTIPLY_ADD
from tvmlite.te.codegen.math import expand as expansion
from tvmlite.te.codegen.math import functions
from tvmlite.te.loop.ir import Buffer, For, Function, Load, Store

SMALLEST = float(np.float32(1e-45))


def evaluate(expr: te.Expr, x: te.Var, values: np.ndarray, fused: bool = False) -> np.ndarray:
    """Evaluate ``expr`` with ``values`` for ``x``, one float32 or int32 numpy operation per node.

    A multiply-add takes two operations, or if ``fused`` one in float64, where the product is exact.
    """
    done: dict[Any, Any] = {x: values}
    with np.errstate(all="ignore"):
        for node in postorder(expr):
            if node not in done:
                done[node] = _operation(node, [done[c] for c in node.children()], fused)
    return done[expr]


def _operation(node: Any, args: list[Any], fused: bool) -> Any:
    match node:
        case te.Const(value, dtype):
            return np.dtype(dtype).type(value)
        case te.Cast(dtype, _):
            return args[0].astype(dtype)
        case te.Select():
            return np.where(args[0], args[1], args[2])
        case te.Call(name, _, dtype):
            return {
                "reinterpret": lambda a: a.view(dtype),
                "fabs": np.abs,
                "copysign": np.copysign,
                "bitwise_and": np.bitwise_and,
                "shift_left": np.left_shift,
                "shift_right": np.right_shift,
                MULTIPLY_ADD: _multiply_add_once if fused else lambda a, b, c: a * b + c,
                functions.SCALE: lambda a, n: np.where(np.isnan(n), n, np.ldexp(a, _whole(n))),
                functions.LIMIT: lambda a, most: np.where(np.isnan(a), most, np.clip(a, -most, most)),
            }[name](*args)
        case _:
            operation: Callable[..., Any] = {
                te.Add: np.add,
                te.Sub: np.subtract,
                te.Mul: np.multiply,
                te.Div: np.divide,
                te.Min: np.minimum,
                te.Max: np.maximum,
                te.Less: np.less,
                te.Equal: np.equal,
                te.And: np.logical_and,
            }[type(node)]
            return operation(*args)


def _multiply_add_once(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    wide = (np.asarray(x, np.float64) for x in (a, b, c))
    return np.asarray(next(wide) * next(wide) + next(wide), np.float32)


def _sigmoid(x: float) -> float:
    e = math.exp(-abs(x))
    return (e if x < 0 else 1.0) / (1.0 + e)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


REFERENCES: dict[str, Callable[[float], float]] = {
    "exp": _exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
    "erf": math.erf,
}
BOUNDS = {"exp": 1.0, "log": 1.0, "log2": 2.0, "log10": 2.0, "tanh": 2.1, "sigmoid": 2.5, "erf": 1.0}


def samples(name: str) -> np.ndarray:
    """Finite arguments: dense in the relevant range, and random ones of every magnitude."""
    generator = np.random.default_rng(7)
    anything = generator.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    subnormal = generator.integers(0, 1 << 23, 500, dtype=np.uint32).view(np.float32)
    dense = np.concatenate([np.linspace(-110, 110, 20_001), np.linspace(-5, 5, 40_001)])
    x = np.concatenate([anything[np.isfinite(anything)], subnormal, dense.astype(np.float32)])
    return np.abs(x[x != 0]) if name.startswith("log") else x


def errors_in_ulp(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The distance of each float32 ``y`` from the exact value, in units of the exact value's last place."""
    true = np.array([REFERENCES[name](float(v)) for v in x])
    with np.errstate(over="ignore"):
        rounded = true.astype(np.float32)
    assert np.array_equal(np.isinf(y), np.isinf(rounded)), "overflows where the true value does not"
    finite = np.isfinite(rounded)
    unit = np.spacing(np.maximum(np.abs(rounded[finite]), np.float32(2.0**-126))).astype(np.float64)
    return np.abs(y[finite].astype(np.float64) - true[finite]) / unit


LIMITS: list[tuple[str, float, float]] = [
    ("exp", math.nan, math.nan),
    ("exp", math.inf, math.inf),
    ("exp", -math.inf, 0.0),
    ("exp", 0.0, 1.0),
    ("exp", -0.0, 1.0),
    ("exp", 88.8, math.inf),
    ("exp", 1e38, math.inf),
    ("exp", -1e38, 0.0),
    ("exp", -104.0, 0.0),
    ("exp", -103.0, SMALLEST),
    *((name, math.nan, math.nan) for name in ("log", "log2", "log10")),
    *((name, math.inf, math.inf) for name in ("log", "log2", "log10")),
    *((name, 0.0, -math.inf) for name in ("log", "log2", "log10")),
    *((name, -0.0, -math.inf) for name in ("log", "log2", "log10")),
    *((name, -1.0, math.nan) for name in ("log", "log2", "log10")),
    *((name, -SMALLEST, math.nan) for name in ("log", "log2", "log10")),
    *((name, -math.inf, math.nan) for name in ("log", "log2", "log10")),
    *((name, 1.0, 0.0) for name in ("log", "log2", "log10")),
    ("log2", SMALLEST, -149.0),
    *(("log2", 2.0**k, float(k)) for k in (-126, -1, 1, 10, 127)),
    *((name, math.nan, math.nan) for name in ("tanh", "erf", "sigmoid")),
    *((name, math.inf, 1.0) for name in ("tanh", "erf", "sigmoid")),
    *((name, -math.inf, -1.0) for name in ("tanh", "erf")),
    *((name, 0.0, 0.0) for name in ("tanh", "erf")),
    *((name, -0.0, -0.0) for name in ("tanh", "erf")),
    ("tanh", SMALLEST, SMALLEST),
    ("sigmoid", -math.inf, 0.0),
    ("sigmoid", 0.0, 0.5),
    ("sigmoid", -103.0, SMALLEST),
]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", REFERENCES)
def test_the_error_of_a_formula_is_within_its_bound(name: str, fused: bool) -> None:
    x = te.Var("x", "float32")
    values = samples(name)

    y = evaluate(expansion.expand(te.Call(name, (x,), "float32")), x, values, fused)

    worst = errors_in_ulp(name, values, y)
    assert worst.max() <= BOUNDS[name], (worst.max(), values[worst.argmax()])


@pytest.mark.parametrize(("name", "argument", "wanted"), LIMITS)
def test_a_formula_is_correct_at_its_limits(name: str, argument: float, wanted: float) -> None:
    x = te.Var("x", "float32")

    y = evaluate(expansion.expand(te.Call(name, (x,), "float32")), x, np.array([argument], "float32"))

    np.testing.assert_array_equal(y, np.array([wanted], "float32"))
    assert math.isnan(wanted) or np.signbit(y[0]) == np.signbit(wanted)


@pytest.mark.parametrize("target", ["native", "llvm -mtriple=x86_64-unknown-linux-gnu"])
@pytest.mark.parametrize("name", REFERENCES)
def test_a_compiled_formula_keeps_its_error_bound_and_limits(
    elementwise: Callable[..., np.ndarray], name: str, target: str
) -> None:
    def formula(x: te.Expr) -> te.Expr:
        return te.Call(name, (x,), "float32")

    values = samples(name)
    values = values[: len(values) // 16 * 16]
    limits = np.array([a for n, a, _ in LIMITS if n == name], "float32")
    wanted = np.array([w for n, _, w in LIMITS if n == name], "float32")

    y = elementwise(formula, values, lanes=16, target=target)
    scalar = elementwise(formula, limits, target=target)

    assert errors_in_ulp(name, values, y).max() <= BOUNDS[name]
    np.testing.assert_array_equal(scalar, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(scalar)[numbers], np.signbit(wanted)[numbers])


def test_float16_functions_are_computed_in_float32_and_rounded_once() -> None:
    x = te.Var("x", "float16")

    expanded = expansion.expand(te.Call("sin", (x,), "float16"))

    assert isinstance(expanded, te.Cast)
    assert isinstance(expanded.value, te.Call)
    assert (expanded.dtype, expanded.value.name, expanded.value.dtype) == ("float16", "sin", "float32")


def test_a_function_without_a_formula_is_unchanged() -> None:
    x = te.Var("x", "float64")
    power = te.Call("pow", (x, x), "float64")

    assert expansion.expand(power) is power


def test_a_function_without_intrinsics_is_the_same_object() -> None:
    i, a = te.Var("i", "int64"), Buffer("a", "float32", (te.const(4, "int64"),), "param")
    body = For(i, te.const(0, "int64"), te.const(4, "int64"), Store(a, (i,), Load(a, (i,)) + 1.0))
    function = Function("f", (a,), (a,), (), body)

    assert expansion.expand_intrinsics(function) is function


def _whole(n: np.ndarray) -> np.ndarray:
    return np.clip(np.nan_to_num(n), -1000, 1000).astype("int32")


def test_exp_by_scaling_keeps_its_error_bound_and_limits() -> None:
    x = te.Var("x", "float32")
    values = np.linspace(-104, 89, 400_001).astype("float32")
    huge = np.array([np.nan, np.inf, -np.inf, -0.0, 1e6, -1e6, 1e7, -1e7, 3e38, -3e38], "float32")

    scaled = evaluate(functions.exp(x, True), x, values)

    assert errors_in_ulp("exp", values, scaled).max() <= 1.2, "at most 1 where multiply-adds are fused"
    np.testing.assert_array_equal(
        evaluate(functions.exp(x, True), x, huge), evaluate(functions.exp(x), x, huge)
    )


def test_vectors_are_scaled_by_powers_of_two_where_the_target_can() -> None:
    avx512, avx2 = (
        Target.parse(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") for cpu in ("znver4", "haswell")
    )

    assert expansion.scaled_vectors(avx512) == {4, 8, 16}
    assert expansion.scaled_vectors(avx2) == frozenset()


def test_exp_builds_both_powers_of_two_with_four_integer_operations() -> None:
    """Each runs once per vector; with narrow vectors their number determines the cost of exp."""
    made = postorder(functions.exp(te.Var("x", "float32")))
    counted = [
        n for n in made if isinstance(n, te.Expr) and n.dtype == "int32" and not isinstance(n, te.Const)
    ]

    assert sum(not (isinstance(n, te.Call) and n.name == "reinterpret") for n in counted) == 4
