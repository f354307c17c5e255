"""Schedule primitives, one by one
===============================

A formula says what each element is. A schedule says in which order elements are computed, and where they are
kept meanwhile. It is built from *primitives*, small steps such as "split this loop". Here is each of them,
with the loops it makes and a picture of the order in which they visit elements.

Run it::

    python tutorials/02_schedule_primitives.py

The pictures are drawn from the loops themselves: ``pictures.py`` runs them in an interpreter and writes down
which element is written when.
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
# ``split`` makes two nested loops of one. The order stays the same. It is what most other primitives start
# from: we can now do something with the inner loop alone.

s, args, i, j = doubled()
outer, inner = s[args[1]].split(j, factor=4)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "split j by 4: nothing moves yet")

# %%
# When the factor does not divide the extent, the last round is too long. The compiler adds an ``if`` that
# skips what is outside. This is called the *tail*.

s, args, i, j = doubled()
s[args[1]].split(j, factor=5)
print(tvmlite.lower(s, args))

# %%
# reorder
# -------
#
# ``reorder`` changes which loop is outside. Here it is the loop over columns, so the matrix is written column
# by column. In memory, neighbours in a row lie next to each other. So each step now jumps over 12 elements,
# which is usually slow. The order of loops decides how memory is used.

s, args, i, j = doubled()
s[args[1]].reorder(j, i)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "reorder(j, i): column by column")

# %%
# tile
# ----
#
# ``tile`` is two splits and a reorder. The matrix is written block by block. When something is read several
# times, a small block of it can stay in the cache until all of its uses are done. That is why tiles matter so
# much for matrix products.

s, args, i, j = doubled()
s[args[1]].tile(i, j, 4, 4)
loops = tvmlite.lower(s, args)
print(loops)
draw_order(loops, "C", "tile 4 x 4: block by block")

# %%
# fuse
# ----
#
# ``fuse`` makes one loop of two. The order stays. It helps when there are too few iterations to divide among
# threads, or when rows are too short to be split well: after ``fuse`` we can cut the whole matrix into pieces
# of any length. Here a piece has 16 elements, and so ends in the middle of a row. Each colour is one piece.

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
# A processor's vector instructions work on several neighbours at once. ``vectorize`` makes the iterations of
# a loop into the lanes of vectors. Cells with the same number are written by one instruction. Now the whole
# matrix takes a quarter of the steps.

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
# A loop costs something itself: it counts, compares and jumps. ``unroll`` writes the iterations one after the
# other instead. The order stays. What changes is how often the loop's own instructions run: once for each
# *body* in the picture below. Each colour is one body.

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
# The iterations of a ``parallel`` loop are divided among threads. The compiler relies on them being
# independent; for a formula of elements they always are. The picture has a colour for each iteration, which
# one thread does as a whole. Threads run at the same time, so the numbers hold within a colour only.

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
# ``loop_partition`` cuts a loop into several, one after the other. Its best use is with a tail: only the last
# part keeps the ``if``, and the others, in which most of the time is spent, have none. The picture has a
# colour for each part.

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
# Now a program of two formulas. ``B`` is the square of ``A``, and each element of ``C`` adds two neighbours
# of ``B``. Each formula is a *stage*. By default a stage is computed as a whole before the next one starts.
# That is ``compute_root``. The picture shows time from left to right: first all of ``B``, then all of ``C``.
# ``B`` needs memory for all of its elements.


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
# ``compute_at`` moves a stage into a loop of the stage that reads it. Here ``C`` is cut into pieces of 8, and
# for each piece only the part of ``B`` that it needs is computed: 9 elements. The compiler finds that number
# itself. ``B`` is small now, and is still in the cache when ``C`` reads it. The price: the last element of
# one piece is the first of the next, and so it is computed twice.

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
# With ``compute_at``, ``C`` waits for each piece of ``B``. ``double_buffer`` computes the next piece of ``B``
# before the current piece of ``C``. So the two do not depend on each other, and the processor can load for
# one while it computes the other. ``B`` has two buffers, which are used alternately: see the two levels in
# the picture.

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
# ``compute_inline`` puts the formula of ``B`` into the formula of ``C``. There is no ``B`` in memory any
# more, but each element of it is computed for each of its two readers.

s, args, B = neighbours()
s[B].compute_inline()
placements["compute_inline"] = tvmlite.lower(s, args)
print(placements["compute_inline"])

# %%
# There is no best choice, only a trade: memory against work done twice. The picture counts both, again from
# the loops: the elements of ``B`` that need memory, and how many squares are computed.


def memory_of(loops: Any) -> int:
    """The elements of B that are in memory at a time."""
    places = {visit.index for visit in visits(loops) if visit.buffer == "B"}
    return len(places)


def squares_of(loops: Any) -> int:
    """How many squares are computed: writes of B, or two for each element of C without it."""
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
# The order of loops is one thing, the order in memory another. ``transform_layout`` says how a stage's buffer
# is laid out. Here ``B`` is stored in tiles of 4 x 4, each dense. In the picture, the number is the place of
# an element in memory, found from what ``C`` reads. A tile that is read together is one short stretch of
# memory.

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
# A sum is written many times: once for each term. ``cache_write`` gives those partial sums a small buffer of
# their own, and ``C`` is written once, when a sum is complete. Together with ``compute_at`` and unrolled
# loops, such a buffer lives in registers, which are much faster than any cache.


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
bars(writes, "writes", "who is written how often", colours=[PLAIN, OURS, SECOND])

# %%
# cache_read
# ----------
#
# ``cache_read`` copies what is read. That pays when the copy is read several times, or in a better order: a
# tile of ``B`` becomes one dense block. The timeline shows the copies (``B.local``) between the writes of
# ``C``: each block is copied just before it is used.

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
# ``rfactor`` makes several partial sums, which do not wait for each other, and adds those at the end. Note
# that this changes the order of additions, and so the last bits of a float result.

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
# A sum is first set to 0, then updated. By default the two stand together, inside the loops over the result.
# ``decompose_reduction`` moves the first part out, to loops of its own. Left is the default, right the other;
# the element is that of ``S``, and each of its dots is one write.


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
# reads: here ``C``, which adds 1 to a sum, into the loop over rows of ``S``. It is how an activation joins
# the product before it.

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
# ``pragma`` marks a loop for later stages. ``storage_align`` pads rows of a buffer. ``prefetch`` asks for
# memory before it is read. ``set_scope`` says where a buffer lives. ``tensorize`` puts an instruction in the
# place of loops; it has `a tutorial of its own <06_tensorize.html>`_. Each has a docstring that shows what it
# does to the loops: ``help(te.Stage.storage_align)``. And a schedule remembers its steps:

print(in_parts.trace)

# %%
# All of them keep the result. Whatever the order, the numbers are those of the formula.

run = tvmlite.build(in_parts, [A, total])
data = np.arange(32, dtype="float32")
np.testing.assert_allclose(run(data), [data.sum()])
print("sum:", run(data)[0], "expected:", data.sum())
show()

# %%
# Exercises
# ---------
#
# 1. Tile the doubled matrix by 3 x 5, which divide neither extent. Where are the guards in the loops, and
#    what does the picture show?
# 2. In ``neighbours``, compute ``B`` at pieces of 2, 4, 8 and 16 elements, and draw memory against work.
#    Which point would you take if a square took as long as a load?
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
