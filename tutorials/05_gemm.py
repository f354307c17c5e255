"""A matrix product
================

This tutorial goes in seven steps from three plain loops to the machine's limit.

Run it::

    python tutorials/05_gemm.py
    python tutorials/05_gemm.py --size 1024
    python tutorials/05_gemm.py --show packed

The formula is the same in each step (except for a new layout of one array in step 6); only the schedule
changes. Each step's result is compared with numpy's, and timed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would spin on between our timings

import numpy as np

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target

# %%
# Sizes of a tile
# ---------------
#
# The later steps keep a *tile* of sums in registers: a small block of the result. Its size depends on the
# machine: on the number of lanes (elements) of its vectors, and on the number of vector registers.

TARGET = Target.parse("native")

LANES = TARGET.lanes("float32")
"""The number of float32 elements of a vector of this machine."""

ROWS = 6
COLUMNS = (4 if TARGET.vector_registers >= 32 else 2) * LANES
"""A tile of sums: 6 rows of 4 vectors take 24 of AVX-512's 32 registers, 6 rows of 2 vectors take 12 of
AVX2's 16. The other registers hold the vectors of B and an element of A in every lane."""

Step = Callable[[int], tuple[Any, list[Any]]]


# %%
# The formula
# -----------
#
# A step is a function that returns a schedule of this formula, and the arguments of the function to build.


def formula(size: int) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """``C[i, j]`` is the sum of ``A[i, k] * B[k, j]`` over k."""
    a = te.placeholder((size, size), name="A")
    b = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return a, b, c


# %%
# Step 1: three loops
# -------------------
#
# This is the initial schedule. Each element is one long sum.


def naive(size: int) -> tuple[Any, list[Any]]:
    """Three loops, the innermost down a column of B.

    Each element that this loop reads is in another cache line.
    """
    a, b, c = formula(size)
    return te.create_schedule(c.op), [a, b, c]


# %%
# Step 2: blocks
# --------------
#
# A cache holds only a part of the matrices. If the loops work on blocks, the data in the cache is used
# several times before it is evicted.


def blocked(size: int) -> tuple[Any, list[Any]]:
    """Blocks of 32 by 32: data is used again while it is in the cache.

    The loop over the reduction is outside the block, with 4 steps at a time.
    """
    a, b, c = formula(size)
    s = te.create_schedule(c.op)
    i_outer, j_outer, i, j = s[c].tile(*c.op.axis, 32, 32)
    k_outer, k = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(i_outer, j_outer, k_outer, k, i, j)
    return s, [a, b, c]


# %%
# Step 3: vectors
# ---------------
#
# Only one line is new: the innermost loop becomes the lanes of vectors.


def vectorized(size: int) -> tuple[Any, list[Any]]:
    """Neighbouring columns are the lanes of vectors.

    They are neighbours in B and in C, so whole vectors are loaded and stored. But C is loaded and stored in
    each step of the reduction. If the size is a power of two, the cache lines of C also evict each other.
    """
    a, b, c = formula(size)
    s = te.create_schedule(c.op)
    i_outer, j_outer, i, j = s[c].tile(*c.op.axis, 32, 32)
    k_outer, k = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(i_outer, j_outer, k_outer, k, i, j)
    s[c].vectorize(j)
    return s, [a, b, c]


# %%
# Step 4: another order
# ---------------------
#
# The loops inside the block are the same, but in another order.


def permuted(size: int) -> tuple[Any, list[Any]]:
    """The rows go outside of the small reduction loop.

    A is read along its rows, and C is loaded and stored only once in 4 steps.
    """
    a, b, c = formula(size)
    s = te.create_schedule(c.op)
    i_outer, j_outer, i, j = s[c].tile(*c.op.axis, 32, 32)
    k_outer, k = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(i_outer, j_outer, k_outer, i, k, j)
    s[c].unroll(k)
    s[c].vectorize(j)
    return s, [a, b, c]


# %%
# Step 5: sums in registers
# -------------------------
#
# Until now, sums are loaded from memory and stored again and again. ``cache_write`` gives the sums of a tile
# a separate buffer. The loops over this buffer are unrolled, so that each of its vectors can be kept in a
# register. The following steps use the same tile and the same loops around it.


