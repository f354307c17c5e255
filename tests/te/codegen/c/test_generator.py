"""Generated C is strict C99 without a warning, and computes what numpy computes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from data_objects import data_object

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import ExecutionError, UnsupportedError
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import pool
from tvmlite.te import expr as te
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.c.build import compile_shared
from tvmlite.te.loop import ir
from tvmlite.te.loop.shapes import shapes_function
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.loop.verify import verify

ctypes = pytest.importorskip("ctypes")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")

STRICT = "-std=c99 -O1 -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror -fPIC -fno-math-errno".split()
INTS = (*dtypes.SIGNED, *dtypes.UNSIGNED)
Load = Callable[..., dict[str, CompiledFunction]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Compile functions of legal loop IR to callables, through one C source without warnings."""

    def build(
        *functions: ir.Function, constants: dict[str, bytes] | None = None, flags: Sequence[str] = ()
    ) -> dict[str, CompiledFunction]:
        shapes = {f.name: shapes_function(f) for f in functions}
        everything = [*functions, *(f for f in shapes.values() if f is not None)]
        for function in everything:
            verify(function, legal=True)
        data = [data_object(constants)] if constants else []
        source = c.generate(everything)
        path = compile_shared(source, tmp_path / "code.so", [pool.source()], data, [*STRICT, *flags])
        library = ctypes.CDLL(str(path))
        made = {}
        for function in functions:
            address, told = (_address(library, name) for name in (function.name, f"{function.name}_shapes"))
            assert (told != 0) == (shapes[function.name] is not None)
            made[function.name] = CompiledFunction(signature_of(function), address, told, keep=library)
        return made

    return build


