"""Scheduled computations through LLVM, compared with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.machine.target import Target
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import pool
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.shapes import shapes_function
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.lowering.lower import lower


def build(schedule: Any, args: list[Any], native: Target, name: str = "main") -> CompiledFunction:
    """The function of a schedule, compiled, with access to the thread pool."""
    function = legalize(lower(schedule, args, name=name), native)
    shapes = shapes_function(function)
    texts = [llvm.generate(one, native) for one in (function, shapes) if one is not None]
    loaded = jit.load([jit.compile_object(text, native) for text in texts], pool_symbols(native))
    address = loaded.address(f"{name}_shapes") if shapes is not None else 0
    return CompiledFunction(signature_of(function), loaded.address(name), address, loaded)


def pool_symbols(native: Target) -> dict[str, int]:
    loaded = jit.load([jit.compile_object(pool.llvm_ir(native.triple), native)], {}, forever=True)
    return {name: loaded.address(name) for name in pool.SYMBOLS}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def tiled_matmul(m: int, n: int, depth: int, tile: tuple[int, int], lanes: int) -> tuple[Any, list[Any]]:
    """A matrix product with B packed in panels and the accumulators of a tile in registers."""
    height, width = tile
    a, b = te.placeholder((m, depth), name="A"), te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), "k")
    packed = te.compute((n // width, depth, width), lambda p, y, x: b[y, p * width + x], name="packed")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, k] * packed[j // width, k, te.indexmod(j, width)], k))
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    outer, column, row, inner = s[c].tile(*s[c].op.axis, height, width)
    s[c].reorder(column, outer, row, inner)
    wide, lane = s[c].split(inner, lanes)
    s[c].unroll(row)
    s[c].unroll(wide)
    s[c].vectorize(lane)
    s[sums].compute_at(s[c], outer)
    row, inner = s[sums].op.axis
    wide, lane = s[sums].split(inner, lanes)
    s[sums].reorder(s[sums].op.reduce_axis[0], row, wide, lane)
    s[sums].unroll(row)
    s[sums].unroll(wide)
    s[sums].vectorize(lane)
    s[c].parallel(column)
    return s, [a, b, c]


def test_a_scheduled_register_tile_computes_the_product(native: Target) -> None:
    s, args = tiled_matmul(24, 128, 50, (6, 64), native.lanes("float32"))
    a, b = normal(24, 50), normal(50, 128)

    result = build(s, args, native)(a, b)

    np.testing.assert_allclose(result, a @ b, 1e-4, 1e-4)


def test_a_scheduled_register_tile_has_no_spills() -> None:
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")
    s, args = tiled_matmul(24, 128, 50, (6, 64), 16)

    text = jit.assembly(llvm.generate(legalize(lower(s, args), target), target), target)

    inner = max(text.split("\n.LBB"), key=lambda block: block.count("vfmadd"))
    assert inner.count("vfmadd") % 24 == 0
    assert inner.count("-byte Spill") + inner.count("-byte Reload") == 0


@pytest.mark.parametrize("extent", [1, 15, 16, 100])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
def test_vectors_with_a_tail_compute_all_elements(native: Target, extent: int, dtype: str) -> None:
    x = te.placeholder((extent,), dtype, name="x")
    y = te.compute((extent,), lambda i: te.select(x[i] > x[0], x[i], x[0]), name="y")
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(s[y].op.axis[0], 16)
    s[y].vectorize(inner)
    s[y].parallel(outer)
    data = (np.arange(extent) * 7 % 5).astype(dtype)

    np.testing.assert_array_equal(build(s, [x, y], native)(data), np.maximum(data, data[0]))


def test_a_padded_convolution_reads_only_inside(native: Target) -> None:
    x, w = te.placeholder((3, 9, 10), name="x"), te.placeholder((4, 3, 3, 3), name="w")
    padded = te.compute(
        (3, 11, 12),
        lambda c, i, j: te.if_then_else(
            te.all(i >= 1, i < 10, j >= 1, j < 11), x[c, i - 1, j - 1], te.const(0.0, "float32")
        ),
        name="padded",
    )
    c, u, v = te.reduce_axis((0, 3), "c"), te.reduce_axis((0, 3), "u"), te.reduce_axis((0, 3), "v")
    y = te.compute(
        (4, 9, 10), lambda o, i, j: te.sum(padded[c, i + u, j + v] * w[o, c, u, v], [c, u, v]), name="y"
    )
    s = te.create_schedule(y.op)
    s[padded].compute_inline()
    s[y].vectorize(s[y].op.axis[2])
    data, weights = normal(3, 9, 10), normal(4, 3, 3, 3)

    result = build(s, [x, w, y], native)(data, weights)

    around = np.pad(data, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (1, 2))
    np.testing.assert_allclose(result, np.einsum("cijuv,ocuv->oij", windows, weights), 1e-4, 1e-4)


def test_softmax_over_a_symbolic_extent(native: Target) -> None:
    n = te.size_var("n")
    x = te.placeholder((5, n), name="x")
    k, q = te.reduce_axis((0, n), "k"), te.reduce_axis((0, n), "q")
    most = te.compute((5,), lambda i: te.max(x[i, k], k), name="most")
    e = te.compute((5, n), lambda i, j: te.exp(x[i, j] - most[i]), name="e")
    total = te.compute((5,), lambda i: te.sum(e[i, q], q), name="total")
    y = te.compute((5, n), lambda i, j: e[i, j] / total[i], name="y")
    s = te.create_schedule(y.op)
    s[y].parallel(s[y].op.axis[0])
    s[total].compute_at(s[y], s[y].op.axis[0])
    s[e].compute_at(s[y], s[y].op.axis[0])
    s[most].compute_at(s[y], s[y].op.axis[0])
    function = build(s, [x, y], native)

    for extent in (1, 7, 64, 1000):
        data = normal(5, extent) * 10
        powers = np.exp((data - data.max(1, keepdims=True)).astype("float64"))
        np.testing.assert_allclose(function(data), powers / powers.sum(1, keepdims=True), 1e-5, 1e-7)


def test_an_int8_product_accumulates_in_int32(native: Target) -> None:
    a, b = te.placeholder((7, 33), "int8", name="a"), te.placeholder((33, 20), "uint8", name="b")
    k = te.reduce_axis((0, 33), "k")
    c = te.compute(
        (7, 20), lambda i, j: te.sum(a[i, k].astype("int32") * b[k, j].astype("int32"), k), name="c"
    )
    s = te.create_schedule(c.op)
    s[c].reorder(k, s[c].op.axis[1])
    s[c].vectorize(s[c].op.axis[1])
    generator = np.random.default_rng(2)
    x = generator.integers(-128, 128, (7, 33), dtype="int8")
    y = generator.integers(0, 256, (33, 20), dtype="uint8")

    np.testing.assert_array_equal(build(s, [a, b, c], native)(x, y), x.astype("int32") @ y.astype("int32"))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 5, 7])
def test_accumulators_by_channel_are_read_as_rows_of_odd_length(columns: int, native: Target) -> None:
    """LLVM 22 loses the last of five lanes in AVX-512 registers."""
    size, depth = 14, 16
    x, w = te.placeholder((depth, size, size), name="X"), te.placeholder((8, depth, 16), name="W")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((128, size, size), lambda o, i, j: te.sum(x[k, i, j] * w[o // 16, k, o % 16], k), name="C")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    o, i, j = s[c].op.axis
    blocks, channel = s[c].split(o, factor=16)
    rows, row = s[c].split(i, factor=5)
    tiles, column = s[c].split(j, factor=columns)
    s[c].reorder(tiles, rows, blocks, channel, row, column)
    s[c].parallel(s[c].fuse(tiles, rows))
    s[c].unroll(channel)
    s[c].unroll(row)
    s[c].vectorize(column)
    s[sums].compute_at(s[c], blocks)
    lane, *inner = s[sums].op.axis
    steps, step = s[sums].split(*s[sums].op.reduce_axis, factor=4)
    s[sums].reorder(steps, step, *inner, lane)
    for axis in (step, *inner):
        s[sums].unroll(axis)
    s[sums].vectorize(lane)
    a, b = normal(depth, size, size), normal(8, depth, 16)

    made = build(s, [x, w, c], native)(a, b)

    expected = np.einsum("kij,okl->olij", a, b).reshape(128, size, size)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)