def register_tile(s: Any, c: te.Tensor) -> tuple[Any, Any]:
    """The sums of a tile stay in registers.

    ``cache_write`` gives the sums a separate buffer. When the loops over it are completely unrolled, every
    index is a constant, and the compiler keeps the buffer in registers. Returns the loop over the panels
    (blocks of columns), and the loop over the tiles of rows in each panel.
    """
    sums = s.cache_write(c, "local")
    rows_outer, panels, i, j = s[c].tile(*s[c].op.axis, ROWS, COLUMNS)
    vectors, lanes = s[c].split(j, factor=LANES)
    s[c].reorder(panels, rows_outer, i, vectors, lanes)
    s[c].vectorize(lanes)
    s[sums].compute_at(s[c], rows_outer)
    i, j = s[sums].op.axis
    (k,) = s[sums].op.reduce_axis
    vectors, lanes = s[sums].split(j, factor=LANES)
    s[sums].reorder(k, i, vectors, lanes)
    s[sums].unroll(i)
    s[sums].unroll(vectors)
    s[sums].vectorize(lanes)
    return panels, rows_outer


def in_registers(size: int) -> tuple[Any, list[Any]]:
    """A tile of sums in registers: C is written once.

    A step of the reduction needs 24 multiply-adds and 10 loads with AVX-512, 12 and 8 with AVX2, and the
    machine executes two of each per cycle.
    """
    a, b, c = formula(size)
    s = te.create_schedule(c.op)
    register_tile(s, c)
    return s, [a, b, c]


# %%
# Step 6: packing
# ---------------
#
# A *panel*, a block of columns of ``B``, is not contiguous in memory: its rows are a whole row of ``B``
# apart. Packing copies the panel to contiguous memory, in the order in which the tile reads it. The copy is a
# stage like others, so ``compute_at`` determines when it is computed.


