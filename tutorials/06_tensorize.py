"""Tensorize: an instruction in the place of loops
================================================

Some processors have instructions that compute a whole small matrix product. And sometimes a few lines written
by hand are faster than the code of any compiler. ``tensorize`` replaces the inner loops of a schedule by such
an instruction or such code, a *tensor intrinsic*. The compiler checks that both compute the same.

Run it::

    python tutorials/06_tensorize.py
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, draw_order, peak, show

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target

parser = argparse.ArgumentParser(description="Declare a tensor intrinsic and use it")
parser.add_argument("--size", type=int, default=384, help="of the matrices; a multiple of 192")
size = parser.parse_args().size
TARGET = Target.parse("native")
LANES = TARGET.lanes("float32")
random = np.random.default_rng(0)

# %%
# What an intrinsic is
# --------------------
#
# Three things define an intrinsic:
#
# - *what it computes*, as a formula of small tensors;
# - *what its operands look like in memory*: ``te.decl_buffer``, with strides that may be unknown
#   (``te.var``), because an operand may be a part (*window*) of a matrix, whose rows are a row of the whole
#   matrix apart;
# - *how to compute it*: a function that generates statements.
#
# The first intrinsic computes ``ROWS`` dot products of a vector with rows of a matrix: a small matrix-vector
# product. It multiplies one vector of elements at a time and adds the products in the lanes of another
# vector. At the end it adds the lanes.

ROWS, TERMS = 4, 64


def gemv() -> te.TensorIntrin:
    """``c[i] = sum(a[k] * b[i, k])`` for ``ROWS`` rows and ``TERMS`` terms."""
    a = te.placeholder((TERMS,), name="a")
    b = te.placeholder((ROWS, TERMS), name="b")
    k = te.reduce_axis((0, TERMS), name="k")
    c = te.compute((ROWS,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    windows = {
        a: te.decl_buffer(a.shape, name="a_window", strides=[1]),
        b: te.decl_buffer(b.shape, name="b_window", strides=[te.var("stride"), 1]),
        c: te.decl_buffer(c.shape, name="c_window", strides=[1]),
    }

    def emit(inputs: Any, outputs: Any) -> tuple[Any, Any, Any]:
        (vector, matrix), (result,) = inputs, outputs

        def reset() -> Any:
            builder = te.ir_builder.create()
            cells = builder.buffer_ptr(result)
            for i in range(ROWS):
                cells[i] = 0.0
            return builder.get()

        def update() -> Any:
            builder = te.ir_builder.create()
            cells = builder.buffer_ptr(result)
            for i in range(ROWS):
                sums = builder.allocate("float32", (LANES,), name="sums")
                builder.emit(sums.vstore(0, te.const(0.0).astype(f"float32x{LANES}")))
                for k in range(0, TERMS, LANES):
                    x, y = (vector.vload(k, f"float32x{LANES}"), matrix.vload((i, k), f"float32x{LANES}"))
                    builder.emit(sums.vstore(0, te.fma(x, y, sums.vload(0, f"float32x{LANES}"))))
                total = sums[0]
                for lane in range(1, LANES):
                    total = total + sums[lane]
                cells[i] = cells[i] + total
            return builder.get()

        def body() -> Any:
            builder = te.ir_builder.create()
            builder.emit(reset())
            builder.emit(update())
            return builder.get()

        return body(), reset(), update()

    return te.decl_tensor_intrin(c.op, emit, name="gemv", binds=windows)


# %%
# ``emit`` returns three statements. ``body`` computes the whole result. If a schedule divides the reduction
# into parts, it needs the other two: ``reset`` before the first part, and ``update`` for each part.
#
# Use it
# ------
#
# Here is a product with the second matrix transposed. Its loops are split so that the innermost ones compute
# exactly what the intrinsic computes: ``ROWS`` columns and ``TERMS`` terms.


def transposed(n: int) -> tuple[te.Schedule, list[te.Tensor], te.Tensor]:
    """A new schedule of ``C = A times B transposed``, its arguments, and ``C``."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c], c


