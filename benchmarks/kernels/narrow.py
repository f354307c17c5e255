"""Matrix products of int8 and bfloat16 by instructions that multiply groups of four or two of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from kernels.case import Case, panels, random
from tvmlite import te
from tvmlite.techniques.common import x86

LANES = 16


def _tile(
    s: te.Schedule, sums: te.Tensor, host: te.Tensor, rows: int, columns: int, step: int, intrin
) -> None:
    """Compute tiles of ``rows`` by ``columns`` sums; ``intrin`` processes ``step`` steps of the reduction."""
    i, j = s[host].op.axis
    row_tile, panel, i, j = s[host].tile(i, j, rows, columns)
    vectors, j = s[host].split(j, LANES)
    s[host].reorder(panel, row_tile, i, vectors, j)
    s[host].unroll(i)
    s[host].unroll(vectors)
    s[host].vectorize(j)
    s[sums].compute_at(s[host], row_tile)
    i, j = s[sums].op.axis
    k, several = s[sums].split(s[sums].op.reduce_axis[0], step)
    vectors, j = s[sums].split(j, LANES)
    s[sums].reorder(k, i, vectors, j, several)
    s[sums].unroll(i)
    s[sums].unroll(vectors)
    s[sums].tensorize(j, intrin)


def int8(size: int = 1024, rows: int = 6, columns: int = 64) -> Case:
    """uint8 by int8, requantized to uint8 as tiles are stored; the right matrix in panels, groups of four."""
    a_matrix = te.placeholder((size, size), "uint8", "A")
    panel = te.placeholder((size // columns, size // 4, columns, 4), "int8", "P")
    k = te.reduce_axis((0, size), "k")
    sums = te.compute(
        (size, size),
        lambda i, j: te.sum(
            a_matrix[i, k].astype("int32") * panel[j // columns, k // 4, j % columns, k % 4].astype("int32"),
            k,
        ),
        "S",
    )
    scale = 1.0 / 4096
    c = te.compute(
        (size, size),
        lambda i, j: te.max(
            te.min(te.round(sums[i, j].astype("float32") * scale) + 128.0, 255.0), 0.0
        ).astype("uint8"),
        "C",
    )
    s = te.create_schedule(c)
    _tile(s, sums, c, rows, columns, 4, x86.dot_16x1x16_uint8_int8_int32())
    source = np.random.default_rng(0)
    a, b = source.integers(0, 256, (size, size), "uint8"), source.integers(-128, 128, (size, size), "int8")
    exact = (a.astype("float64") @ b.astype("float64")).astype("float32")
    want = np.clip(np.round(exact * np.float32(scale)) + 128, 0, 255).astype("uint8")
    return Case(
        s,
        [a_matrix, panel, c],
        [a, _groups(b, columns, 4)],
        want,
        2.0 * size**3,
        0.0,
        written_in=(_tile,),
        needs="avx512vnni",
    )


def bfloat16(size: int = 1024, rows: int = 6, columns: int = 64) -> Case:
    """bfloat16, summed in float32; the right matrix in panels of pairs."""
    a_matrix = te.placeholder((size, size), "bfloat16", "A")
    panel = te.placeholder((size // columns, size // 2, columns, 2), "bfloat16", "P")
    k = te.reduce_axis((0, size), "k")
    c = te.compute(
        (size, size),
        lambda i, j: te.sum(
            a_matrix[i, k].astype("float32")
            * panel[j // columns, k // 2, j % columns, k % 2].astype("float32"),
            k,
        ),
        "C",
    )
    s = te.create_schedule(c)
    sums = s.cache_write(c, "local")
    _tile(s, sums, c, rows, columns, 2, x86.dot_16x1x16_bfloat16_float32())
    a, b = (random(size, size, seed=n).astype(ml_dtypes.bfloat16) for n in (0, 1))
    want = (a.astype("float64") @ b.astype("float64")).astype("float32")
    return Case(
        s,
        [a_matrix, panel, c],
        [a, _groups(b, columns, 2)],
        want,
        2.0 * size**3,
        written_in=(_tile,),
        needs="avx512bf16",
    )


def _groups(matrix: np.ndarray, columns: int, group: int) -> np.ndarray:
    """``matrix`` as ``(panels, rows / group, columns, group)``: elements of ``group`` rows are adjacent."""
    packed = panels(matrix, columns)
    count, rows, _ = packed.shape
    return np.ascontiguousarray(packed.reshape(count, rows // group, group, columns).transpose(0, 1, 3, 2))
