"""Each step of an address is computed where its operands become known, and no earlier."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def array(name: str, length: int, dtype: str = "float32") -> ir.Buffer:
    return ir.Buffer(name, dtype, (index(length),), "param")


def ramp(base: te.Expr) -> te.Expr:
    return te.Ramp(base, index(1), 4)


def loop(var: te.Var, extent: int, body: ir.Stmt) -> ir.For:
    return ir.For(var, index(0), index(extent), body)


def text_of(out: ir.Buffer, body: ir.Stmt, *inputs: ir.Buffer) -> list[str]:
    """The instructions of the generated LLVM IR, without the names of their values."""
    text = llvm.generate(ir.Function("f", (*inputs, out), (out,), (), body), TARGET)
    return [re.sub(r"%[vi][.\w]*", "%", line.strip()) for line in text.splitlines()]


def test_each_loop_advances_an_address_once_and_neighbours_share_it() -> None:
    a, b, i, k = array("a", 4096), array("b", 4096), te.Var("i", "int64"), te.Var("k", "int64")
    stores = [
        ir.Store(b, (ramp(i * 512 + k * 8 + n),), ir.Load(a, (ramp(i * 512 + k * 8 + n),))) for n in (0, 4)
    ]

    lines = text_of(b, loop(i, 8, loop(k, 64, ir.sequence(*stores))), a)

    steps = [line for line in lines if "getelementptr" in line]
    assert steps == [
        "% = getelementptr float, ptr %p.a, i64 %",
        "% = getelementptr float, ptr %p.b, i64 %",
        "% = getelementptr float, ptr %, i64 %",
        "% = getelementptr float, ptr %, i64 %",
        "% = getelementptr float, ptr %, i64 4",
        "% = getelementptr float, ptr %, i64 4",
    ]
    outer, inner = (n for n, line in enumerate(lines) if "phi" in line)
    assert lines[outer + 1 : outer + 5] == [
        "% = mul i64 %, 512",
        steps[0],
        "% = mul i64 %, 512",
        steps[1],
    ]
    assert "% = load <4 x float>, ptr %, align 4" in lines[inner:]


def test_a_quotient_of_an_outer_loop_variable_is_computed_in_the_outer_loop() -> None:
    a, b, i, k = array("a", 4096), array("b", 4096), te.Var("i", "int64"), te.Var("k", "int64")
    place = ramp(te.FloorDiv(i, index(3)) * 64 + k * 4)

    lines = text_of(b, loop(i, 9, loop(k, 16, ir.Store(b, (place,), ir.Load(a, (place,))))), a)

    division = next(n for n, line in enumerate(lines) if "srem" in line)
    assert division < [n for n, line in enumerate(lines) if "phi" in line][1]


def test_a_variable_bound_later_is_not_used_before(run: Any) -> None:
    a, b = array("a", 64), array("b", 64)
    i, k, half = te.Var("i", "int64"), te.Var("k", "int64"), te.Var("half", "int64")
    body = ir.Let(
        half,
        ir.Load(array_of_places := array("places", 4, "int64"), (i,)),
        loop(k, 2, ir.Store(b, (ramp(half * 8 + k * 4),), ir.Load(a, (ramp(i * 8 + k * 4),)))),
    )
    function = ir.Function("f", (a, array_of_places, b), (b,), (), loop(i, 4, body))
    x, places, out = np.arange(64, dtype="float32"), np.array([3, 1, 0, 2]), np.zeros(64, "float32")

    assert run(function, x, places, out) == 0

    want = np.zeros(64, "float32")
    want[:32].reshape(4, 8)[places] = x[:32].reshape(4, 8)
    np.testing.assert_array_equal(out, want)


def test_an_address_read_from_memory_follows_stores_to_that_memory(run: Any) -> None:
    a, b, places = array("a", 16), array("b", 16), ir.Buffer("places", "int64", (index(4),), "local")
    i, k = te.Var("i", "int64"), te.Var("k", "int64")
    fill = loop(i, 4, ir.Store(places, (i,), 3 - i))
    there = ramp(ir.Load(places, (k,)) * 4)
    copy = loop(k, 4, ir.Store(b, (ramp(k * 4),), ir.Load(a, (there,))))
    function = ir.Function("f", (a, b), (b,), (), ir.Allocate(places, ir.sequence(fill, copy)))
    x, out = np.arange(16, dtype="float32"), np.zeros(16, "float32")

    assert run(function, x, out) == 0

    np.testing.assert_array_equal(out, x.reshape(4, 4)[::-1].reshape(-1))


def test_an_address_step_may_leave_the_array_if_the_element_is_inside(run: Any) -> None:
    a, b, i = array("a", 64), array("b", 64), te.Var("i", "int64")
    copy = loop(i, 16, ir.Store(b, (ramp(i * 4),), ir.Load(a, (ramp(60 - i * 4),))))
    function = ir.Function("f", (a, b), (b,), (), copy)
    x, out = np.arange(64, dtype="float32"), np.zeros(64, "float32")

    assert run(function, x, out) == 0

    np.testing.assert_array_equal(out, x.reshape(16, 4)[::-1].reshape(-1))
