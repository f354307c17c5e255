"""Vector addition
===============

What to compute, how to compute it, what the machine runs, and how fast.

    python tutorials/01_vector_add.py
"""

from __future__ import annotations

import argparse

import numpy as np

import tvmlite
from tvmlite import te

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=1 << 20, help="elements; a multiple of 64")
size = parser.parse_args().size

# 1. What to compute. A placeholder is an array that will be given, a compute is a formula for each element.
# Nothing is said yet of loops, of their order, or of vectors.
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")

# 2. How to compute it. A schedule starts as plain loops, one for each axis.
s = te.create_schedule(C.op)
print("The default schedule, for any n:\n")
print(tvmlite.lower(s, [A, B, C]))

# 3. It can be run as it is. Outputs may be given, or are made. The extent comes from the arrays.
add = tvmlite.build(s, [A, B, C], name="add")
a = np.arange(size, dtype="float32")
b = np.full(size, 0.5, dtype="float32")
np.testing.assert_array_equal(add(a, b), a + b)
c = np.empty_like(a)
print("as it is:  ", add.time(a, b, c))

# 4. Another schedule of the same formula: pieces of 64 elements, shared out among the threads, each of four
# vectors of 16. The formula stays, so the result does. Where 64 does not divide n, the rest is guarded: see
# the last loop.
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=64)
several, lanes = s[C].split(inner, factor=16)
s[C].parallel(outer)
s[C].unroll(several)
s[C].vectorize(lanes)
print("\nIn vectors, on all threads:\n")
print(tvmlite.lower(s, [A, B, C]))
fast = tvmlite.build(s, [A, B, C], name="fast_add")
np.testing.assert_array_equal(fast(a, b), a + b)
print("in vectors:", fast.time(a, b, c))

# 5. What became of it, at every level: "loops", "legal", "llvm", "optimized", "asm" and "c".
for form in ("loops", "llvm", "asm", "c"):
    text = fast.source(form)
    print(f"\n--- {form}: {len(text.splitlines())} lines; some of them:")
    print("\n".join([line for line in text.splitlines() if line.strip()][-8:]))

# 6. A mistake is an error that says who, what was given and what was wanted, and where.
try:
    add(a, b[:-1])
except tvmlite.TvmliteError as error:
    print(f"\nA wrong shape is told:\n{error}")
