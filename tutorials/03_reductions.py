"""Reductions
==========

A reduction combines many elements into one: a sum, a maximum, the position of a maximum. This tutorial writes
some reductions, schedules them, and shows how the order of additions affects the time and the last bits.

Run it::

    python tutorials/03_reductions.py
    python tutorials/03_reductions.py --size 4096
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from pictures import LIMIT, OURS, PLAIN, SECOND, bars, plt, show

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target

parser = argparse.ArgumentParser(description="Sums, maxima and softmax")
parser.add_argument("--size", type=int, default=1 << 20, help="elements of the long sum; a multiple of 1024")
size = parser.parse_args().size
LANES = Target.parse("native").lanes("float32")
random = np.random.default_rng(0)

# %%
# The sum of each row
# -------------------
#
# ``te.reduce_axis`` declares the axis over which to add; the result does not have it. ``te.sum`` takes it as
# an argument. In the loops, the formula has become two statements: ``C[i]`` is first set to 0, the initial
# value of a sum, and then updated in each step.

n, m = 6, 8
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), name="k")
C = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")
s = te.create_schedule(C.op)
print(tvmlite.lower(s, [A, C]))

# %%
# ``te.max``, ``te.min`` and ``te.prod`` work the same way. Only the initial value and the update differ: a
# maximum starts with the smallest value of its dtype.

M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
print(tvmlite.lower(te.create_schedule(M.op), [A, M]))

# %%
# argmax: a reduction of pairs
# ----------------------------
#
# Where is the maximum? To find its position, we must keep two things: the best value so far, and its
# position. ``te.comm_reducer`` creates a reduction of tuples. It takes a function that combines two pairs,
# and one that returns the initial pair. If values are equal, the smaller position is chosen, so the result
# does not depend on the order.


def better(one: Any, other: Any) -> tuple[Any, Any]:
    """The pair ``(place, value)`` with the larger value; if they are equal, that with the smaller place."""
    takes_one = te.any(one[1] > other[1], te.all(one[1] == other[1], one[0] < other[0]))
    return te.select(takes_one, one[0], other[0]), te.select(takes_one, one[1], other[1])


def start(place_dtype: str, value_dtype: str) -> tuple[Any, Any]:
    """The initial pair: every other pair is better."""
    return te.max_value(place_dtype), te.min_value(value_dtype)


argmax = te.comm_reducer(better, start, name="argmax")
places = te.compute((n, m), lambda i, j: te.cast("int32", j), name="places")
where, best = te.compute((n,), lambda i: argmax((places[i, k], A[i, k]), axis=k), name="best")
s = te.create_schedule(where.op)
s[places].compute_inline()
print(tvmlite.lower(s, [A, where, best]))
data = random.standard_normal((n, m), "float32")
found, _ = tvmlite.build(s, [A, where, best])(data)
np.testing.assert_array_equal(found, data.argmax(axis=1))
print("places of the maxima:", found)

# %%
# One long sum
# ------------
#
# Now a whole vector is reduced to one number. In plain loops, each addition needs the result of the one
# before. So in every step the processor waits until an addition is complete (its *latency*), although it
# could execute several additions at once.
#
# ``rfactor`` breaks this chain: it computes partial sums, which do not wait for each other. Here the partial
# sums are the lanes of several vectors, which are added at the end. In the third schedule, several threads
# also take parts of the vector.


def long_sum(kind: str) -> tuple[Any, list[te.Tensor]]:
    """A schedule of a sum of ``size`` elements: ``plain``, in ``lanes``, or in lanes with ``threads``."""
    a = te.placeholder((size,), name="A")
    r = te.reduce_axis((0, size), name="r")
    c = te.compute((1,), lambda i: te.sum(a[r], axis=r), name="C")
    s = te.create_schedule(c.op)
    if kind == "plain":
        return s, [a, c]
    target = c
    if kind == "threads":
        part, _ = s[c].split(s[c].op.reduce_axis[0], nparts=8)
        target = s.rfactor(c, part)
        s[target].parallel(s[target].op.axis[0])
    _, lane = s[target].split(s[target].op.reduce_axis[0], factor=4 * LANES)
    lanes = s.rfactor(target, lane)
    inner = s[lanes].op.axis[0]
    vectors, lane = s[lanes].split(inner, factor=LANES)
    s[lanes].reorder(*s[lanes].op.axis[1:], *s[lanes].op.reduce_axis, vectors, lane)
    s[lanes].unroll(vectors)
    s[lanes].vectorize(lane)
    if kind == "threads":
        s[lanes].compute_at(s[target], s[target].op.axis[0])
    return s, [a, c]


s, args = long_sum("lanes")
print(tvmlite.lower(s, args))

# %%
# All three are timed. The unit is billions of additions per second.

data = random.standard_normal(size, "float32") + 1
rates: dict[str, float] = {}
sums: dict[str, float] = {}
for kind in ("plain", "lanes", "threads"):
    function = tvmlite.build(*long_sum(kind), name=kind)
    sums[kind] = float(function(data)[0])
    rates[kind] = size / function.time(data, budget=0.2).median / 1e9
bars(rates, "additions a second, in billions", "one long sum", colours=[PLAIN, SECOND, OURS])
print({kind: f"{rate:.2f}" for kind, rate in rates.items()})

# %%
# What about the last bits? Floats are rounded after each addition, so another order gives a slightly
# different result. Which order is better? The picture shows the difference between the float32 sum and the
# exact sum, for more and more terms. One long chain adds small terms to a large sum, and the error grows with
# each term. Partial sums stay small for longer, so their errors are smaller.

exact = float(np.sum(data, dtype="float64"))
print({kind: f"{abs(one / exact - 1):.1e} off" for kind, one in sums.items()})

chain = np.cumsum(data, dtype="float32")
partial = np.cumsum(data.reshape(-1, 64), axis=0, dtype="float32").sum(axis=1, dtype="float32")
truth = np.cumsum(data, dtype="float64")
counts = np.unique(np.geomspace(64, size, 120).astype(int) // 64 * 64)
figure = plt.figure(figsize=(6, 3))
axes = figure.gca()
for totals, every, colour, name in ((chain, 1, PLAIN, "one chain"), (partial, 64, OURS, "64 partial sums")):
    off = np.maximum.accumulate(abs(totals / truth[every - 1 :: every] - 1))
    axes.loglog(counts, off[counts // every - 1], color=colour, label=name)
axes.axhline(2.0**-24, color=LIMIT, linestyle="--", label="half a step of float32")
axes.set_xlabel("terms")
axes.set_ylabel("largest relative error so far")
axes.set_title("what the order of additions does to a sum")
axes.legend(frameon=False)

# %%
# Softmax: four stages
# --------------------
#
# Softmax divides powers of e by their sum. To avoid overflow, the maximum of the row is subtracted from the
# exponents first. So there are two reductions, and two stages over all elements. In plain loops each stage
# processes the whole matrix before the next one starts.

rows, columns = 256, 1024
X = te.placeholder((rows, columns), name="X")
k, r = te.reduce_axis((0, columns), name="k"), te.reduce_axis((0, columns), name="r")
largest = te.compute((rows,), lambda i: te.max(X[i, k], axis=k), name="largest")
power = te.compute((rows, columns), lambda i, j: te.exp(X[i, j] - largest[i]), name="power")
total = te.compute((rows,), lambda i: te.sum(power[i, r], axis=r), name="total")
Y = te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="Y")


def by_stage() -> te.Schedule:
    """Compute each stage for the whole matrix."""
    return te.create_schedule(Y.op)


def by_row() -> te.Schedule:
    """Compute all stages of a row before the next row, so that the row stays in the nearest cache."""
    s = te.create_schedule(Y.op)
    for stage in (total, power, largest):
        s[stage].compute_at(s[Y], Y.op.axis[0])
    return s


def in_vectors() -> te.Schedule:
    """The same with vectors of neighbours in a row; the reductions have partial results in the lanes."""
    s = te.create_schedule(Y.op)
    row, column = Y.op.axis
    s[Y].vectorize(s[Y].split(column, factor=LANES)[1])
    s[power].vectorize(s[power].split(power.op.axis[1], factor=LANES)[1])
    for stage in (total, largest):
        _, lane = s[stage].split(s[stage].op.reduce_axis[0], factor=LANES)
        partial = s.rfactor(stage, lane)
        s[partial].reorder(s[partial].op.axis[1], *s[partial].op.reduce_axis, s[partial].op.axis[0])
        s[partial].vectorize(s[partial].op.axis[0])
        s[stage].compute_at(s[Y], row)
        s[partial].compute_at(s[Y], row)
    s[power].compute_at(s[Y], row)
    s[Y].parallel(row)
    return s


x = random.standard_normal((rows, columns), "float32")
expected = np.exp(x - x.max(axis=1, keepdims=True))
expected /= expected.sum(axis=1, keepdims=True)
times: dict[str, float] = {}
for schedule in (by_stage, by_row, in_vectors):
    softmax = tvmlite.build(schedule(), [X, Y], name="softmax")
    np.testing.assert_allclose(softmax(x), expected, rtol=1e-5)
    times[schedule.__name__] = softmax.time(x, budget=0.2).median * 1e6
    print(f"{schedule.__name__:12} {times[schedule.__name__]:9.1f} microseconds")
bars(times, "microseconds", f"softmax of {rows} x {columns}", colours=[PLAIN, SECOND, OURS])

# %%
# These are the loops of the last schedule: one loop over rows contains all stages, and every inner loop
# computes vectors.

print(tvmlite.lower(in_vectors(), [X, Y]))
show()

# %%
# Exercises
# ---------
#
# 1. Write ``argmin`` of absolute values as a reduction of pairs, and compare it with numpy.
# 2. In ``in_vectors``, ``power`` is stored and read again. Inline it instead, so that ``exp`` is computed
#    twice. Which version is faster, and why might this differ on a processor with a slower ``exp``?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Replace ``>`` by ``<`` in ``better``, start with ``te.max_value`` for both, and reduce ``te.abs(A[i,
#    k])``. In numpy it is ``abs(data).argmin(axis=1)``.
# 2. With ``s[power].compute_inline()`` it took 1.2 times as long on an AMD Zen 4. A row of 4 KB stays in the
#    first-level cache, so storing and reading it takes less time than a second ``exp``. With a slower ``exp``
#    the difference is larger. With rows that fit into no cache, inlining would be faster.
#
# .. raw:: html
#
#     </details>