def _address(library: Any, symbol: str) -> int:
    found = getattr(library, symbol, None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def array(name: str, length: int, dtype: str = "float32", scope: str = "param") -> ir.Buffer:
    return ir.Buffer(name, dtype, (index(length),), scope)


def elementwise(
    name: str, formula: Callable[..., te.Expr], kinds: Sequence[str], length: int, lanes: int
) -> ir.Function:
    """``y[i] = formula(x0[i], x1[i], ...)``, ``lanes`` elements at a time."""
    i = te.Var("i", "int64")
    place: te.Expr = i if lanes == 1 else te.Ramp(i * lanes, index(1), lanes)
    inputs = [array(f"x{k}", length, kind) for k, kind in enumerate(kinds)]
    value = formula(*(ir.Load(b, (place,)) for b in inputs))
    result = array("y", length, value.dtype)
    loop = ir.For(i, index(0), index(length // lanes), ir.Store(result, (place,), value))
    return ir.Function(name, (*inputs, result), (result,), (), loop)


def edges(dtype: str) -> np.ndarray:
    """64 values of a dtype: its limits, values around 0, and random ones."""
    random = np.random.default_rng(3)
    if dtype == "bool":
        return np.tile([True, False, False, True], 16)
    if dtypes.is_float(dtype):
        with np.errstate(over="ignore"):
            picked = [
                0.0,
                -0.0,
                1.0,
                -1.5,
                2.5,
                3.5,
                -2.5,
                0.1,
                1e30,
                -1e30,
                1e-40,
                np.inf,
                -np.inf,
                np.nan,
                1e10,
            ]
            return np.concatenate([picked, random.standard_normal(49) * 50]).astype(dtypes.numpy_of(dtype))
    low, high = (int(x) for x in dtypes.limits(dtype))
    picked = [low, low + 1, high, high - 1, *range(-8 if low else 0, 9)]
    rest = random.integers(low, high, 64 - len(picked), dtype, endpoint=True)
    return np.concatenate([np.array(picked, dtype), rest])


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    few = edges(dtype)[:16]
    return np.repeat(few, 16), np.tile(few, 16)


def same(result: np.ndarray, wanted: np.ndarray, what: str = "") -> None:
    """Assert equal dtypes and values; NaN equals NaN, also in bfloat16."""
    assert result.dtype == wanted.dtype, what
    if result.dtype == ml_dtypes.bfloat16:
        result, wanted = result.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_array_equal(result, wanted, what)


def wrapped(value: int, dtype: str) -> int:
    return int(te.const(value, dtype).value)


def truncdiv(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


WHOLE: dict[str, tuple[Callable[..., te.Expr], Callable[[int, int, int], int]]] = {
    "add": (te.Add, lambda a, b, w: a + b),
    "sub": (te.Sub, lambda a, b, w: a - b),
    "mul": (te.Mul, lambda a, b, w: a * b),
    "min": (te.Min, lambda a, b, w: min(a, b)),
    "max": (te.Max, lambda a, b, w: max(a, b)),
    "floordiv": (te.FloorDiv, lambda a, b, w: a // b if b else 0),
    "floormod": (te.FloorMod, lambda a, b, w: a % b if b else 0),
    "truncdiv": (te.TruncDiv, lambda a, b, w: truncdiv(a, b)),
    "truncmod": (te.TruncMod, lambda a, b, w: a - b * truncdiv(a, b) if b else 0),
    "bitwise_and": (lambda a, b: a & b, lambda a, b, w: a & b),
    "bitwise_or": (lambda a, b: a | b, lambda a, b, w: a | b),
    "bitwise_xor": (lambda a, b: a ^ b, lambda a, b, w: a ^ b),
    "shift_left": (lambda a, b: a << b, lambda a, b, w: a << b if 0 <= b < w else 0),
    "shift_right": (lambda a, b: a >> b, lambda a, b, w: a >> (b if 0 <= b < w else w)),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTS)
def test_integer_arithmetic_wraps_and_never_traps(load: Load, dtype: str) -> None:
    a, b = pairs(dtype)
    width = dtypes.bits(dtype)
    functions = [
        elementwise(f"{name}_x{lanes}", formula, [dtype, dtype], 256, lanes)
        for name, (formula, _) in WHOLE.items()
        for lanes in (1, 16)
    ]
    for name in ("popcount", "clz", "abs", "bitwise_not"):
        functions.append(
            elementwise(f"f_{name}", lambda x, n=name: te.Call(n, (x,), dtype), [dtype], 256, 16)
        )

    made = load(*functions)

    for name, (_, reference) in WHOLE.items():
        wanted = [wrapped(reference(int(x), int(y), width), dtype) for x, y in zip(a, b, strict=True)]
        for lanes in (1, 16):
            np.testing.assert_array_equal(made[f"{name}_x{lanes}"](a, b), np.array(wanted, dtype), name)
    patterns = [int(x) & ((1 << width) - 1) for x in a]
    np.testing.assert_array_equal(made["f_popcount"](a), [p.bit_count() for p in patterns])
    np.testing.assert_array_equal(made["f_clz"](a), [width - p.bit_length() for p in patterns])
    np.testing.assert_array_equal(made["f_abs"](a), np.abs(a))
    np.testing.assert_array_equal(made["f_bitwise_not"](a), ~a)


PORTABLE = pytest.mark.parametrize("flags", [[], ["-DTVMLITE_PORTABLE"]], ids=["vectors", "portable"])


@pytest.mark.slow
@PORTABLE
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_float_arithmetic_is_ieee(load: Load, dtype: str, flags: list[str]) -> None:
    a, b = pairs(dtype)
    cases: dict[str, tuple[Any, Any]] = {
        "add": (te.Add, np.add),
        "sub": (te.Sub, np.subtract),
        "mul": (te.Mul, np.multiply),
        "div": (te.Div, np.divide),
        "min": (te.Min, np.minimum),
        "max": (te.Max, np.maximum),
        "less": (te.Less, np.less),
        "less_equal": (te.LessEqual, np.less_equal),
        "equal": (te.Equal, np.equal),
        "not_equal": (te.NotEqual, np.not_equal),
    }
    functions = [elementwise(n, f, [dtype, dtype], 256, lanes=16) for n, (f, _) in cases.items()]
    made = load(*functions, flags=flags)
    with np.errstate(all="ignore"):
        for name, (_, reference) in cases.items():
            same(made[name](a, b), reference(a, b), name)


FUNCTIONS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "exp log log2 log10 tanh sqrt sin cos tan sinh cosh floor ceil trunc fabs isnan isinf isfinite"
    ).split()
} | {
    "round": np.round,
    "abs": np.abs,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12), ("float16", 4e-3)])
def test_every_math_function_agrees_with_numpy(load: Load, dtype: str, tolerance: float) -> None:
    x = np.concatenate([edges(dtype)[:15], np.linspace(-3, 3, 65)]).astype(dtype)
    two = {"atan2": np.arctan2, "pow": np.power, "fmod": np.fmod, "copysign": np.copysign}

    def call(name: str) -> Callable[..., te.Expr]:
        return lambda *args: te.Call(name, args, "bool" if name.startswith("is") else dtype)

    functions = [elementwise(f"f_{n}", call(n), [dtype], 80, lanes=16) for n in FUNCTIONS]
    functions += [elementwise(f"f_{n}", call(n), [dtype, dtype], 80, lanes=1) for n in two]
    functions.append(elementwise("f_fma", call("fma"), [dtype] * 3, 80, lanes=1))
    made = load(*functions)

    exact = x.astype(np.float64)
    with np.errstate(all="ignore"):
        for name, reference in FUNCTIONS.items():
            result, wanted = made[f"f_{name}"](x), reference(exact)
            if result.dtype != bool:
                wanted = wanted.astype(dtype)
            np.testing.assert_allclose(
                result, wanted, tolerance, 1e-6 if dtype != "float64" else 1e-14, err_msg=name
            )
        for name, reference in two.items():
            wanted = reference(exact, exact[::-1]).astype(dtype)
            np.testing.assert_allclose(made[f"f_{name}"](x, x[::-1]), wanted, tolerance, err_msg=name)
        wanted = (exact * exact + exact).astype(dtype)
        np.testing.assert_allclose(made["f_fma"](x, x, x), wanted, tolerance, 1e-30)


@pytest.mark.slow
def test_casts_truncate_saturate_and_round(load: Load) -> None:
    kinds = (*INTS, "bool", "float16", "bfloat16", "float32", "float64")
    made = load(
        *(
            elementwise(
                f"from_{a}_to_{b}", lambda x, b=b: te.Cast(b, x), [a], 64, lanes=1 if b == "int8" else 16
            )
            for a in kinds
            for b in kinds
        )
    )
    for a in kinds:
        values = edges(a)
        for b in kinds:
            result = made[f"from_{a}_to_{b}"](values)
            same(result, cast(values, a, b), f"{a} to {b}")


def cast(values: np.ndarray, source: str, to: str) -> np.ndarray:
    """The conversion defined in te.expr, computed with numpy and Python numbers."""
    if dtypes.is_float(source) and dtypes.is_int(to):
        low, high = (int(v) for v in dtypes.limits(to))
        numbers = [float(v) for v in values]
        return np.array(
            [
                0 if v != v else int(min(max(v, low), high)) if low <= v <= high else low if v < low else high
                for v in numbers
            ],
            to,
        )
    if to == "bool":
        return values != 0
    with np.errstate(over="ignore", invalid="ignore"):
        if to == "bfloat16" and dtypes.is_int(source):
            values = values.astype(np.float32)  # as the LLVM code generator does
        return values.astype(dtypes.numpy_of(to))


def test_every_float16_survives_widening_and_narrowing(load: Load) -> None:
    made = load(
        elementwise("widen", lambda x: te.Cast("float32", x), ["float16"], 65536, lanes=16),
        elementwise("narrow", lambda x: te.Cast("float16", x), ["float32"], 65536, lanes=16),
    )
    bits = np.arange(65536, dtype=np.uint16)
    wide = made["widen"](bits.view(np.float16))
    np.testing.assert_array_equal(wide, bits.view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(made["narrow"](wide).view(np.uint16), bits)


def test_reinterpret_keeps_the_bits(load: Load) -> None:
    cases = [
        ("float32", "int32"),
        ("uint32", "float32"),
        ("float64", "uint64"),
        ("int16", "float16"),
        ("bfloat16", "uint16"),
        ("uint8", "int8"),
    ]
    made = load(
        *(
            elementwise(f"{a}_{b}", lambda x, b=b: te.Call("reinterpret", (x,), b), [a], 64, 16)
            for a, b in cases
        )
    )
    for a, b in cases:
        values = edges(a)
        np.testing.assert_array_equal(made[f"{a}_{b}"](values).view(np.uint8), values.view(np.uint8))


@pytest.mark.parametrize("lanes", [1, 8])
def test_logic_and_comparisons_of_bools_and_selects(load: Load, lanes: int) -> None:
    made = load(
        elementwise("both", te.And, ["bool", "bool"], 64, lanes),
        elementwise("any", te.Or, ["bool", "bool"], 64, lanes),
        elementwise("opposite", te.Not, ["bool"], 64, lanes),
        elementwise("least", te.Min, ["bool", "bool"], 64, lanes),
        elementwise("below", te.Less, ["bool", "bool"], 64, lanes),
        elementwise("choice", te.Select, ["bool", "int8", "int8"], 64, lanes),
    )
    a, b, x, y = edges("bool"), np.arange(64) % 3 == 0, edges("int8"), edges("int8")[::-1]
    np.testing.assert_array_equal(made["both"](a, b), a & b)
    np.testing.assert_array_equal(made["any"](a, b), a | b)
    np.testing.assert_array_equal(made["opposite"](a), ~a)
    np.testing.assert_array_equal(made["least"](a, b), a & b)
    np.testing.assert_array_equal(made["below"](a, b), ~a & b)
    np.testing.assert_array_equal(made["choice"](a, x, y), np.where(a, x, y))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [*INTS, "float32", "float64", "float16", "bfloat16"])
def test_constants_are_exact(load: Load, dtype: str) -> None:
    values = [float(v) if dtypes.is_float(dtype) else int(v) for v in edges(dtype)[:20]]
    out = array("y", len(values), dtype)
    stores = [ir.Store(out, (index(k),), te.const(v, dtype)) for k, v in enumerate(values)]
    made = load(ir.Function("constants", (out,), (out,), (), ir.Seq(tuple(stores))))
    same(
        made["constants"](),
        np.array(values, None if dtypes.is_float(dtype) else dtype).astype(dtypes.numpy_of(dtype)),
    )


def test_an_untaken_branch_loads_nothing(load: Load) -> None:
    x, y, i = array("x", 4), array("y", 64), te.Var("i", "int64")
    deep = ir.Load(x, (i,)) * ir.Load(x, (i,))
    value = te.Call("if_then_else", (i < 4, deep + deep, te.const(-1.0)), "float32")
    vector = te.Call(
        "if_then_else", (i < 4, ir.Load(x, (te.Ramp(i, index(0), 4),)), te.const(-1.0, lanes=4)), "float32"
    )
    wide = array("wide", 256)
    made = load(
        ir.Function("lazy", (x, y), (y,), (), ir.For(i, index(0), index(64), ir.Store(y, (i,), value))),
        ir.Function(
            "lazy_lanes",
            (x, wide),
            (wide,),
            (),
            ir.For(i, index(0), index(64), ir.Store(wide, (te.Ramp(i * 4, index(1), 4),), vector)),
        ),
    )
    given = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(made["lazy"](given), [*(2 * given**2), *[-1] * 60])
    np.testing.assert_array_equal(made["lazy_lanes"](given), np.repeat([*given, *[-1] * 60], 4))


def test_predicates_guard_loads_and_stores(load: Load) -> None:
    x, y = array("x", 6), array("y", 8)
    place = te.Ramp(index(0), index(1), 8)
    mask = te.Less(place, te.const(6, "int64", 8))
    body = ir.Seq(
        (
            ir.Store(y, (place,), te.const(9.0, lanes=8)),
            ir.Store(
                y,
                (place,),
                ir.Load(x, (place,), mask) + te.const(1.0, lanes=8),
                te.NotEqual(place, te.const(2, "int64", 8)),
            ),
        )
    )
    made = load(ir.Function("masked", (x, y), (y,), (), body))
    np.testing.assert_array_equal(made["masked"](np.full(6, 4, np.float32)), [5, 5, 9, 5, 5, 5, 1, 1])


@PORTABLE
def test_a_vector_is_loaded_before_it_is_stored(load: Load, flags: list[str]) -> None:
    y = array("y", 8)
    shift = ir.Store(y, (te.Ramp(index(1), index(1), 7),), ir.Load(y, (te.Ramp(index(0), index(1), 7),)))
    made = load(ir.Function("shift", (y,), (y,), (), shift), flags=flags)
    values = np.arange(8, dtype=np.float32)
    made["shift"](values)
    np.testing.assert_array_equal(values, [0, 0, 1, 2, 3, 4, 5, 6])


@PORTABLE
def test_a_register_tile_of_accumulators(load: Load, flags: list[str]) -> None:
    """Vectors of constants, broadcasts, lets and shared parts, in a tile on the stack."""
    x, y, total = array("x", 64), array("y", 16), array("total", 16, scope="local")
    k, v = te.Var("k", "int64"), te.Var("v", "float32", 8)

    def at(start: te.Expr | int) -> te.Ramp:
        return te.Ramp(te.convert(start, "int64"), index(1), 8)

    def add(place: int) -> ir.Stmt:
        old = ir.Load(total, (at(place),))
        step = te.Add(v, te.Broadcast(ir.Load(x, (k,)), 8))
        return ir.Store(total, (at(place),), te.Add(old, te.Mul(step, te.Add(step, te.const(-0.0, lanes=8)))))

    work = ir.Let(v, ir.Load(x, (at(k * 8),)), ir.Seq((add(0), add(8))))
    clear = [ir.Store(total, (at(p),), te.const(-0.0 if p else 1.0, lanes=8)) for p in (0, 8)]
    limit = te.Max(ir.Load(total, (at(8),)), te.const(300.0, lanes=8))
    write = [ir.Store(y, (at(0),), ir.Load(total, (at(0),))), ir.Store(y, (at(8),), limit)]
    body = ir.Allocate(total, ir.Seq((*clear, ir.For(k, index(0), index(8), work), *write)))
    made = load(ir.Function("tile", (x, y), (y,), (), body), flags=flags)

    given = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    steps = (given.reshape(8, 8) + given[:8, None]) ** 2
    wanted = np.concatenate([steps.sum(0) + 1, np.maximum(steps.sum(0), 300)])
    np.testing.assert_allclose(made["tile"](given), wanted, 1e-5)


@pytest.mark.parametrize("lanes", [3, 6, 128])
def test_vectors_of_any_number_of_lanes(load: Load, lanes: int) -> None:
    made = load(elementwise("twice", lambda x: x + x, ["float32"], lanes * 4, lanes))
    values = np.arange(lanes * 4, dtype=np.float32)
    np.testing.assert_array_equal(made["twice"](values), values * 2)


def test_a_scalar_condition_on_vectors_loads_only_the_chosen_one(load: Load) -> None:
    x, y, k = array("x", 64), array("y", 64), te.Var("k", "int64")
    lanes = te.Ramp(k * 16, index(1), 16)
    before = ir.Load(x, (te.Ramp(k * 16 - 16, index(1), 16),))
    value = te.Call(
        "if_then_else", (index(0) < k, before, te.broadcast(te.const(5.0, "float32"), 16)), "float32"
    )
    body = ir.For(k, index(0), index(4), ir.Store(y, (lanes,), value + ir.Load(x, (lanes,))))
    function = ir.Function("shift", (x, y), (y,), (), body)
    given = np.arange(64, dtype="float32")

    assert " ? (tl_f32x16)" in c.generate([function])
    np.testing.assert_array_equal(
        load(function)["shift"](given), given + np.append(np.full(16, 5), given[:48])
    )


def test_all_kinds_of_statements(load: Load) -> None:
    """Lets, loops with bounds, ifs, while, local memory, asserts, and names that are reserved in C."""
    x, y, n = array("int", 10), array("y0", 10), te.SizeVar("expf", "int64")
    i, j, t, v = (te.Var(name, "int64") for name in ("i", "i", "t0", "v"))
    local, count = array("for", 10, scope="local"), array("count", 1, "int64", "local")
    zero = index(0)
    turns = ir.Load(count, (zero,))
    vector = te.Var("vector", "float32", 4)
    body = ir.Seq(
        (
            ir.Assert(te.Less(n, index(11)), "n is too large"),
            ir.Allocate(
                local,
                ir.Seq(
                    (
                        ir.For(i, zero, index(10), ir.Store(local, (i,), ir.Load(x, (i,)) * 2.0)),
                        ir.For(
                            j,
                            n // 2,
                            n - n // 2,
                            ir.Let(
                                t,
                                j * j,
                                ir.If(
                                    t % 2 == index(0),
                                    ir.Store(y, (j,), ir.Load(local, (j,))),
                                    ir.Store(y, (j,), te.Cast("float32", t)),
                                ),
                            ),
                        ),
                    )
                ),
            ),
            ir.Allocate(
                count,
                ir.Seq(
                    (
                        ir.Store(count, (zero,), index(3)),
                        ir.While(
                            te.Less(zero, turns),
                            ir.Seq(
                                (
                                    ir.Store(y, (turns,), te.Call("exp", (te.const(0.0),), "float32")),
                                    ir.Store(count, (zero,), turns - 1),
                                )
                            ),
                        ),
                    )
                ),
            ),
            ir.Let(
                vector,
                ir.Load(x, (te.Ramp(zero, index(2), 4),)),
                ir.Let(v, n + 1, ir.Store(y, (te.Ramp(zero, index(1), 4),), te.Add(vector, vector))),
            ),
            ir.Evaluate(te.Call("prefetch", (ir.Load(x, (zero,)),), "int32")),
        )
    )
    function = ir.Function("register_", (x, y, n), (y,), (), body, messages=("n is too large",))
    assert "TL_PREFETCH" in c.generate([function])
    function = load(function)["register_"]
    given, out = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    function(given, out, 9)
    np.testing.assert_array_equal(out, [0, 4, 8, 12, 8, 25, 12, 49, 16, 0])
    with pytest.raises(ExecutionError, match="n is too large"):
        function(given, out, 11)


@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_loops_capture_the_variables_they_use(load: Load, threads: int) -> None:
    x, y, table = array("x", 1000), array("y", 1000), array("table", 4, scope="constant")
    scale, i, half = te.Var("scale", "float32"), te.Var("i", "int64"), te.Var("half", "float16")
    scratch, seen = array("scratch", 1, scope="view"), array("seen", 1, scope="local")
    work = ir.Seq(
        (
            ir.Store(scratch, (index(0),), ir.Load(x, (i,)) * scale),
            ir.Store(
                y,
                (i,),
                ir.Load(scratch, (index(0),))
                + ir.Load(table, (i % 4,))
                + ir.Load(seen, (index(0),))
                + te.Cast("float32", half),
            ),
            ir.Assert(ir.Load(x, (i,)) < 2000.0, "x is too large"),
        )
    )
    loop = ir.For(i, index(2), index(998), ir.View(scratch, ir.THREAD * 64, work), ir.PARALLEL)
    body = ir.Allocate(seen, ir.Seq((ir.Store(seen, (index(0),), te.const(5.0)), loop)))
    function = ir.Function(
        "spread",
        (x, scale, half, y),
        (y,),
        (),
        ir.View(table, index(64), body),
        ir.THREADS * 64,
        ("x is too large",),
    )
    blob = np.zeros(20, np.float32)
    blob[16:] = [1, 2, 3, 4]
    spread = load(function, constants={"spread_constants": blob.tobytes()})["spread"]
    library: Any = spread._keep
    library.tvmlite_set_num_threads(threads)
    given, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    spread(given, 3.0, 0.5, out)
    wanted = given * 3 + np.tile([1, 2, 3, 4], 250).astype(np.float32) + 5.5
    np.testing.assert_array_equal(out[2:], wanted[2:])
    with pytest.raises(ExecutionError, match="x is too large"):
        spread(given * 3, 3.0, 0.5, out)


def test_an_entry_function_calls_and_times_its_kernels(load: Load) -> None:
    x, y, z = array("x", 8), array("y", 8), array("z", 8, scope="view")
    double = elementwise("double_it", lambda a: a + a, ["float32"], 8, 4)
    i = te.Var("i", "int64")
    refuse_x, refuse_y = array("x", 8), array("y", 8)
    refuse = ir.Function(
        "refuse",
        (refuse_x, refuse_y),
        (refuse_y,),
        (),
        ir.Seq(
            (
                ir.Assert(ir.Load(refuse_x, (index(0),)) < 100.0, "too large"),
                ir.For(i, index(0), index(8), ir.Store(refuse_y, (i,), ir.Load(refuse_x, (i,)) + 1.0)),
            )
        ),
        messages=("too large",),
    )
    body = ir.View(
        z,
        index(64),
        ir.Seq(
            (
                ir.CallKernel("double_it", (x, z), (), profile_slot=0),
                ir.CallKernel("refuse", (z, y), (), None, 1, 1),
            )
        ),
    )
    entry = ir.Function(
        "entry", (x, y), (y,), (), body, index(128), ("other", "too large"), ("double_it", "refuse")
    )

    made = load(entry, double, refuse)["entry"]

    given = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(made(given), given * 2 + 1)
    result, times = made.profile(given)
    np.testing.assert_array_equal(result, given * 2 + 1)
    assert len(times) == 2
    assert all(0 <= t < 10**8 for t in times)
    with pytest.raises(ExecutionError, match="entry: too large"):
        made(given + 100)


def test_kernels_defined_in_another_source_are_declared(load: Load) -> None:
    x, y = array("x", 4), array("y", 4)
    entry = ir.Function(
        "entry", (x, y), (y,), (), ir.CallKernel("elsewhere", (x, y), ()), None, (), ("elsewhere",)
    )
    assert "int32_t elsewhere(const float *, float *);" in c.generate([entry])


def test_the_source_is_readable_and_deterministic() -> None:
    function = elementwise("scale", lambda x: x * 2.0 + 1.0, ["float32"], 100, 1)
    source = c.generate([function])
    assert source == c.generate([function])
    assert source.endswith(
        """int32_t scale(const float *restrict x0, float *restrict y) {
    for (int64_t i = 0; i < 100; ++i) {
        y[i] = (x0[i] * 2.0f) + 1.0f;
    }
    return 0;
}
"""
    )


def test_names_reserved_in_c_are_refused() -> None:
    for name in ("main", "exp", "while", "a b"):
        function = elementwise(name, lambda x: x, ["float32"], 4, 1)
        with pytest.raises(UnsupportedError, match=f"a C function cannot be called {name!r}"):
            c.generate([function])


def test_an_unknown_intrinsic_is_named() -> None:
    function = elementwise("f", lambda x: te.Call("lgamma", (x,), "float32"), ["float32"], 4, 1)
    with pytest.raises(UnsupportedError, match="intrinsic 'lgamma' of float32"):
        c.generate([function])


def test_the_header_compiles_alone_in_c_and_cpp(tmp_path: Path) -> None:
    parameters = (
        Parameter("x", "input", "float32", (1, "h", 3)),
        Parameter("y", "output", "bfloat16", (None,)),
        Parameter("h", "size"),
        Parameter("workspace", "workspace"),
        Parameter("threads", "threads"),
        Parameter("profile", "profile"),
    )
    signature = Signature("net", parameters, None, ("an index /* is */ out of range",), ("a", "b"), 64)
    text = c.header(signature)
    (tmp_path / "net.h").write_text(text)
    for name, flags in (("a.c", "-std=c99 -pedantic"), ("a.cpp", "-x c++")):
        (tmp_path / name).write_text(
            '#include "net.h"\n#include "net.h"\nint use(void) { return net_shapes(0, 1, 2); }\n'
        )
        command = ["gcc", *flags.split(), "-Wall", "-Wextra", "-Werror", "-fsyntax-only", name]
        if name == "a.c" or shutil.which("g++"):
            subprocess.run(command, cwd=tmp_path, check=True)
    assert "x: input, float32[1][h][3]" in text
    assert "1: an index / * is * / out of range" in text


def test_bfloat16_arrays_have_the_dtype_of_ml_dtypes(load: Load) -> None:
    made = load(elementwise("twice", lambda x: x + x, ["bfloat16"], 16, 16))
    values = np.arange(16).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(made["twice"](values), values + values)


def test_a_select_between_equal_values_is_dropped() -> None:
    out = ir.Buffer("out", "float32", (te.const(4, te.INDEX),), "param", (), 4)
    i = te.Var("i", te.INDEX)
    zero = [te.const(0.0, "float32") for _ in range(2)]
    chosen = te.Select(te.Less(i, te.const(2, te.INDEX)), *zero)
    body = ir.For(i, te.const(0, te.INDEX), te.const(4, te.INDEX), ir.Store(out, (i,), chosen))

    source = c.generate([ir.Function("f", (out,), (out,), (), body)])

    assert "out[i] = 0.0f;" in source


def test_a_local_array_that_is_never_read_causes_no_warning(load: Load) -> None:
    out = ir.Buffer("out", "float32", (te.const(1, te.INDEX),), "param", (), 4)
    kept = ir.Buffer("kept", "float32", (te.const(1, te.INDEX),), "local", (), 4)
    at, one = (te.const(0, te.INDEX),), te.const(1.0, "float32")
    body = ir.Allocate(kept, ir.Seq((ir.Store(kept, at, one), ir.Store(out, at, one))))
    made = np.zeros(1, "float32")

    load(ir.Function("f", (out,), (out,), (), body))["f"](made)

    assert made[0] == 1
