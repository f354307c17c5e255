"""Vector addition
===============

What to compute, how to compute it, what the machine runs, and how fast.

Run it::

    python tutorials/01_vector_add.py
"""

from __future__ import annotations

import argparse

import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, draw_order, plt, show

import tvmlite
from tvmlite import te

parser = argparse.ArgumentParser(description="Vector addition, from the formula to the machine's code")
parser.add_argument("--size", type=int, default=1 << 20, help="elements; a multiple of 64")
size = parser.parse_args().size

# %%
# What to compute
# ---------------
#
# A *placeholder* is an array that will be given. A *compute* is a formula for each element. Nothing is said
# yet of loops, of their order, or of vectors. ``n`` is a variable: the code will serve arrays of any length.

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")

# %%
# How to compute it
# -----------------
#
# That is said by a *schedule*. It starts as plain loops, one for each axis. ``lower`` gives the loops, which
# can be read.

s = te.create_schedule(C.op)
print(tvmlite.lower(s, [A, B, C]))

# %%
# ``build`` compiles them to a function of numpy arrays. Outputs may be given; else they are made. The length
# comes from the arrays. ``time`` calls it many times, and gives the median with an interval.

add = tvmlite.build(s, [A, B, C], name="add")
a = np.arange(size, dtype="float32")
b = np.full(size, 0.5, dtype="float32")
np.testing.assert_array_equal(add(a, b), a + b)
c = np.empty_like(a)
print("as it is:  ", add.time(a, b, c))

# %%
# Another schedule of the same formula
# ------------------------------------
#
# Pieces of 64 elements are divided among the threads. Each piece is four vectors of 16 elements, written out
# one after the other. The formula stays, so the result does. Where 64 does not divide ``n``, the last piece
# is guarded: see the ``if`` in the loops.

s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=64)
several, lanes = s[C].split(inner, factor=16)
s[C].parallel(outer)
s[C].unroll(several)
s[C].vectorize(lanes)
print(tvmlite.lower(s, [A, B, C]))
fast = tvmlite.build(s, [A, B, C], name="fast_add")
np.testing.assert_array_equal(fast(a, b), a + b)
print("in vectors:", fast.time(a, b, c))

# %%
# The picture shows the same idea in small: 4 rows of 16 elements in place of one long vector. Each row is the
# piece of one thread, in vectors of 4. The number is the step; elements with one number are written by one
# instruction. Threads run at the same time, so numbers count within a colour.

X = te.placeholder((4, 16), name="X")
Y = te.compute((4, 16), lambda i, j: X[i, j] + 0.5, name="Y")
small = te.create_schedule(Y.op)
small[Y].parallel(Y.op.axis[0])
small[Y].vectorize(small[Y].split(Y.op.axis[1], factor=4)[1])
loops = tvmlite.lower(small, [X, Y])
draw_order(loops, "Y", "pieces and vectors", group=lambda visit: visit.iteration)

# %%
# When does it help?
# ------------------
#
# An addition reads two numbers and writes one. So a long vector is limited by memory: no schedule makes
# memory faster. A short one is in a cache, and there the schedule shows. And a very short one is limited by
# the call itself, and by waking threads. The picture has the rate over the length of the vectors.

lengths = [count for count in (1 << power for power in range(6, 23, 2)) if count <= max(size, 4096)]
figure = plt.figure(figsize=(6.5, 3))
axes = figure.gca()
for function, name, colour in ((add, "plain loop", PLAIN), (fast, "vectors and threads", OURS)):
    rates = []
    for count in lengths:
        x, y, z = (np.ones(count, "float32") for _ in range(3))
        rates.append(count / min(function.time(x, y, z, budget=0.05).runs) / 1e9)
    axes.loglog(lengths, rates, "o-", color=colour, label=name, base=2)
    print(f"{name:20}", " ".join(f"{rate:.2f}" for rate in rates), "billion additions a second")
axes.set_xlabel("elements")
axes.set_ylabel("billion additions a second")
axes.legend(frameon=False)

# %%
# What has become of it, at every level
# -------------------------------------
#
# ``source`` shows the code in each form: ``"loops"``, ``"legal"`` (what code generators take), ``"llvm"``,
# ``"optimized"`` (after LLVM), ``"asm"`` and ``"c"``. Here are some lines of four of them, and how long each
# is.

lengths_of = {}
for form in ("loops", "llvm", "asm", "c"):
    text = fast.source(form)
    lengths_of[form] = len(text.splitlines())
    print(f"\n--- {form}: {lengths_of[form]} lines; some of them:")
    print("\n".join([line[:100] for line in text.splitlines() if line.strip()][-8:]))
bars(lengths_of, "lines", "the same function in four languages", colours=SECOND)

# %%
# A mistake
# ---------
#
# An error says who, what was given and what was expected, and where.

try:
    add(a, b[:-1])
except tvmlite.TvmliteError as error:
    print(error)
show()

# %%
# Exercises
# ---------
#
# 1. Change the pieces to 1,000 elements. What happens to the guards, and to the time?
# 2. Compute ``A[i] * B[i] + A[i]`` instead. Is it slower than the addition? Why?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Each piece needs a guard of its own: 1,000 is not a multiple of 16, so the last of its 63 vectors has 8
#    elements. With the guard of ``n`` there are two conditions. Only vectors at the end of a piece are
#    masked, so the time of long vectors hardly changes.
# 2. Hardly, if the vectors are long: the same bytes are read and written, and the multiplication is done
#    while the processor waits for them. In a cache it may show.
#
# .. raw:: html
#
#     </details>