def with_gemv(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """The product by the intrinsic ``gemv``."""
    s, args, c = transposed(n)
    i, j = c.op.axis
    j_outer, j_inner = s[c].split(j, factor=ROWS)
    k_outer, k_inner = s[c].split(c.op.reduce_axis[0], factor=TERMS)
    s[c].reorder(i, j_outer, k_outer, j_inner, k_inner)
    s[c].tensorize(j_inner, gemv())
    return s, args


text = str(tvmlite.lower(*with_gemv(128)))
print("\n".join(text.splitlines()[:16]), "\n...")

# %%
# A mistake is found by ``lower``. Here the loop has 8 iterations, but the intrinsic computes 4:

s, args, c = transposed(128)
outer, inner = s[c].split(c.op.axis[1], factor=8)
s[c].tensorize(inner, gemv())
try:
    tvmlite.lower(s, args)
except tvmlite.TvmliteError as error:
    print(error)

# %%
# A better intrinsic: a tile in registers
# ---------------------------------------
#
# ``gemv`` loads two vectors for each multiplication. That is too much: loads are the limit, not arithmetic. A
# tile of 6 rows and several vectors of columns is better. In each step it loads one vector for each group of
# columns, and one number for each row, and uses each of them several times. All sums stay in registers until
# the end.

HEIGHT = 6
WIDTH = (4 if TARGET.vector_registers >= 32 else 2) * LANES


def tile(terms: int) -> te.TensorIntrin:
    """``c[i, j] = sum(a[i, k] * b[k, j])`` of ``HEIGHT`` by ``WIDTH`` elements."""
    a = te.placeholder((HEIGHT, terms), name="a")
    b = te.placeholder((terms, WIDTH), name="b")
    k = te.reduce_axis((0, terms), name="k")
    c = te.compute((HEIGHT, WIDTH), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    windows = {
        tensor: te.decl_buffer(tensor.shape, name=f"{tensor.op.name}_window", strides=[te.var(name), 1])
        for tensor, name in ((a, "a_stride"), (b, "b_stride"), (c, "c_stride"))
    }
    vector = f"float32x{LANES}"

    def emit(inputs: Any, outputs: Any) -> Any:
        (left, right), (result,) = inputs, outputs
        builder = te.ir_builder.create()
        sums = builder.allocate("float32", (HEIGHT * WIDTH,), name="sums")
        cells = [(i, j) for i in range(HEIGHT) for j in range(0, WIDTH, LANES)]
        for i, j in cells:
            builder.emit(sums.vstore(i * WIDTH + j, te.const(0.0).astype(vector)))
        with builder.for_range(0, terms, name="k") as k:
            for i, j in cells:
                x = left.vload((i, k), "float32").astype(vector)
                total = te.fma(x, right.vload((k, j), vector), sums.vload(i * WIDTH + j, vector))
                builder.emit(sums.vstore(i * WIDTH + j, total))
        for i, j in cells:
            builder.emit(result.vstore((i, j), sums.vload(i * WIDTH + j, vector)))
        return builder.get()

    return te.decl_tensor_intrin(c.op, emit, name="tile", binds=windows)


def product(rows: int, columns: int, terms: int) -> tuple[te.Schedule, list[te.Tensor], te.Tensor]:
    """A new schedule of ``C = A B``, its arguments, and ``C``."""
    a, b = te.placeholder((rows, terms), name="A"), te.placeholder((terms, columns), name="B")
    k = te.reduce_axis((0, terms), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c], c


def with_tile(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """The product by the intrinsic ``tile``."""
    s, args, c = product(n, n, n)
    i_outer, j_outer, i, j = s[c].tile(*c.op.axis, HEIGHT, WIDTH)
    s[c].reorder(j_outer, i_outer, i, j)
    s[c].tensorize(i, tile(n))
    return s, args


def plain(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Three loops."""
    s, args, _ = product(n, n, n)
    return s, args


# %%
# The picture shows a small product, with tiles of 3 x 4 so that it can be drawn. Each colour is one use of
# the intrinsic, which computes all elements of this colour, with all terms of their sums.

s, args, c = product(6, 12, 1)
i_outer, j_outer, i, j = s[c].tile(*c.op.axis, 3, 4)
s[c].reorder(j_outer, i_outer, i, j)
calls: dict[tuple[int, int], int] = {}
draw_order(
    tvmlite.lower(s, args),
    "C",
    "one colour is one use of the intrinsic",
    group=lambda visit: calls.setdefault((visit.index[0] // 3, visit.index[1] // 4), len(calls)),
)

# %%
# Now all three versions run on one core, and are compared with its measured peak. Each is run many times, and
# the fastest run is taken, because other programs disturbed it least.

a, b = (random.standard_normal((size, size), "float32") for _ in range(2))
rates: dict[str, float] = {}
for schedule in (plain, with_gemv, with_tile):
    function = tvmlite.build(*schedule(size), name=schedule.__name__)
    second = np.ascontiguousarray(b.T) if schedule is with_gemv else b
    np.testing.assert_allclose(function(a, second), a @ b, rtol=1e-3, atol=1e-3)
    rates[schedule.__name__] = 2 * size**3 / min(function.time(a, second, budget=0.2).runs) / 1e9
limit = peak() / 1e9
for name, rate in rates.items():
    print(f"{name:10} {rate:7.1f} GFLOP/s, {rate / limit:.0%} of the peak")
bars(rates, "GFLOP/s", f"{size} x {size} x {size}, one core", limit=limit, colours=[PLAIN, SECOND, OURS])

# %%
# ``tile`` is the same tile of sums as in `the tutorial on matrix products <05_gemm.html>`_. There it is
# derived from the formula by primitives; here it is written by hand. Prefer primitives where they suffice.
# Use an intrinsic for instructions that the compiler does not generate from loops.
# ``te.decl_tensor_intrin(..., special={"avx512vnni": ...})`` adds versions for particular processors, and
# ``te.call_llvm_intrin`` calls an instruction by LLVM's name.

show()

# %%
# Exercises
# ---------
#
# 1. Change ``HEIGHT`` to 1, 2, 4, 8 and 16 (and ``--size`` to a multiple of it). Which is the best, and what
#    happens when the sums need more registers than there are?
# 2. Write an intrinsic that copies a window of 8 x 8 elements and transposes it.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. The rate grows as long as the sums fit into the registers and some registers are left. A tile of 8 rows
#    of 4 vectors takes all 32 registers of AVX-512, so none is left for vectors of ``B``: sums are stored and
#    loaded again (``-byte Spill`` in ``function.source("asm")``). With 16 registers this begins at 8 rows of
#    2 vectors.
# 2. Its formula is ``te.compute((8, 8), lambda i, j: a[j, i])``. Declare windows with unknown strides for
#    both. ``emit`` generates ``result.vstore((i, j), window.vload((j, i), "float32"))`` for all ``i`` and
#    ``j``; there is no reduction, so no other statement is needed.
#
# .. raw:: html
#
#     </details>
