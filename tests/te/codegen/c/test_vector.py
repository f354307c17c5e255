"""Vector code and portable loops over lanes in C give bit by bit the results of the interpreter."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from c_vectors import LENGTH, MACHINES, PLACE, STRICT, check

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import pool
from tvmlite.te import expr as e
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.c.build import compile_shared
from tvmlite.te.codegen.c.vector import can_write
from tvmlite.te.codegen.math.expand import expand
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.lowering.lower import lower
from tvmlite.techniques.common import x86

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


def _call(name: str, *args: e.Expr, dtype: str = "") -> e.Expr:
    return e.Call(name, args, dtype or args[0].dtype)


def _like(x: e.Expr, value: float) -> e.Expr:
    return e.Const(value, x.dtype, x.lanes)


FLOATS: dict[str, Callable[[e.Expr, e.Expr], e.Expr]] = {
    "arith": lambda a, b: (a + b) * a - e.Div(b, a),
    "min": e.Min,
    "max": e.Max,
    "limited": lambda a, b: e.Max(e.Min(a, _like(a, 3.0)), _like(b, -2.5)),
    "same_max": lambda a, b: e.Max(_like(a, 0.0), b),
    "round": lambda a, b: _call("round", a),
    "sign": lambda a, b: _call("copysign", _call("fabs", a), b),
    "nan": lambda a, b: e.Select(_call("isnan", a, dtype="bool"), b, a),
    "chosen": lambda a, b: e.Select(e.And(e.Less(a, b), e.Not(e.Equal(a, _like(a, 1.0)))), a, b),
    "asked": lambda a, b: e.NotEqual(a, b),
    "counted": lambda a, b: e.Cast(a.dtype, e.LessEqual(a, b)),
    "some": lambda a, b: e.Cast("bool", a),
}
INTS: dict[str, Callable[[e.Expr, e.Expr], e.Expr]] = {
    "arith": lambda a, b: (a + b) * a - b * _like(b, 3),
    "min": e.Min,
    "max": e.Max,
    "bits": lambda a, b: _call(
        "bitwise_xor", _call("bitwise_and", a, b), _call("bitwise_not", _call("bitwise_or", a, b))
    ),
    "left": lambda a, b: _call("shift_left", a, _like(a, 3)),
    "right": lambda a, b: _call("shift_right", a, _like(a, 5)),
    "chosen": lambda a, b: e.Select(e.Less(a, b), a, _like(b, 7)),
    "wider": lambda a, b: e.Cast("int64", a),
    "float": lambda a, b: e.Cast("float32", a),
}


def elementwise(name: str, formula: Callable[..., e.Expr], kinds: Sequence[str], lanes: int) -> ir.Function:
    """``y[i] = formula(x0[i], x1[i], ...)``, computed in vectors."""
    place = e.Ramp(PLACE * lanes, e.const(1, "int64"), lanes)
    buffers = [ir.Buffer(f"x{n}", kind, (e.const(LENGTH, "int64"),), "param") for n, kind in enumerate(kinds)]
    value = formula(*(ir.Load(b, (place,)) for b in buffers))
    assert can_write(expand(value)), name
    result = ir.Buffer("y", value.dtype, (e.const(LENGTH, "int64"),), "param")
    count = e.const(LENGTH // lanes, "int64")
    loop = ir.For(PLACE, e.const(0, "int64"), count, ir.Store(result, (place,), value))
    return ir.Function(name, (*buffers, result), (result,), (), loop)


@pytest.mark.slow
@MACHINES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operations_on_vectors_of_floats(tmp_path: Path, dtype: str, flags: list[str]) -> None:
    made = [elementwise(f"f_{n}", f, [dtype, dtype], 8) for n, f in FLOATS.items()]
    check(made, tmp_path, flags)


@pytest.mark.slow
@MACHINES
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_operations_on_vectors_of_integers(tmp_path: Path, dtype: str, flags: list[str]) -> None:
    made = [elementwise(f"f_{n}", f, [dtype, dtype], 16) for n, f in INTS.items()]
    check(made, tmp_path, flags)


@MACHINES
def test_operations_on_vectors_of_bools(tmp_path: Path, flags: list[str]) -> None:
    forms: dict[str, Callable[..., e.Expr]] = {
        "below": e.Less,
        "equal": e.Equal,
        "most": lambda a, b: e.LessEqual(b, a),
        "logic": lambda a, b: e.Or(e.And(a, e.Not(b)), _call("bitwise_xor", a, b)),
        "chosen": lambda a, b: e.Select(a, e.Not(b), b),
        "same": lambda a, b: e.And(a, e.Broadcast(e.Less(PLACE, e.const(2, "int64")), a.lanes)),
    }
    check([elementwise(f"f_{n}", f, ["bool", "bool"], 8) for n, f in forms.items()], tmp_path, flags)


@pytest.mark.slow
@MACHINES
@pytest.mark.parametrize("source", ["float32", "float64", "int8", "int32", "uint32", "int64", "bool"])
def test_casts_of_vectors_saturate(tmp_path: Path, source: str, flags: list[str]) -> None:
    kinds = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
    forms: dict[str, Callable[..., e.Expr]] = {f"to_{to}": lambda x, to=to: e.Cast(to, x) for to in kinds}
    if dtypes.bits(source) == 32:
        forms["bits"] = lambda x: _call("reinterpret", x, dtype="int32" if source != "int32" else "float32")
    check([elementwise(n, f, [source], 16) for n, f in forms.items()], tmp_path, flags)


@pytest.mark.slow
@MACHINES
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
def test_math_functions_of_vectors(tmp_path: Path, lanes: int, flags: list[str]) -> None:
    """Up to a tolerance: machines that scale by powers of two give other last bits."""
    names = ("exp", "log", "log2", "log10", "tanh", "sigmoid", "erf")
    made = [elementwise(f"f_{n}", lambda x, n=n: _call(n, x), ["float32"], lanes) for n in names]
    check(made, tmp_path, flags, 4e-7)


@MACHINES
def test_the_reinterpreted_bits_of_a_vector_math_function(tmp_path: Path, flags: list[str]) -> None:
    """The function computes floats, the stored values are integers; their last bits are masked out."""
    rough = e.Const(0x7FF00000, "int32", 16)
    formulas = {"exp": lambda x: _call("exp", x), "sigmoid": lambda x: _call("sigmoid", x)}
    made = [
        elementwise(
            f"b_{name}",
            lambda x, f=f: _call("bitwise_and", _call("reinterpret", f(x), dtype="int32"), rough),
            ["float32"],
            16,
        )
        for name, f in formulas.items()
    ]
    check(made, tmp_path, flags)


@pytest.mark.slow
@MACHINES
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
def test_a_padded_vector_load_reads_only_memory_inside(tmp_path: Path, lanes: int, flags: list[str]) -> None:
    """The vector before the first consists of zeros."""

    def before(x: e.Expr) -> e.Expr:
        assert isinstance(x, ir.Load)
        far = e.Ramp(
            PLACE * (1 << 40) - (1 << 40), e.const(1, "int64"), lanes
        )  # a valid address only in iteration 1
        inside = e.Equal(PLACE, e.const(1, "int64"))
        return _call("if_then_else", inside, ir.Load(x.buffer, (far,)), _like(x, 0.0), dtype="float32") + x

    made = elementwise("pad", before, ["float32"], lanes)
    assert "TL_PADDED" in c.generate([made])
    check([made], tmp_path, flags)


def test_accesses_that_are_not_contiguous_are_written_lane_by_lane() -> None:
    buffer = ir.Buffer("x", "float32", (e.const(LENGTH, "int64"),), "param")
    apart = ir.Load(buffer, (e.Ramp(PLACE, e.const(2, "int64"), 8),))
    near = ir.Load(buffer, (e.Ramp(PLACE, e.const(1, "int64"), 8),))
    guarded = ir.Load(buffer, (e.Ramp(PLACE, e.const(1, "int64"), 8),), e.Less(near, _like(near, 0.0)))
    condition = e.Less(near, _like(near, 0.0))
    for value in (apart, guarded, _call("if_then_else", condition, near, near, dtype="float32")):
        assert not can_write(value)
    assert can_write(e.Select(condition, near, near))


def _product(name: str, lanes: int) -> tuple[ir.Function, np.ndarray, list[np.ndarray]]:
    """A row times a matrix by a dot-product instruction: the function, numpy's result, and the inputs."""
    source, depth = np.random.default_rng(0), 32
    count, kinds, intrin = {
        "int8": (4, ("uint8", "int8", "int32"), x86.dot_16x1x16_uint8_int8_int32),
        "bf16": (2, ("bfloat16", "bfloat16", "float32"), x86.dot_16x1x16_bfloat16_float32),
    }[name]
    row = te.placeholder((depth,), kinds[0], "row")
    panel = te.placeholder((depth // count, lanes, count), kinds[1], "panel")
    k = te.reduce_axis((0, depth), "k")
    result = te.compute(
        (lanes,),
        lambda j: te.sum(row[k].astype(kinds[2]) * panel[k // count, j, k % count].astype(kinds[2]), k),
        "C",
    )
    s = te.create_schedule(result)
    outer, inner = s[result].split(k, count)
    s[result].reorder(outer, result.op.axis[0], inner)
    s[result].tensorize(result.op.axis[0], intrin(lanes))
    given = [
        source.integers(0, 100, shape).astype(dtypes.numpy_of(t.dtype))
        for t, shape in ((row, (depth,)), (panel, (depth // count, lanes, count)))
    ]
    wide = [x.astype("float64") for x in given]
    want = np.einsum("kc,kjc->j", wide[0].reshape(-1, count), wide[1]).astype(kinds[2])
    return lower(s, [row, panel, result], "product"), want, given


@pytest.mark.slow
@MACHINES
@pytest.mark.parametrize("name", ["int8", "bf16"])
@pytest.mark.parametrize("lanes", [16, 8, 4])
def test_dot_products_by_instruction_and_by_loops(
    tmp_path: Path, name: str, lanes: int, flags: list[str]
) -> None:
    lowered, want, given = _product(name, lanes)
    legal = legalize(lowered, Target.parse("c -vector-bits=512"))
    assert any(isinstance(n, ir.Choice) for n in postorder(legal.body))
    source = c.generate([legal])
    assert "#if TL_VECTORS && defined(__AVX" in source
    file = compile_shared(source, tmp_path / "code.so", [pool.source()], (), [*STRICT, *flags])
    library = ctypes.CDLL(str(file))
    address = ctypes.cast(library.product, ctypes.c_void_p).value or 0
    made = CompiledFunction(signature_of(legal), address, 0, keep=library)
    np.testing.assert_array_equal(made(*given), want)
