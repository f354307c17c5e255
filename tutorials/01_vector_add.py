"""Vector addition
===============

This tutorial shows how to state what to compute, how to schedule it, which code the machine runs, and how
fast it is.

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
# A *placeholder* is an array that the caller will pass. A *compute* is a formula for each element. It does
# not yet mention loops, their order, or vectors. ``n`` is a variable, so the code will work for arrays of any
# length.

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")

# %%
# How to compute it
# -----------------
#
# A *schedule* describes how the formula is computed. It starts as plain loops, one for each axis. ``lower``
# returns these loops in a readable form.

s = te.create_schedule(C.op)
print(tvmlite.lower(s, [A, B, C]))

# %%
# ``build`` compiles the loops to a function of numpy arrays. The caller may pass the output; otherwise it is
# allocated. The length comes from the arrays. ``time`` calls the function many times, and returns the median
# and its confidence interval.

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
# The vector is divided into pieces of 64 elements, and the pieces among the threads. Each piece is computed
# as four vectors of 16 elements, one after the other, without a loop. The formula is the same, and so is the
# result. If 64 does not divide ``n``, the last piece is guarded by a condition: see the ``if`` in the loops.

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
# The picture shows a small example of the same idea: 4 rows of 16 elements in place of one long vector. Each
# row is the piece of one thread, in vectors of 4. The number is the step; elements with the same number are
# written by one instruction. Threads run at the same time, so the numbers give an order only within one
# colour.

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
# Each addition reads two numbers and writes one. So for a long vector, memory is the limit, and no schedule
# can make memory faster. A shorter one is in a cache, and there the schedule matters. For a very short one,
# most of the time is spent on the call itself and on waking threads. The picture shows the rate for different
# lengths of the vectors.

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
# ``source`` shows the code in each form: ``"loops"``, ``"legal"`` (the input of the code generators),
# ``"llvm"``, ``"optimized"`` (after LLVM's passes), ``"asm"`` and ``"c"``. Here are some lines of four of
# these forms, and the length of each.

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
# An error message says which function was called wrongly, what was given, what was expected, and where.

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
# 1. Each piece needs an additional guard: 1,000 is not a multiple of 16, so the last of its 63 vectors has
#    only 8 elements. With the guard for ``n`` there are two conditions. Only the vectors at the end of a
#    piece are masked, so the time for long vectors hardly changes.
# 2. Hardly, if the vectors are long: the same bytes are read and written, and the multiplication is executed
#    while the processor waits for them. For vectors in a cache there may be a difference.
#
# .. raw:: html
#
#     </details>
