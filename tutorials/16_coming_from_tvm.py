"""Coming from TVM
===============

Scripts for TVM 0.x run here: ``tvmlite`` has TVM's names for tensor expressions and schedules, arrays,
devices and targets. ``tvmlite.tvm`` has those that are TVM's alone, such as ``tir`` and ``testing``. In most
scripts the imports are all that changes.

Run it::

    python tutorials/16_coming_from_tvm.py
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, draw_order, show

import tvmlite as tvm
import tvmlite.tvm.testing
from tvmlite import te
from tvmlite.tvm import tir

parser = argparse.ArgumentParser(description="Scripts for TVM 0.x")
parser.add_argument("--size", type=int, default=512, help="of the matrices; a multiple of 32")
options = parser.parse_args()

# %%
# The import
# ----------
#
# A script for TVM begins with ``import tvm`` and ``from tvm import te, tir``. Above, only those lines differ.
#
# A first script
# --------------
#
# This is how a TVM script looks: a target, a schedule, a device, arrays, an evaluator of times. Nothing in it
# is new.

target = tvm.target.Target(target="llvm", host="llvm")
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=64)
s[C].parallel(outer)
s[C].vectorize(inner)
print(tvm.lower(s, [A, B, C], simple_mode=True))

fadd = tvm.build(s, [A, B, C], target, name="myadd")
dev = tvm.device(target.kind.name, 0)
size = 1 << 16
a = tvm.nd.array(np.random.uniform(size=size).astype(A.dtype), dev)
b = tvm.nd.array(np.random.uniform(size=size).astype(B.dtype), dev)
c = tvm.nd.array(np.zeros(size, dtype=C.dtype), dev)
fadd(a, b, c)
tvm.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())
evaluator = fadd.time_evaluator(fadd.entry_name, dev, number=10)
print("seconds of a call:", evaluator(a, b, c).mean)

# %%
# Saved, and loaded again:

folder = Path(tempfile.mkdtemp())
fadd.export_library(str(folder / "myadd.so"))
again = tvm.runtime.load_module(str(folder / "myadd.so"))
again(a, b, c)
tvm.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())

# %%
# TVM's tutorial on matrix products
# ---------------------------------
#
# "How to optimize GEMM on CPU", with its names, in three of its steps. ``tir`` has what TVM has there, such
# as ``tir.indexmod``.

M = K = N = options.size
bn, kfactor = 32, 4
k = te.reduce_axis((0, K), "k")
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
plain = te.compute((M, N), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")


def baseline() -> te.Schedule:
    """The plain loops."""
    return te.create_schedule(plain.op)


def blocking() -> te.Schedule:
    """Blocks, and vectors in them."""
    s = te.create_schedule(plain.op)
    mo, no, mi, ni = s[plain].tile(plain.op.axis[0], plain.op.axis[1], bn, bn)
    ko, ki = s[plain].split(plain.op.reduce_axis[0], factor=kfactor)
    s[plain].reorder(mo, no, ko, mi, ki, ni)
    s[plain].vectorize(ni)
    return s


packedB = te.compute((N // bn, K, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB")
packed = te.compute(
    (M, N),
    lambda m, n: te.sum(A[m, k] * packedB[n // bn, k, tir.indexmod(n, bn)], axis=k),
    name="C",
)


def packing() -> te.Schedule:
    """The array packed, a cache for the block, threads."""
    s = te.create_schedule(packed.op)
    CC = s.cache_write(packed, "global")
    mo, no, _, _ = s[packed].tile(packed.op.axis[0], packed.op.axis[1], bn, bn)
    s[CC].compute_at(s[packed], no)
    mc, nc = s[CC].op.axis
    (kaxis,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kaxis, factor=kfactor)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[CC].unroll(ki)
    s[packed].parallel(mo)
    bigN, _, littleN = s[packedB].op.axis
    s[packedB].vectorize(littleN)
    s[packedB].parallel(bigN)
    return s


a = tvm.nd.array(np.random.rand(M, K).astype("float32"), dev)
b = tvm.nd.array(np.random.rand(K, N).astype("float32"), dev)
c = tvm.nd.array(np.zeros((M, N), dtype="float32"), dev)
answer = np.dot(a.numpy(), b.numpy())
rates = {}
for schedule, result in ((baseline, plain), (blocking, plain), (packing, packed)):
    func = tvm.build(schedule(), [A, B, result], target=target, name="mmult")
    func(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), answer, rtol=1e-4)
    seconds = func.time_evaluator(func.entry_name, dev, number=1, repeat=3)(a, b, c).min
    rates[schedule.__name__] = 2 * M * N * K / seconds / 1e9
    print(f"{schedule.__name__:10} {rates[schedule.__name__]:7.1f} GFLOP/s")
bars(rates, "GFLOP/s", "TVM's own schedules", colours=[PLAIN, SECOND, OURS])

# %%
# The same, to look at: the order in which the blocks of a small result are written.

SMALL = 12
X, Y = te.placeholder((SMALL, SMALL), name="X"), te.placeholder((SMALL, SMALL), name="Y")
Z = te.compute((SMALL, SMALL), lambda m, n: X[m, n] + Y[m, n], name="Z")
s = te.create_schedule(Z.op)
mo, no, mi, ni = s[Z].tile(Z.op.axis[0], Z.op.axis[1], 4, 6)
s[Z].vectorize(ni)
draw_order(tvm.lower(s, [X, Y, Z]), "Z", "tile 4 x 6, vectors of 6", names=("m", "n"))

# %%
# What is not here says so
# ------------------------
#
# tvmlite compiles for CPUs. What belongs to other devices is an error that says what to do instead.

try:
    tvm.build(baseline(), [A, B, plain], "cuda")
except tvm.TvmliteError as error:
    print(error)

# %%
# Errors end at your line, which is the other thing you will notice:

s = te.create_schedule(plain.op)
try:
    s[plain].split(packedB.op.axis[0], factor=4)
except tvm.TvmliteError as error:
    print(error)

# %%
# Names at a glance
# -----------------
#
# ==================================  =====================================================
# TVM 0.x                             here
# ==================================  =====================================================
# ``tvm.te``, all primitives          the same
# ``tvm.lower``, ``tvm.build``        the same; ``tvmlite.build`` gives a function of arrays
# ``tvm.nd.array``, ``.numpy()``      the same; plain numpy arrays work, too
# ``tvm.tir.*``                       the same, or ``te.*``
# ``func.time_evaluator``             the same, or ``func.time(...)``, with an interval
# ``func.export_library``             the same, or ``func.export``
# ``tvm.runtime.load_module``         the same, or ``runtime.load``
# ``autotvm.template``                ``autotune.template``: `a tutorial <09_template.html>`_
# ==================================  =====================================================

# %%
# .. Here is the place for models: ``tvm.relay``, ``relay.build``, ``graph_executor``, ``autotvm``. Until then
#    this cell is a comment, which the page does not show.

show()

# %%
# Exercises
# ---------
#
# 1. Take a TE script of your own, change its imports, and run it.
# 2. ``packing`` caches its block in memory, with 32 x 32 sums. Make the block small enough for registers, as
#    in `the tutorial on matrix products <05_gemm.html>`_.
