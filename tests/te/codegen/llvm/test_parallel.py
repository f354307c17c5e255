"""Parallel loops through LLVM, on the thread pool of the runtime and on one with an unusual partition."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tvmlite.machine.target import Target
from tvmlite.runtime.pool import pool
from tvmlite.te import expr as te
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def array(name: str, extent: te.Expr, scope: str = "param") -> ir.Buffer:
    return ir.Buffer(name, "float32", (extent,), scope)


class OddPool:
    """Run a parallel loop in pieces of three, last piece first, as thread 0, 1, 0, 1, ..."""

    def __init__(self) -> None:
        self.extents: list[int] = []
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, BODY, ctypes.c_void_p, ctypes.c_int64)
        self._callback = kind(self._run)
        self.symbols = {"tvmlite_parallel_for": ctypes.cast(self._callback, ctypes.c_void_p).value}

    def _run(self, body: Any, closure: int, extent: int) -> int:
        self.extents.append(extent)
        for thread, begin in enumerate(reversed(range(0, extent, 3))):
            code = body(closure, begin, min(begin + 3, extent), thread % 2)
            if code:
                return code
        return 0


@pytest.fixture
def odd() -> OddPool:
    return OddPool()


def scale(first: te.Expr) -> ir.Function:
    """``out[i] = x[i] * alpha + shift`` for i in [``first``, n), in parallel."""
    n, alpha = te.Var("n", "int64"), te.Var("alpha", "float32")
    x, out = array("x", n), array("out", n)
    i, shift = te.Var("i", "int64"), te.Var("shift", "float32")
    value = ir.Load(x, (i,)) * alpha + shift
    loop = ir.For(i, first, n - first, ir.Store(out, (i,), value), ir.PARALLEL)
    body = ir.Let(shift, te.Cast("float32", n), loop)
    return ir.Function("scale", (x, out, alpha), (out,), (n,), body)


@pytest.mark.parametrize("first", [0, 4])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_the_body_captures_the_values_it_uses(run: Any, odd: OddPool, first: int, count: int) -> None:
    x, out = np.arange(count, dtype="float32"), np.zeros(count, "float32")

    assert run(scale(index(first)), x, out, 2.0, count, symbols=odd.symbols) == 0

    wanted = x * 2 + count
    wanted[:first] = 0
    np.testing.assert_array_equal(out, wanted)
    assert odd.extents == [max(count - first, 0)]


def test_the_first_iteration_may_be_an_expression(run: Any, odd: OddPool) -> None:
    n = te.Var("n", "int64")
    out, i = array("out", n), te.Var("i", "int64")
    loop = ir.For(i, te.FloorDiv(n, index(2)), index(4), ir.Store(out, (i,), te.const(1.0)), ir.PARALLEL)
    result = np.zeros(12, "float32")

    assert run(ir.Function("later", (out,), (out,), (n,), loop), result, 12, symbols=odd.symbols) == 0

    np.testing.assert_array_equal(result, [0.0] * 6 + [1.0] * 4 + [0.0] * 2)


def test_each_thread_has_its_slice_of_the_workspace(run: Any, odd: OddPool, aligned: Any) -> None:
    out, i = array("out", index(12)), te.Var("i", "int64")
    scratch, table = array("scratch", index(16), "view"), array("table", index(12), "view")
    j = te.Var("j", "int64")
    fill = ir.For(j, index(0), index(12), ir.Store(table, (j,), te.Cast("float32", j)))
    note = ir.Store(scratch, (index(0),), ir.Load(scratch, (index(0),)) + 1.0)
    work = ir.sequence(note, ir.Store(out, (i,), ir.Load(table, (i,)) * 10.0))
    inner = ir.View(scratch, ir.THREAD * 64, work)
    loop = ir.For(i, index(0), index(12), inner, ir.PARALLEL)
    offset = ir.THREADS * 64
    body = ir.View(table, offset, ir.sequence(fill, loop))
    function = ir.Function("slices", (out,), (out,), (), body, workspace=offset + 64)
    result, workspace = np.zeros(12, "float32"), aligned(np.zeros(64))

    assert run(function, result, workspace, 2, symbols=odd.symbols) == 0

    np.testing.assert_array_equal(result, np.arange(12) * 10)
    assert (workspace[0], workspace[16]) == (6.0, 6.0), "of four pieces of three, each thread had two"


def test_outside_a_parallel_loop_the_thread_number_is_zero(run: Any) -> None:
    out = array("out", index(1))
    function = ir.Function(
        "who", (out,), (out,), (), ir.Store(out, (index(0),), te.Cast("float32", ir.THREAD + 1))
    )
    result = np.zeros(1, "float32")

    assert run(function, result) == 0
    assert result[0] == 1.0


def test_a_failed_assert_in_the_body_ends_the_function_with_its_code(run: Any, odd: OddPool) -> None:
    out, i, n = array("out", index(12)), te.Var("i", "int64"), te.Var("n", "int64")
    work = ir.sequence(ir.Assert(te.NotEqual(i, n), "hit"), ir.Store(out, (i,), te.const(1.0)))
    loop = ir.For(i, index(0), index(12), work, ir.PARALLEL)
    body = ir.sequence(loop, ir.Store(out, (index(0),), te.const(9.0)))
    function = ir.Function("fails", (out,), (out,), (n,), body, messages=("other", "hit"))
    result = np.zeros(12, "float32")

    assert run(function, result, 7, symbols=odd.symbols) == 2
    assert result[0] != 9.0
    assert run(function, result, 99, symbols=odd.symbols) == 0
    assert result[0] == 9.0


def test_local_and_constant_buffers_are_available_in_the_body(run: Any, odd: OddPool, aligned: Any) -> None:
    out, i = array("out", index(4)), te.Var("i", "int64")
    local, part = array("local", index(4), "local"), array("part", index(4), "constant")
    table = array("table", index(4), "constant")
    value = ir.Load(local, (index(0),)) + ir.Load(part, (i,)) + ir.Load(table, (i,))
    loop = ir.For(i, index(0), index(4), ir.Store(out, (i,), value), ir.PARALLEL)
    body = ir.Allocate(local, ir.sequence(ir.Store(local, (index(0),), te.const(100.0)), loop))
    function = ir.Function("reach", (out,), (out,), (), ir.View(part, index(16), body))
    blob, own, result = aligned(np.arange(8)), aligned(np.full(4, 1000)), np.zeros(4, "float32")
    addresses = {"reach_constants": blob.ctypes.data, "table": own.ctypes.data}

    assert run(function, result, symbols=addresses | odd.symbols) == 0

    np.testing.assert_array_equal(result, 1100 + blob[4:])


def test_a_nested_parallel_loop_runs_serially(run: Any, odd: OddPool) -> None:
    out, i, j = array("out", index(12)), te.Var("i", "int64"), te.Var("j", "int64")
    inner = ir.For(j, index(0), index(4), ir.Store(out, (i * 4 + j,), te.const(1.0)), ir.PARALLEL)
    function = ir.Function("nested", (out,), (out,), (), ir.For(i, index(0), index(3), inner, ir.PARALLEL))
    result = np.zeros(12, "float32")

    assert run(function, result, symbols=odd.symbols) == 0

    assert result.all()
    assert odd.extents == [3]


def test_a_parallel_loop_runs_on_the_thread_pool_of_the_runtime(native: Target) -> None:
    threads = jit.load([jit.compile_object(pool.llvm_ir(native.triple), native)], {}, forever=True)
    symbols = {name: threads.address(name) for name in pool.SYMBOLS}
    loaded = jit.load([jit.compile_object(llvm.generate(scale(index(0)), native), native)], symbols)
    kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int64]
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(loaded.address("scale"))
    x, out = np.arange(1000, dtype="float32"), np.zeros(1000, "float32")

    assert call(x.ctypes.data, out.ctypes.data, 3.0, 1000) == 0

    np.testing.assert_array_equal(out, x * 3 + 1000)


def test_the_process_can_exit_while_the_pool_is_running() -> None:
    program = """
import ctypes
from tvmlite.machine.target import Target
from tvmlite.runtime.pool import pool
from tvmlite.te.codegen import jit

native = Target.parse("native")
loaded = jit.load([jit.compile_object(pool.llvm_ir(native.triple), native)], {}, forever=True)
kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 1, *[ctypes.c_int64] * 3)
body = kind(lambda closure, begin, end, thread: 0)
ctypes.CFUNCTYPE(ctypes.c_int32, kind, ctypes.c_void_p, ctypes.c_int64)(
    loaded.address("tvmlite_parallel_for")
)(body, None, 1000)
"""
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", program], env=os.environ | {"TVMLITE_NUM_THREADS": "4"})
        assert run.returncode == 0
