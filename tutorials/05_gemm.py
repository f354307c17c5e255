"""A matrix product
================

In seven steps from three plain loops to the machine's limit.

Run it::

    python tutorials/05_gemm.py
    python tutorials/05_gemm.py --size 1024
    python tutorials/05_gemm.py --show packed

The formula is the same in each step (but for the layout of one array, which a step introduces); only the
schedule changes. Each step's result is compared with numpy's, and timed.
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
# The tile of sums that the later steps keep in registers depends on the machine: on how many lanes its
# vectors have, and on how many vector registers there are.

TARGET = Target.parse("native")

LANES = TARGET.lanes("float32")
"""Elements of a vector of this machine."""

ROWS = 6
COLUMNS = (4 if TARGET.vector_registers >= 32 else 2) * LANES
"""A tile of sums: 6 rows of 4 vectors are 24 of AVX-512's 32 registers, of 2 vectors 12 of AVX2's 16. What is
left holds the vectors of B and an element of A in every lane."""

Step = Callable[[int], tuple[Any, list[Any]]]


# %%
# The formula
# -----------
#
# A step is a function that gives a schedule of this formula, and the arguments of the function to build.


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
# The schedule as it starts. Each element is one long sum.


def naive(size: int) -> tuple[Any, list[Any]]:
    """Three loops, the innermost down a column of B.

    Each element it reads is in another cache line.
    """
    a, b, c = formula(size)
    return te.create_schedule(c.op), [a, b, c]


# %%
# Step 2: blocks
# --------------
#
# A cache holds a part of the matrices. In blocks, what is in it is used several times before it has to make
# room.


def blocked(size: int) -> tuple[Any, list[Any]]:
    """Blocks of 32 by 32: what is read is read again from the cache.

    The reduction goes outside of the block, 4 steps at a time.
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

    They are neighbours in B and in C, so vectors are loaded and stored whole. But C goes to memory and back
    in each step of the reduction, from lines that, at a size that is a power of two, evict each other.
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
# The same loops in another order, inside of the block.


def permuted(size: int) -> tuple[Any, list[Any]]:
    """The rows go outside of the small reduction loop.

    A is read along its rows, and C goes to memory once in 4 steps.
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
# Until now, a sum goes to memory and back for each term. ``cache_write`` gives the sums of a tile a buffer.
# The loops over it are unrolled, so that each sum has a register of its own. The tile and the loops around it
# are shared by the steps that follow.


def register_tile(s: Any, c: te.Tensor) -> tuple[Any, Any]:
    """The sums of a tile stay in registers.

    ``cache_write`` gives the sums a buffer of their own. Unrolled whole, with every index a constant, it is
    no memory any more. Gives the loops over the panels of columns, and over the tiles of rows in each.
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

    A step of the reduction is 24 multiply-adds for 10 loads with AVX-512, 12 for 8 with AVX2, and the machine
    does two of each a cycle.
    """
    a, b, c = formula(size)
    s = te.create_schedule(c.op)
    register_tile(s, c)
    return s, [a, b, c]


# %%
# Step 6: packing
# ---------------
#
# A panel of columns of ``B`` lies in memory in pieces, a row apart. Packing copies it to one stretch, in the
# order in which the tile reads it. It is a stage like others, so ``compute_at`` says when it is done.


def packed_formula(size: int) -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """The same product, which reads B from panels of columns; those are computed too."""
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
# Panels of columns do not depend on each other.


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
# All steps by name, and what compares each with numpy and times it.

STEPS: dict[str, Step] = {
    step.__name__: step for step in (naive, blocked, vectorized, permuted, in_registers, packed, parallel)
}


@dataclass(frozen=True)
class Result:
    """A step's seconds, of the run that other programs disturbed least, and how often as fast as the first
    step it is."""

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
    """Print the steps and give their results; or print one step's loops and inner loop, if asked."""
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
# The last column says how often as fast as the first step it is.

if __name__ == "__main__":
    results = main()

# %%
# The bars beside the measured peaks: of one core for the first six steps, and of all threads for the last.

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
# In small: a result of 12 x 16 with tiles of 3 x 4. In plain loops, an element is complete before the next
# one begins. In tiles, all sums of a tile are complete together, and tiles go down a panel of columns. Each
# colour is one tile.

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
# And what it does to memory: the elements of ``B`` in the order in which they are read. A new place on the
# vertical axis is another place in memory; a row of ``B`` has 16 elements. Three plain loops go down a
# column, and so jump 16 elements in each step. With columns inside, as the lanes of vectors, neighbours are
# read together.

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
# 1. ``--show in_registers`` prints the assembly. Count the multiply-adds and the loads of the inner loop. Are
#    they as many as the step's docstring says?
# 2. Change ``ROWS`` to 2 and to 12. What happens, and why?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Yes. With AVX-512 the inner loop has 24 ``vfmadd``, 4 loads of vectors (``vmovups``) of ``B`` and 6
#    ``vbroadcastss`` of ``A``.
# 2. With 2 rows and AVX-512, a step has 8 multiply-adds for 6 loads, and loads are the limit. With 12 rows
#    the 48 sums do not fit into 32 registers: they *spill*, that is, go to memory and back in each step.
#    With AVX2 it is 4 for 4 loads, and 24 sums for 16 registers.
#
# .. raw:: html
#
#     </details>
