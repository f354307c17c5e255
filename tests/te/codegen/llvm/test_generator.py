"""Statements and functions through LLVM: loops, branches, checks, stack, workspace, constants, kernels."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir
from tvmlite.te.loop.verify import verify


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def array(name: str, length: int, dtype: str = "float32", scope: str = "param") -> ir.Buffer:
    return ir.Buffer(name, dtype, (index(length),), scope)


def counter(name: str = "i") -> te.Var:
    return te.Var(name, "int64")


def add_to(buffer: ir.Buffer, place: te.Expr, value: te.Expr | float) -> ir.Store:
    return ir.Store(buffer, (place,), ir.Load(buffer, (place,)) + value)


@pytest.mark.parametrize(("first", "extent"), [(0, 5), (3, 4), (2, 0), (1, -3)])
@pytest.mark.parametrize("known", [True, False])
def test_a_loop_runs_over_its_range_and_an_empty_one_does_not_run(
    run: Any, first: int, extent: int, known: bool
) -> None:
    out, i, a, b = array("out", 10), counter(), te.Var("a", "int64"), te.Var("b", "int64")
    lower, count = (index(first), index(extent)) if known else (a, b)
    body = ir.For(i, lower, count, add_to(out, i, te.Cast("float32", i)))
    result = np.ones(10, "float32")

    assert run(ir.Function("loop", (out,), (out,), (a, b), body), result, first, extent) == 0

    wanted = np.ones(10, "float32")
    wanted[first : first + max(extent, 0)] += np.arange(first, first + max(extent, 0))
    np.testing.assert_array_equal(result, wanted)


def test_nested_loops_with_let_and_if(run: Any) -> None:
    out, i, j, t = array("out", 12), counter("i"), counter("j"), counter("t")
    odd = te.Equal(te.FloorMod(t, index(2)), index(1))
    inner = ir.Let(t, i * 4 + j, ir.If(odd, add_to(out, t, 1.0), add_to(out, t, te.Cast("float32", i))))
    body = ir.For(i, index(0), index(3), ir.For(j, index(0), index(4), inner))
    result = np.zeros(12, "float32")

    assert run(ir.Function("nest", (out,), (out,), (), body), result) == 0

    np.testing.assert_array_equal(result, [1.0 if t % 2 else t // 4 for t in range(12)])


def test_while_checks_its_condition_before_each_iteration(run: Any) -> None:
    x = array("x", 1, "int64")
    value = ir.Load(x, (index(0),))
    body = ir.While(value < index(100), ir.Store(x, (index(0),), value * 3))
    function = ir.Function("triple", (x,), (x,), (), body)
    small, great = np.array([2]), np.array([500])

    assert (run(function, small), run(function, great)) == (0, 0)

    assert (small[0], great[0]) == (162, 500)


def test_an_assert_returns_the_code_of_its_message(run: Any) -> None:
    n, out = te.Var("n", "int64"), array("out", 1)
    body = ir.sequence(
        ir.Assert(n < index(10), "n too great"),
        ir.Assert(index(0) < n, "n too small"),
        ir.Store(out, (index(0),), te.Cast("float32", n)),
    )
    function = ir.Function("check", (out,), (out,), (n,), body, messages=("n too great", "n too small"))
    result = np.zeros(1, "float32")

    assert [run(function, result, n) for n in (10, 0, -5, 4)] == [1, 2, 2, 0]
    assert result[0] == 4.0


def test_scalars_are_passed_by_value(run: Any) -> None:
    out, alpha, flag = array("out", 2), te.Var("alpha", "float32"), te.Var("flag", "bool")
    chosen = te.Select(flag, alpha, te.const(-1.0))
    function = ir.Function("scale", (out, alpha, flag), (out,), (), ir.Store(out, (index(0),), chosen))
    result = np.zeros(2, "float32")

    assert run(function, result, 2.5, 1) == 0
    assert result[0] == 2.5
    assert run(function, result, 2.5, 0) == 0
    assert result[0] == -1.0


def test_an_allocation_is_memory_on_the_stack(run: Any) -> None:
    x, out = array("x", 32), array("out", 16)
    scratch = array("scratch", 16, scope="local")
    lanes = te.Ramp(index(0), index(1), 16)
    i = counter()
    body = ir.Allocate(
        scratch,
        ir.sequence(
            ir.Store(scratch, (lanes,), te.const(0.0, "float32", 16)),
            ir.For(
                i, index(0), index(2), add_to(scratch, lanes, ir.Load(x, (te.Ramp(i * 16, index(1), 16),)))
            ),
            ir.Store(out, (lanes,), ir.Load(scratch, (lanes,))),
        ),
    )
    data, result = np.arange(32, dtype="float32"), np.zeros(16, "float32")

    assert run(ir.Function("sums", (x, out), (out,), (), body), data, result) == 0

    np.testing.assert_array_equal(result, data.reshape(2, 16).sum(0))


@pytest.mark.parametrize("dtype", ["float16", "bool", "int8"])
def test_local_buffers_of_narrow_dtypes_keep_their_values(run: Any, dtype: str) -> None:
    x, out, scratch = array("x", 16, dtype), array("out", 16, dtype), array("scratch", 16, dtype, "local")
    lanes, i = te.Ramp(index(0), index(1), 16), counter()
    back = ir.For(i, index(0), index(16), ir.Store(out, (i,), ir.Load(scratch, (i,))))
    body = ir.Allocate(scratch, ir.sequence(ir.Store(scratch, (lanes,), ir.Load(x, (lanes,))), back))
    data, result = (np.arange(16) % 3).astype(dtype), np.zeros(16, dtype)

    assert run(ir.Function("through", (x, out), (out,), (), body), data, result) == 0

    np.testing.assert_array_equal(result, data)


def test_views_are_parts_of_the_workspace(run: Any, aligned: Any) -> None:
    x, out, n = array("x", 4), array("out", 4), te.Var("n", "int64")
    first, second = array("first", 4, scope="view"), array("second", 4, scope="view")
    i, j = counter("i"), counter("j")
    fill = ir.For(
        i,
        index(0),
        index(4),
        ir.sequence(
            ir.Store(first, (i,), ir.Load(x, (i,)) * 2.0), ir.Store(second, (i,), ir.Load(x, (i,)) + 1.0)
        ),
    )
    drain = ir.For(j, index(0), index(4), ir.Store(out, (j,), ir.Load(first, (j,)) - ir.Load(second, (j,))))
    body = ir.View(first, index(0), ir.View(second, n * 64, ir.sequence(fill, drain)))
    function = ir.Function("views", (x, out), (out,), (n,), body, workspace=n * 64 + 64)
    data, result, workspace = np.arange(4, dtype="float32"), np.zeros(4, "float32"), aligned(np.zeros(64))

    assert run(function, data, result, 1, workspace, 1) == 0

    np.testing.assert_array_equal(result, data * 2 - (data + 1))
    np.testing.assert_array_equal(workspace[16:20], data + 1)


def test_a_constant_is_a_symbol_or_part_of_the_constants_of_the_function(run: Any, aligned: Any) -> None:
    out, table = array("out", 2), array("table", 4, scope="constant")
    part = array("part", 2, scope="constant")
    body = ir.View(
        part,
        index(8),
        ir.sequence(
            ir.Store(out, (index(0),), ir.Load(table, (index(3),))),
            ir.Store(out, (index(1),), ir.Load(part, (index(1),))),
        ),
    )
    function = ir.Function("entry", (out,), (out,), (), body)
    own, blob, result = aligned(np.arange(4)), aligned(np.arange(10, 20)), np.zeros(2, "float32")
    verify(function, legal=True)

    addresses = {"table": own.ctypes.data, "entry_constants": blob.ctypes.data}
    assert run(function, result, symbols=addresses) == 0

    np.testing.assert_array_equal(result, [3.0, 13.0])


def kernels(native: Target) -> list[bytes]:
    """``double(x, out, n)``, which fails with code 1 for n > 8, and ``keep(x, out, workspace, threads)``."""
    x, out, n, i = array("x", 8), array("out", 8), te.Var("n", "int64"), counter()
    loop = ir.For(i, index(0), n, ir.Store(out, (i,), ir.Load(x, (i,)) * 2.0))
    body = ir.sequence(ir.Assert(n <= index(8), "too many"), loop)
    double = ir.Function("double", (x, out), (out,), (n,), body, messages=("too many",))
    scratch, j, k = array("scratch", 8, scope="view"), counter("j"), counter("k")
    there = ir.For(
        j, index(0), index(8), ir.Store(scratch, (j,), ir.Load(x, (j,)) + te.Cast("float32", ir.THREADS))
    )
    back = ir.For(k, index(0), index(8), ir.Store(out, (k,), ir.Load(scratch, (k,))))
    keep_body = ir.View(scratch, index(0), ir.sequence(there, back))
    keep = ir.Function("keep", (x, out), (out,), (), keep_body, workspace=index(64))
    return [jit.compile_object(llvm.generate(f, native), native) for f in (double, keep)]


def entry() -> ir.Function:
    x, out, n = array("x", 8), array("out", 8), te.Var("n", "int64")
    middle = array("middle", 8, scope="view")
    calls = ir.sequence(
        ir.CallKernel("double", (x, middle), (n,), None, 40, 0),
        ir.CallKernel("keep", (middle, out), (), index(64), 41, 1),
    )
    return ir.Function(
        "entry", (x, out), (out,), (n,), ir.View(middle, index(0), calls), index(128), (), ("double", "keep")
    )


def test_an_entry_function_calls_and_times_its_kernels(native: Target, aligned: Any) -> None:
    ticks = iter(range(0, 1000, 10))
    now = ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: next(ticks) ** 2)
    code = jit.compile_object(llvm.generate(entry(), native), native)
    address = ctypes.cast(now, ctypes.c_void_p).value
    assert address is not None
    loaded = jit.load([code, *kernels(native)], {"tvmlite_now": address})
    kinds = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
    ]
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(loaded.address("entry"))
    x, out, workspace = np.arange(8, dtype="float32"), np.zeros(8, "float32"), aligned(np.zeros(32))
    profile = np.full(3, -1)
    arrays = x.ctypes.data, out.ctypes.data

    assert call(*arrays, 8, workspace.ctypes.data, 3, None) == 0
    np.testing.assert_array_equal(out, x * 2 + 3)
    assert next(ticks) == 0, "nobody asked for the time"

    assert call(*arrays, 8, workspace.ctypes.data, 3, profile.ctypes.data) == 0
    np.testing.assert_array_equal(profile, [20**2 - 10**2, 40**2 - 30**2, -1])

    assert call(*arrays, 9, workspace.ctypes.data, 3, None) == 41, "40 before it, and its own first"


def test_generated_text_is_deterministic(native: Target) -> None:
    assert llvm.generate(entry(), native) == llvm.generate(entry(), native)


def test_parameters_and_functions_may_have_any_name(run: Any) -> None:
    a, b = array("a b", 1), array("a.b", 1)
    function = ir.Function("main", (a, b), (b,), (), ir.Store(b, (index(0),), ir.Load(a, (index(0),))))
    result = np.zeros(1, "float32")

    assert run(function, np.ones(1, "float32"), result) == 0

    assert result[0] == 1.0


def matmul(rows: int, columns: int, depth: int, tile: tuple[int, int], lanes: int) -> ir.Function:
    """``C = A B`` with B packed in panels of ``tile[1]`` columns and an unrolled register tile."""
    height, width = tile
    a, b, c = array("A", rows * depth), array("B", columns * depth), array("C", rows * columns)
    total = array("total", height * width, scope="local")
    panel, strip, k = counter("panel"), counter("strip"), counter("k")
    spots = [(y, x) for y in range(height) for x in range(0, width, lanes)]

    def ramp(base: te.Expr) -> te.Ramp:
        return te.Ramp(base, index(1), lanes)

    clear, update, write = [], [], []
    for y, x in spots:
        here = ramp(index(y * width + x))
        clear.append(ir.Store(total, (here,), te.const(0.0, "float32", lanes)))
        left = te.Broadcast(ir.Load(a, ((strip * height + y) * depth + k,)), lanes)
        right = ir.Load(b, (ramp((panel * depth + k) * width + x),))
        update.append(ir.Store(total, (here,), ir.Load(total, (here,)) + left * right))
        there = ramp((strip * height + y) * columns + panel * width + x)
        write.append(ir.Store(c, (there,), ir.Load(total, (here,))))
    inner = ir.For(k, index(0), index(depth), ir.Seq(tuple(update)))
    body = ir.Allocate(total, ir.sequence(*clear, inner, *write))
    body = ir.For(
        panel, index(0), index(columns // width), ir.For(strip, index(0), index(rows // height), body)
    )
    return ir.Function("matmul", (a, b, c), (c,), (), body)


def test_a_register_tile_stays_in_registers_and_computes_the_product(run: Any) -> None:
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")
    wide = jit.assembly(llvm.generate(matmul(12, 128, 40, (6, 64), 16), target), target)
    generator = np.random.default_rng(0)
    a, b = (
        generator.standard_normal((12, 40)).astype("float32"),
        generator.standard_normal((40, 128)).astype("float32"),
    )
    panels = np.ascontiguousarray(b.reshape(40, 2, 64).transpose(1, 0, 2))
    c = np.zeros((12, 128), "float32")

    assert (
        run(matmul(12, 128, 40, (6, 64), 4), a, panels, c, target="llvm -mtriple=x86_64-unknown-linux-gnu")
        == 0
    )

    assert wide.count("vfmadd") % 24 == 0
    assert "Spill" not in wide
    np.testing.assert_allclose(c, a @ b, 1e-4, 1e-4)
