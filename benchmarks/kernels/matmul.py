"""Matrix products of float32."""

from __future__ import annotations

from typing import Any

from kernels.case import Case, panels, random
from kernels.machine import LANES, by_registers
from tvmlite import te


def packed(size: int, parallel: bool = False) -> Case:
    """A square product whose right matrix is already in panels."""
    rows, columns = 6, by_registers(4, 2) * LANES
    a_matrix = te.placeholder((size, size), "float32", "A")
    panel = te.placeholder((-(-size // columns), size, columns), "float32", "P")
    k = te.reduce_axis((0, size), "k")
    c = te.compute(
        (size, size), lambda i, j: te.sum(a_matrix[i, k] * panel[j // columns, k, j % columns], k), "C"
    )
    s = te.create_schedule(c)
    outer = register_tile(s, c, rows, columns)
    if parallel:
        s[c].parallel(outer)
    a, b = random(size, size), random(size, size, seed=1)
    written_in = (register_tile,)
    return Case(s, [a_matrix, panel, c], [a, panels(b, columns)], a @ b, 2.0 * size**3, written_in=written_in)


def register_tile(s: te.Schedule, c: te.Tensor, rows: int, columns: int) -> te.IterVar:
    """Keep tiles of ``rows`` by ``columns`` sums in registers, panel by panel; returns the loop over
    panels."""
    sums = s.cache_write(c, "local")
    i, j = s[c].op.axis
    row_tile, panel, i, j = s[c].tile(i, j, rows, columns)
    vectors, j = s[c].split(j, LANES)
    s[c].reorder(panel, row_tile, i, vectors, j)
    s[c].unroll(i)
    s[c].unroll(vectors)
    s[c].vectorize(j)
    s[sums].compute_at(s[c], row_tile)
    i, j = s[sums].op.axis
    (k,) = s[sums].op.reduce_axis
    vectors, j = s[sums].split(j, LANES)
    s[sums].reorder(k, i, vectors, j)
    s[sums].unroll(i)
    s[sums].unroll(vectors)
    s[sums].vectorize(j)
    return panel


def packing(m: int, n: int, k: int, symbolic: bool = False) -> Case:
    """A product of any sizes, known or symbolic, that packs one panel after the other itself."""
    rows, vectors = by_registers((7, 3), (6, 2))
    columns = vectors * LANES
    sizes: Any = te.size_var("m"), te.size_var("n"), te.size_var("k")
    height, width, depth = sizes if symbolic else (m, n, k)
    a_matrix = te.placeholder((height, depth), "float32", "A")
    b_matrix = te.placeholder((depth, width), "float32", "B")
    count = te.floordiv(width + columns - 1, columns) if symbolic else -(-n // columns)
    panel = te.compute(
        (count, depth, columns),
        lambda p, q, j: te.if_then_else(p * columns + j < width, b_matrix[q, p * columns + j], 0.0),
        "P",
    )
    q = te.reduce_axis((0, depth), "q")
    c = te.compute(
        (height, width), lambda i, j: te.sum(a_matrix[i, q] * panel[j // columns, q, j % columns], q), "C"
    )
    s = te.create_schedule(c)
    _pack_as_needed(s, panel, c, register_tile(s, c, rows, columns))
    a, b = random(m, k), random(k, n, seed=1)
    written_in = (register_tile, _pack_as_needed)
    return Case(s, [a_matrix, b_matrix, c], [a, b], a @ b, 2.0 * m * n * k, written_in=written_in)


def _pack_as_needed(s: te.Schedule, panel: te.Tensor, c: te.Tensor, place: te.IterVar) -> None:
    """Pack each panel in whole vectors just before its use."""
    s[panel].compute_at(s[c], place)
    vectors, j = s[panel].split(s[panel].op.axis[2], LANES)
    s[panel].unroll(vectors)
    s[panel].vectorize(j)


def one_row(size: int = 4096, streams: int = 4, vectors: int = 4) -> Case:
    """One row by a square matrix: the limit is reading the matrix, which is done in several streams at once.
    Each stream reads contiguous memory, so the data that the hardware prefetches is always used."""
    x = te.placeholder((size,), "float32", "x")
    w = te.placeholder((size, size), "float32", "W")
    k = te.reduce_axis((0, size), "k")
    y = te.compute((size,), lambda j: te.sum(x[k] * w[k, j], k), "y")
    s = te.create_schedule(y)
    _read_in_streams(s, y, streams, vectors)
    a, b = random(size), random(size, size, seed=1)
    return Case(s, [x, w, y], [a, b], a @ b, 4.0 * size * size, 1e-4, written_in=(_read_in_streams,))


def _read_in_streams(s: te.Schedule, y: te.Tensor, streams: int, vectors: int) -> None:
    """Read the rows of the matrix in ``streams`` streams at once, ``vectors`` vectors of each at a time."""
    _, lane = s[y].split(s[y].op.axis[0], LANES)
    stream, k = s[y].split(s[y].op.reduce_axis[0], nparts=streams)
    block, vector = s[y].split(s[y].leaf_iter_vars[0], vectors)
    s[y].reorder(k, block, stream, vector, lane)
    s[y].unroll(stream)
    s[y].unroll(vector)
    s[y].vectorize(lane)
