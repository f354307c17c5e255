"""Schedule primitives, one by one
===============================

A formula says what each element is. A schedule says in which order the elements are computed, and where
intermediate values are stored. It is built from *primitives*, small steps such as "split this loop". This
tutorial shows each primitive, with the resulting loops and a picture of the order in which they visit the
elements.

Run it::

    python tutorials/02_schedule_primitives.py

The pictures are drawn from the loops themselves: ``pictures.py`` runs them in an interpreter and records when
each element is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, draw_numbers, draw_order, draw_timeline, plt, show, visits

import tvmlite
from tvmlite import te

# %%
# The plain loops
# ---------------
#
# Our first formula doubles a matrix of 8 rows and 12 columns. A new schedule has one loop for each axis, in
# the order of the axes. In the picture, the number in a cell is the step in which that element is written.
# Light cells come first, dark ones last.


def doubled(rows: int = 8, columns: int = 12) -> tuple[te.Schedule, list[te.Tensor], Any, Any]:
    """A new schedule of ``C = 2 * A``, its arguments, and the axes ``i`` and ``j`` of ``C``."""
    a = te.placeholder((rows, columns), name="A")
    c = te.compute((rows, columns), lambda i, j: a[i, j] * 2.0, name="C")
    return te.create_schedule(c.op), [a, c], *c.op.axis


s, args, i, j = doubled()
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "plain loops: row by row")

# %%
# split
# -----
#
# ``split`` makes two nested loops of one. The order stays the same. Most other primitives are used after a
# split, because we can now change the inner loop alone.

s, args, i, j = doubled()
outer, inner = s[args[1]].split(j, factor=4)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "split j by 4: nothing moves yet")

# %%
# If the factor does not divide the extent, the last iteration of the outer loop would go beyond the end. The
# compiler adds an ``if`` that skips the elements outside. This incomplete last part is called the *tail*.

s, args, i, j = doubled()
s[args[1]].split(j, factor=5)
print(tvmlite.lower(s, args))

# %%
# reorder
# -------
#
# ``reorder`` changes which loop is outside. Here the loop over columns becomes the outer one, so the matrix
# is written column by column. In memory, the elements of a row are next to each other. So each step now jumps
# over 12 elements, which is usually slow. The order of the loops determines the order of the memory accesses.

s, args, i, j = doubled()
s[args[1]].reorder(j, i)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "reorder(j, i): column by column")

# %%
# tile
# ----
#
# ``tile`` is two splits and a reorder. The matrix is written block by block. If data is read several times, a
# small block of it can stay in the cache until it has been used for the last time. That is why tiles are so
# important for matrix products.

s, args, i, j = doubled()
s[args[1]].tile(i, j, 4, 4)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "tile 4 x 4: block by block")

# %%
# fuse
# ----
#
# ``fuse`` makes one loop of two. The order stays the same. It helps if there are too few iterations to divide
# among threads, or if rows are too short to be split well: after ``fuse`` we can divide the whole matrix into
# pieces of any length. Here a piece has 16 elements, so it ends in the middle of a row. Each colour is one
# piece.

s, args, i, j = doubled()
fused = s[args[1]].fuse(i, j)
outer, inner = s[args[1]].split(fused, factor=16)
s[args[1]].parallel(outer)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "fuse, then split by 16: pieces ignore rows", group=lambda visit: visit.iteration)

# %%
# vectorize
# ---------
#
# A processor's vector instructions compute several neighbouring elements at once. ``vectorize`` executes the
# iterations of a loop as the lanes (elements) of a vector. Cells with the same number are written by one
# instruction. The whole matrix now takes a quarter of the steps.

s, args, i, j = doubled()
outer, inner = s[args[1]].split(j, factor=4)
s[args[1]].vectorize(inner)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "vectorize: four elements a step")

# %%
# unroll
# ------
#
# A loop itself takes time: it counts, compares and jumps. ``unroll`` replaces the loop by copies of its body,
# one for each iteration. The order stays the same, but the instructions of the loop run less often: once for
# each *body* in the picture below. Each colour is one body.

s, args, i, j = doubled()
outer, inner = s[args[1]].split(j, factor=4)
s[args[1]].unroll(inner)
loops = tvmlite.lower(s, args)
draw_order(loops, "C", "unroll: one body writes four elements", group=lambda visit: visit.body)
print(tvmlite.build(s, args).source("legal"))

# %%
# parallel
# --------
#
# The iterations of a ``parallel`` loop are divided among threads. They must be independent; for a formula of
# elements they always are. The picture has one colour for each iteration of this loop; an iteration is
# executed by one thread. Threads run at the same time, so the numbers give an order only within one colour.

s, args, i, j = doubled()
outer, inner = s[args[1]].split(i, factor=2)
s[args[1]].parallel(outer)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "parallel: a colour is one thread's piece", group=lambda visit: visit.iteration)

# %%
# loop_partition
# --------------
#
# ``loop_partition`` divides a loop into several loops, one after the other. It is most useful with a tail:
# only the last part keeps the ``if``, and the others, in which most of the time is spent, have none. The
# picture has one colour for each part.

s, args, i, j = doubled()
outer, inner = s[args[1]].split(j, factor=5)
s[args[1]].reorder(outer, i, inner)
s[args[1]].loop_partition(outer, [2])
loops = tvmlite.lower(s, args)
print(loops)
draw_order(
    loops, "C", "loop_partition: only the right part is guarded", group=lambda visit: visit.index[1] // 10
)

# %%
# Two stages: compute_root
# ------------------------
#
# Now we take a program with two formulas. ``B`` is the square of ``A``, and each element of ``C`` adds two
# neighbouring elements of ``B``. Each formula is a *stage*. By default a whole stage is computed before the
# next one starts. This is called ``compute_root``. The picture shows time from left to right: first all of
# ``B``, then all of ``C``. ``B`` needs memory for all of its elements.


def neighbours(size: int = 32) -> tuple[te.Schedule, list[te.Tensor], te.Tensor]:
    """A schedule of ``C[i] = B[i] + B[i + 1]`` with ``B = A * A``; its arguments; and ``B``."""
    a = te.placeholder((size + 1,), name="A")
    b = te.compute((size + 1,), lambda i: a[i] * a[i], name="B")
    c = te.compute((size,), lambda i: b[i] + b[i + 1], name="C")
    return te.create_schedule(c.op), [a, c], b


placements: dict[str, Any] = {}
s, args, B = neighbours()
placements["compute_root"] = tvmlite.lower(s, args)
print(placements["compute_root"])
draw_timeline(placements["compute_root"], ["B", "C"], "compute_root: all of B, then all of C")

# %%
# compute_at
# ----------
#
# ``compute_at`` moves a stage into a loop of the stage that reads it. Here ``C`` is divided into pieces of 8,
# and for each piece only the part of ``B`` that it needs is computed: 9 elements. The compiler finds this
# number itself. The buffer of ``B`` is small now, and still in the cache when ``C`` reads it. The price: the
# last element of ``B`` for one piece is the first for the next, so it is computed twice.

s, args, B = neighbours()
outer, inner = s[args[1]].split(args[1].op.axis[0], factor=8)
s[B].compute_at(s[args[1]], outer)
placements["compute_at"] = tvmlite.lower(s, args)
print(placements["compute_at"])
draw_timeline(
    placements["compute_at"], ["B", "C"], "compute_at: a piece of B, then the piece of C that reads it"
)

# %%
# double_buffer
# -------------
#
# With ``compute_at``, ``C`` waits for each piece of ``B``. With ``double_buffer``, the next piece of ``B`` is
# computed before the current piece of ``C``. The two do not depend on each other, so the processor can load
# data for one while it computes the other. ``B`` has two buffers, which are used alternately: see the two
# levels in the picture.

s, args, B = neighbours()
outer, inner = s[args[1]].split(args[1].op.axis[0], factor=8)
s[B].compute_at(s[args[1]], outer)
s[B].double_buffer()
loops = tvmlite.lower(s, args)
print(loops)
draw_timeline(loops, ["B", "C"], "double_buffer: B is one piece ahead")

# %%
# compute_inline
# --------------
#
# ``compute_inline`` substitutes the formula of ``B`` into the formula of ``C``. ``B`` is no longer stored in
# memory, but each of its elements is computed twice, once for each element of ``C`` that reads it.

s, args, B = neighbours()
s[B].compute_inline()
placements["compute_inline"] = tvmlite.lower(s, args)
print(placements["compute_inline"])

# %%
# No choice is always the best: less memory means that more work is done twice. The picture shows both
# numbers, again counted by running the loops: the elements of ``B`` that need memory, and the squares that
# are computed.


def memory_of(loops: Any) -> int:
    """The number of elements of B that are in memory at the same time."""
    places = {visit.index for visit in visits(loops) if visit.buffer == "B"}
    return len(places)


def squares_of(loops: Any) -> int:
    """The number of squares that are computed: writes of B or, without B, twice the writes of C."""
    written = [visit.buffer for visit in visits(loops)]
    return written.count("B") or 2 * written.count("C")


figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 2))
bars({name: memory_of(one) for name, one in placements.items()}, "elements", "memory for B", axes=left)
bars({name: squares_of(one) for name, one in placements.items()}, "squares", "work for B", axes=right)
right.set_yticklabels([])

# %%
# transform_layout
# ----------------
#
# The order in memory may differ from the order of the loops. ``transform_layout`` defines how a stage's
# buffer is laid out in memory. Here ``B`` is stored in tiles of 4 x 4, each of them contiguous. In the
# picture, the number is the position of an element in memory, found from the reads of ``C``. A tile that is
# read together is a short contiguous part of memory.

a = te.placeholder((8, 12), name="A")
B = te.compute((8, 12), lambda i, j: a[i, j] * a[i, j], name="B")
C = te.compute((8, 12), lambda i, j: B[i, j] + 1.0, name="C")
s = te.create_schedule(C.op)
s[B].transform_layout(lambda i, j: [i // 4, j // 4, i % 4, j % 4])
loops = tvmlite.lower(s, [a, C])
print(loops)

seen = visits(loops, reads=True)
written = {visit.step: visit.index for visit in seen if visit.buffer == "C"}
memory = np.zeros((8, 12), int)
for visit in seen:
    if visit.is_read and visit.buffer == "B":
        memory[written[visit.step]] = np.ravel_multi_index(visit.index, (2, 3, 4, 4))
draw_numbers(memory, "transform_layout: where each element of B is in memory")

# %%
# cache_write
# -----------
#
# A sum is written many times: once for each term. ``cache_write`` stores the partial sums in a separate small
# buffer, and ``C`` is written once, when a sum is complete. Together with ``compute_at`` and unrolled loops,
# such a buffer is kept in registers, which are much faster than any cache.


def product(rows: int = 4, columns: int = 8, terms: int = 6) -> tuple[te.Schedule, list[te.Tensor]]:
    """A schedule of a matrix product, and its arguments."""
    a, b = te.placeholder((rows, terms), name="A"), te.placeholder((terms, columns), name="B")
    k = te.reduce_axis((0, terms), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c.op), [a, b, c]


s, args = product()
plain = tvmlite.lower(s, args)
s, args = product()
sums = s.cache_write(args[2], "local")
row, column, _, _ = s[args[2]].tile(*args[2].op.axis, 2, 4)
s[sums].compute_at(s[args[2]], column)
cached = tvmlite.lower(s, args)
print(cached)

writes = {
    "plain: writes of C": sum(visit.buffer == "C" for visit in visits(plain)),
    "cache_write: writes of C": sum(visit.buffer == "C" for visit in visits(cached)),
    "cache_write: of C.local": sum(visit.buffer == "C.local" for visit in visits(cached)),
}
bars(writes, "writes", "number of writes of each buffer", colours=[PLAIN, OURS, SECOND])

# %%
# cache_read
# ----------
#
# ``cache_read`` reads a tensor from a copy. This is useful if the copy is read several times, or in a better
# order: a tile of ``B`` becomes one contiguous block. The timeline shows the copies (``B.local``) between the
# writes of ``C``: each block is copied just before it is used.

s, args = product()
block = s.cache_read(args[1], "local", [args[2]])
outer, inner = s[args[2]].split(args[2].op.axis[1], factor=4)
s[args[2]].reorder(outer, args[2].op.axis[0], inner)
s[block].compute_at(s[args[2]], outer)
loops = tvmlite.lower(s, args)
print(loops)
draw_timeline(loops, ["B.local", "C"], "cache_read: a block of B is copied, then read by all rows of C")

# %%
# rfactor
# -------
#
# A sum into one number cannot be divided among lanes or threads: each addition waits for the one before.
# ``rfactor`` computes several partial sums, which do not wait for each other, and adds them at the end. Note
# that this changes the order of additions, and therefore the last bits of a float result.

A = te.placeholder((32,), name="A")
k = te.reduce_axis((0, 32), name="k")
total = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="S")
in_parts = te.create_schedule(total.op)
outer, inner = in_parts[total].split(total.op.reduce_axis[0], factor=8)
partial = in_parts.rfactor(total, inner)
in_parts[partial].reorder(in_parts[partial].op.reduce_axis[0], in_parts[partial].op.axis[0])
in_parts[partial].vectorize(in_parts[partial].op.axis[0])
loops = tvmlite.lower(in_parts, [A, total])
print(loops)

names = [partial.op.name, "S"]
draw_timeline(loops, names, "rfactor: eight partial sums at once, then one sum of eight")

# %%
# decompose_reduction
# -------------------
#
# A sum is first set to 0, then updated. By default the loops over the result contain both statements.
# ``decompose_reduction`` moves the first statement out, into separate loops. The left picture shows the
# default, the right one the loops after ``decompose_reduction``. The vertical axis is the element of ``S``,
# and each dot is one write.


def row_sums() -> tuple[te.Tensor, te.Tensor]:
    """A matrix of 6 rows, and the sum of each."""
    a = te.placeholder((6, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    return a, te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="S")


a, S = row_sums()
together, decomposed = te.create_schedule(S.op), te.create_schedule(S.op)
decomposed[S].decompose_reduction(S.op.axis[0])
print(tvmlite.lower(decomposed, [a, S]))
figure, both = plt.subplots(1, 2, figsize=(7, 2.2), sharey=True)
draw_timeline(tvmlite.lower(together, [a, S]), ["S"], "together", both[0])
draw_timeline(tvmlite.lower(decomposed, [a, S]), ["S"], "decompose_reduction", both[1])
both[0].get_legend().remove()
both[1].get_legend().remove()

# %%
# reverse_compute_at
# ------------------
#
# ``compute_at`` moves a stage to its reader. ``reverse_compute_at`` moves a reader to the stage that it
# reads: here ``C``, which adds 1 to a sum, into the loop over rows of ``S``. In this way, for example, an
# activation function is computed in the loops of the matrix product before it.

a, S = row_sums()
C = te.compute((6,), lambda i: S[i] + 1.0, name="C")
s = te.create_schedule(C.op)
s[C].reverse_compute_at(s[S], S.op.axis[0])
loops = tvmlite.lower(s, [a, C])
print(loops)
draw_timeline(loops, ["S", "C"], "reverse_compute_at: each sum is read at once")

# %%
# Small ones
# ----------
#
# ``pragma`` marks a loop for later stages of the compiler. ``storage_align`` pads the rows of a buffer.
# ``prefetch`` requests memory before it is read. ``set_scope`` says where a buffer is stored. ``tensorize``
# replaces loops by an instruction; it has `a tutorial of its own <06_tensorize.html>`_. The docstring of each
# primitive shows what it does to the loops: ``help(te.Stage.storage_align)``. And a schedule records its
# steps:

print(in_parts.trace)

# %%
# All primitives preserve the result: whatever the order, the numbers are those of the formula.

run = tvmlite.build(in_parts, [A, total])
data = np.arange(32, dtype="float32")
np.testing.assert_allclose(run(data), [data.sum()])
print("sum:", run(data)[0], "expected:", data.sum())
show()

# %%
# Exercises
# ---------
#
# 1. Tile the doubled matrix by 3 x 5; neither number divides its extent. Where are the guards in the loops,
#    and what does the picture show?
# 2. In ``neighbours``, compute ``B`` at pieces of 2, 4, 8 and 16 elements, and plot the memory over the work.
#    Which point would you choose if a square took as long as a load?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. ``if i.outer * 3 + i.inner < 8`` is outside of the loop over columns of a tile, ``if j.outer * 5 +
#    j.inner < 12`` inside of it. In the picture the tiles at the right edge have 2 columns, those at the
#    bottom 2 rows.
# 2. ``B`` has 3, 5, 9 and 17 elements, and 48, 40, 36 and 34 squares are computed; 33 is the least. From 8
#    to 16 elements only 2 squares are saved, for nearly twice the memory. 8 is a good choice.
#
# .. raw:: html
#
#     </details>