def packed_formula(size: int) -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """The same product, but with B read from panels of columns, which are a stage of their own."""
    a = te.placeholder((size, size), name="A")
    b = te.placeholder((size, size), name="B")
    panel = te.compute(
        (-(-size // COLUMNS), size, COLUMNS),
        lambda p, k, j: te.if_then_else(p * COLUMNS + j < size, b[k, p * COLUMNS + j], 0.0),
        name="P",
    )
    k = te.reduce_axis((0, size), "k")
    c = te.compute(
        (size, size), lambda i, j: te.sum(a[i, k] * panel[j // COLUMNS, k, j % COLUMNS], axis=k), name="C"
    )
    return a, b, panel, c


def packed(size: int) -> tuple[Any, list[Any]]:
    """B is copied to panels, each one stretch of memory.

    Each panel is packed just before its use, inside the loop over the panels.
    """
    a, b, panel, c = packed_formula(size)
    s = te.create_schedule(c.op)
    panels, _ = register_tile(s, c)
    s[panel].compute_at(s[c], panels)
    _, lanes = s[panel].split(s[panel].op.axis[2], factor=LANES)
    s[panel].vectorize(lanes)
    return s, [a, b, c]


# %%
# Step 7: threads
# ---------------
#
# Panels of columns do not depend on each other, so they can be computed by different threads.


def parallel(size: int) -> tuple[Any, list[Any]]:
    """The panels are divided among the threads."""
    a, b, panel, c = packed_formula(size)
    s = te.create_schedule(c.op)
    panels, _ = register_tile(s, c)
    s[c].parallel(panels)
    s[panel].compute_at(s[c], panels)
    _, lanes = s[panel].split(s[panel].op.axis[2], factor=LANES)
    s[panel].vectorize(lanes)
    return s, [a, b, c]


# %%
# Building and timing
# -------------------
#
# Here are all steps by name, and the functions that compare each step with numpy and time it.

STEPS: dict[str, Step] = {
    step.__name__: step for step in (naive, blocked, vectorized, permuted, in_registers, packed, parallel)
}


@dataclass(frozen=True)
class Result:
    """A step's fastest run in seconds (the least disturbed one), and its speedup over the first step."""

    name: str
    seconds: float
    speedup: float


def run(size: int, steps: Iterable[str] = STEPS, budget: float = 0.5) -> Iterator[Result]:
    """Build ``steps``, compare them with numpy, time each for ``budget`` seconds or one longer call."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((size, size), "float32") for _ in range(2))
    c, want = np.empty_like(a), a @ b
    first = 0.0
    for name in steps:
        schedule, args = STEPS[name](size)
        function = tvmlite.build(schedule, args, name="gemm")
        start = time.perf_counter()
        function(a, b, c)
        seconds = time.perf_counter() - start
        np.testing.assert_allclose(c, want, rtol=1e-3, atol=1e-3)
        if seconds < budget:
            seconds = min(function.time(a, b, c, budget=budget).runs)
        first = first or seconds
        yield Result(name, seconds, first / seconds)


def asked() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--show", choices=STEPS, help="print this step's loops and assembly instead")
    return parser.parse_args()


def main() -> list[Result]:
    """Print and return all results; with ``--show``, print one step's loops and assembly instead."""
    options = asked()
    if options.show:
        schedule, args = STEPS[options.show](options.size)
        function = tvmlite.build(schedule, args, name="gemm")
        print(function.source("loops"), function.source("asm"), sep="\n\n")
        return []
    results = []
    for result in run(options.size, budget=0.2):
        rate = 2 * options.size**3 / result.seconds / 1e9
        summary = (STEPS[result.name].__doc__ or "").splitlines()[0]
        numbers = f"{result.seconds * 1e3:9.2f} ms {rate:7.1f} GFLOP/s {result.speedup:6.1f}x"
        print(f"{result.name:13} {numbers}  {summary}", flush=True)
        results.append(result)
    return results


# %%
# Run it
# ------
#
# The column before the description is the speedup over the first step.

if __name__ == "__main__":
    results = main()

# %%
# The picture compares the rates with the measured peaks: that of one core for the first six steps, and that
# of all threads for the last step.

if __name__ == "__main__" and results:
    from pictures import LIMIT, OURS, PLAIN, SECOND, bars, draw_order, draw_timeline, peak, plt, show

    from tvmlite import runtime

    size, threads = asked().size, runtime.num_threads()
    rates = {one.name: 2 * size**3 / one.seconds / 1e9 for one in results}
    colours = [PLAIN] + [SECOND] * 3 + [OURS] * 3
    bars(rates, "GFLOP/s", f"{size} x {size}", peak() / 1e9, "peak of one core", colours)
    if threads > 1:
        everything = peak(threads) / 1e9
        plt.gca().axvline(everything, color=LIMIT, linestyle=":", label=f"of {threads}: {everything:.3g}")
        plt.gca().set_xlim(0, everything * 1.1)
        plt.gca().legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

# %%
# What the later steps do to the order
# ------------------------------------
#
# A small example shows the order: a result of 12 x 16 with tiles of 3 x 4. In plain loops, an element is
# complete before the next one begins. With tiles, all sums of a tile are completed together, and the tiles of
# one panel of columns are computed from top to bottom. Each colour is one tile.

if __name__ == "__main__" and results:
    a, b = te.placeholder((12, 8), name="A"), te.placeholder((8, 16), name="B")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((12, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    rows, panels, i, j = s[c].tile(*c.op.axis, 3, 4)
    s[c].reorder(panels, rows, c.op.reduce_axis[0], i, j)
    tiles: dict[tuple[int, int], int] = {}
    draw_order(
        tvmlite.lower(s, [a, b, c]),
        "C",
        "tile after tile, panel after panel",
        group=lambda visit: tiles.setdefault((visit.index[1] // 4, visit.index[0] // 3), len(tiles)),
    )

# %%
# The next picture shows the memory accesses: the elements of ``B`` in the order in which they are read. The
# vertical axis is the position in memory; a row of ``B`` has 16 elements. Three plain loops go down a column,
# so they jump over 16 elements in each step. If the loop over columns is inside, as the lanes of vectors,
# neighbours are read together.

if __name__ == "__main__" and results:
    orders = {
        "plain loops": te.create_schedule(c.op),
        "columns inside, in vectors of 4": te.create_schedule(c.op),
    }
    s = orders["columns inside, in vectors of 4"]
    outer, lanes = s[c].split(c.op.axis[1], factor=4)
    s[c].reorder(c.op.axis[0], c.op.reduce_axis[0], outer, lanes)
    s[c].vectorize(lanes)
    figure, both = plt.subplots(1, 2, figsize=(7, 2.6), sharey=True)
    for axes, (name, s) in zip(both, orders.items(), strict=True):
        draw_timeline(tvmlite.lower(s, [a, b, c]), ["B"], name, axes, reads=True)
        axes.set_xlim(0, 72)
        axes.set_ylabel("element of B that is read")
        axes.get_legend().remove()
    show()

# %%
# Exercises
# ---------
#
# 1. ``--show in_registers`` prints the assembly. Count the multiply-adds and the loads of the inner loop. Do
#    the numbers agree with the step's docstring?
# 2. Change ``ROWS`` to 2 and to 12. What happens, and why?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Yes. With AVX-512 the inner loop has 24 ``vfmadd``, 4 loads of vectors (``vmovups``) of ``B`` and 6
#    ``vbroadcastss`` of ``A``.
# 2. With 2 rows and AVX-512, a step has 8 multiply-adds and 6 loads, and loads are the limit. With 12 rows
#    the 48 vectors of sums do not fit into 32 registers: some are *spilled*, that is, stored to memory and
#    loaded again in each step. With AVX2 there are 4 multiply-adds and 4 loads, or 24 vectors of sums for 16
#    registers.
#
# .. raw:: html
#
#     </details>
