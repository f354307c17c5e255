"""Loops unrolled by a schedule keep their form; all others are left to LLVM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import tvmlite
from tvmlite import te as surface
from tvmlite.machine.target import Target
from tvmlite.te import expr as te
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.codegen.llvm.loops import has_enough_stores, invariants, is_explicit
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import statements

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")


def index(value: int) -> te.Expr:
    return te.const(value, "int64")


def scaling(vectors: int, lanes: int = 16, scope: str = "param", length: int = 256) -> ir.For:
    """A loop that doubles ``vectors`` vectors of a buffer in each iteration."""
    buffer, i = ir.Buffer("a", "float32", (index(length),), scope), te.Var("i", "int64")
    stores = []
    for n in range(vectors):
        place: te.Expr = i * (vectors * lanes) + n * lanes
        if lanes > 1:
            place = te.Ramp(place, index(1), lanes)
        stores.append(ir.Store(buffer, (place,), ir.Load(buffer, (place,)) * 2.0))
    return ir.For(i, index(0), index(length // (vectors * lanes)), ir.sequence(*stores))


def left_alone(loop: ir.For) -> bool:
    return has_enough_stores(loop.var, loop.body, TARGET)


def test_a_loop_over_several_vectors_is_not_unrolled_by_llvm() -> None:
    assert left_alone(scaling(4))


def test_prefetches_in_a_loop_of_vectors_change_nothing() -> None:
    loop = scaling(4)
    ahead = te.Call("prefetch", (loop.body.body[0].value.a,), "float32")  # type: ignore[attr-defined]

    assert has_enough_stores(loop.var, ir.sequence(ir.Evaluate(ahead), loop.body), TARGET)


def test_loops_of_few_vectors_or_scalars_are_left_to_llvm() -> None:
    assert not left_alone(scaling(2))
    assert not left_alone(scaling(8, lanes=1))


def test_a_loop_over_an_array_that_fits_into_registers_is_left_to_llvm() -> None:
    assert not left_alone(scaling(4, scope="local", length=512))
    assert left_alone(scaling(4, scope="local", length=1024))


def test_loops_not_to_be_unrolled_are_marked_for_llvm() -> None:
    loop, other = scaling(4), scaling(1, lanes=1)
    buffers = [one.buffer for one in statements(ir.sequence(loop, other)) if isinstance(one, ir.Store)]
    buffers = list(dict.fromkeys(buffers))
    function = ir.Function("scale", tuple(buffers), tuple(buffers), (), ir.sequence(loop, other))

    text = llvm.generate(function, TARGET)

    assert "!llvm.loop !1" in text
    assert text.endswith('!0 = !{!"llvm.loop.unroll.disable"}\n!1 = distinct !{!1, !0}\n')


def weighted(weights: ir.Buffer, sums: ir.Buffer, data: ir.Buffer, extent: te.Expr) -> ir.For:
    """``sums[0:16] += data[i * 16 ...] * weights[0:16]`` in each iteration."""
    i = te.Var("i", "int64")
    own, there = te.Ramp(index(0), index(1), 16), te.Ramp(i * 16, index(1), 16)
    update = ir.Load(sums, (own,)) + ir.Load(data, (there,)) * ir.Load(weights, (own,))
    return ir.For(i, index(0), extent, ir.Store(sums, (own,), update))


def vectors_of(name: str, scope: str = "param") -> ir.Buffer:
    return ir.Buffer(name, "float32", (index(64),), scope)


def test_a_loop_invariant_load_is_hoisted() -> None:
    weights, sums = vectors_of("w"), vectors_of("s", "local")
    loop = weighted(weights, sums, vectors_of("x"), index(4))

    (found,) = invariants(loop, TARGET)

    assert isinstance(found, ir.Load)
    assert found.buffer is weights


def test_loads_that_the_loop_overwrites_or_guards_are_not_hoisted() -> None:
    sums = vectors_of("s", "local")
    assert not invariants(weighted(sums, sums, vectors_of("x"), index(4)), TARGET)
    loop = weighted(vectors_of("w"), sums, vectors_of("x"), index(4))
    store = loop.body
    assert isinstance(store, ir.Store)
    lazy = te.Call("if_then_else", (loop.var < 3, store.value, te.const(0.0, "float32", 16)), "float32")
    assert not invariants(replace(loop, body=replace(store, value=lazy)), TARGET)
    assert not invariants(replace(loop, body=ir.If(loop.var < 3, store)), TARGET)


def test_no_more_loads_are_hoisted_than_there_are_registers() -> None:
    data, i = ir.Buffer("w", "float32", (index(1024),), "param"), te.Var("i", "int64")
    out = vectors_of("y")
    total: te.Expr = te.const(0.0, "float32", 16)
    for n in range(60):
        total = total + ir.Load(data, (te.Ramp(index(16 * n), index(1), 16),))
    loop = ir.For(i, index(0), index(4), ir.Store(out, (te.Ramp(i * 16, index(1), 16),), total))

    assert 0 < len(invariants(loop, TARGET)) < TARGET.vector_registers


def test_nothing_is_loaded_before_an_empty_loop(run: Any) -> None:
    n, out = te.SizeVar("n", "int64"), vectors_of("y")
    weights = ir.Buffer("w", "float32", (n * 16,), "param")
    loop = weighted(weights, out, data := vectors_of("x"), n)
    function = ir.Function("f", (weights, data, out), (out,), (n,), loop)
    nothing, y = np.zeros(0, "float32"), np.ones(64, "float32")

    assert run(function, nothing, nothing, y, 0) == 0

    assert (y == 1).all()


def explicit(body: ir.Stmt) -> bool:
    return is_explicit(ir.Function("f", (), (), (), body), TARGET)


def test_a_kernel_of_vectors_and_registers_is_explicit() -> None:
    sums = vectors_of("s", "local")
    tile = weighted(vectors_of("w"), sums, vectors_of("x"), index(4))

    assert explicit(scaling(1))
    assert explicit(ir.Allocate(sums, tile))
    assert explicit(ir.For(te.Var("j", "int64"), index(0), index(9), ir.Allocate(sums, tile)))
    assert explicit(ir.Seq(()))


def test_a_loop_of_scalars_is_not_explicit() -> None:
    assert not explicit(scaling(4, lanes=1))
    assert not explicit(ir.sequence(scaling(4), scaling(1, lanes=1)))
    assert not explicit(ir.While(te.const(False), scaling(4)))


def test_accumulation_in_memory_is_not_explicit() -> None:
    assert not explicit(weighted(vectors_of("w"), vectors_of("s"), vectors_of("x"), index(4)))


def times(extent: int, body: ir.Stmt) -> ir.For:
    return ir.For(te.Var("k", "int64"), index(0), index(extent), body)


def buffer_of(loop: ir.For) -> ir.Buffer:
    assert isinstance(loop.body, ir.Store)
    return loop.body.buffer


def test_a_loop_over_accumulators_that_fit_into_registers_is_not_explicit() -> None:
    small, large = (scaling(1, scope="local", length=n) for n in (512, 1024))

    assert not explicit(ir.Allocate(buffer_of(small), times(9, small)))
    assert explicit(ir.Allocate(buffer_of(large), times(9, large)))
    assert explicit(times(9, ir.Allocate(buffer_of(small), small)))  # no accumulation


def test_a_strided_read_is_explicit_only_from_a_copy_of_accumulators() -> None:
    sums, copy, out = vectors_of("s", "local"), vectors_of("t", "local"), vectors_of("y")
    tile = weighted(vectors_of("w"), sums, vectors_of("x"), index(4))
    j = te.Var("j", "int64")

    def every_fourth(read: ir.Buffer) -> ir.For:
        place = te.Ramp(j, index(4), 4)
        return ir.For(
            j, index(0), index(4), ir.Store(out, (te.Ramp(j * 4, index(1), 4),), ir.Load(read, (place,)))
        )

    vectors = [te.Ramp(index(n), index(1), 16) for n in range(0, 64, 16)]
    copied = [ir.Store(copy, (place,), ir.Load(sums, (place,))) for place in vectors]

    assert not explicit(ir.Allocate(sums, ir.sequence(tile, every_fourth(sums))))
    assert explicit(ir.Allocate(sums, ir.Allocate(copy, ir.sequence(tile, *copied, every_fourth(copy)))))


def test_a_loop_of_scalar_stores_with_gaps_is_explicit() -> None:
    out, i = vectors_of("y"), te.Var("i", "int64")
    value = te.const(1.0, "float32")

    assert explicit(ir.For(i, index(0), index(4), ir.Store(out, (i * 16,), value)))
    assert not explicit(ir.For(i, index(0), index(4), ir.Store(out, (i,), value)))
    pair = [ir.Store(out, (i * 2 + n,), value) for n in range(2)]
    assert not explicit(ir.For(i, index(0), index(4), ir.sequence(*pair)))


def test_an_index_let_that_varies_with_the_loop_counts_as_its_variable() -> None:
    i, base = te.Var("i", "int64"), te.Var("base", "int64")
    out = vectors_of("y")
    place = (te.Ramp(base, index(1), 16),)
    doubled = ir.Store(out, place, ir.Load(out, place) * 2.0)

    assert explicit(ir.For(i, index(0), index(4), ir.Let(base, i * 16, doubled)))
    assert not explicit(ir.For(i, index(0), index(4), ir.Let(base, te.Var("n", "int64") * 16, doubled)))


def test_an_explicit_module_is_marked_and_has_no_unroll_hints() -> None:
    loop = scaling(4)
    buffer = loop.body.body[0].buffer  # type: ignore[attr-defined]

    text = llvm.generate(ir.Function("scale", (buffer,), (buffer,), (), loop), TARGET)

    assert '"tvmlite-explicit"' in text
    assert "llvm.loop" not in text


def test_loads_of_an_array_local_to_an_iteration_are_not_hoisted() -> None:
    a = surface.placeholder((11,), "int32", name="a")
    b = surface.compute((1, 5, 5), lambda i, j, k: a[j + k], name="b")
    c = surface.compute((1, 5, 5), lambda i, j, k: b[i, j, k] * 2, name="c")
    s = surface.create_schedule(c.op)
    i, j, k = c.op.axis
    s[c].vectorize(j)
    s[c].reorder(j, k, i)
    s[b].compute_at(s[c], i)
    s[b].set_store_predicate(b.op.axis[2] < 1)  # so that later iterations write nothing

    made = tvmlite.build(s, [a, c])(np.arange(11, dtype="int32"))

    np.testing.assert_array_equal(made[0, :, 0], 2 * np.arange(5))
