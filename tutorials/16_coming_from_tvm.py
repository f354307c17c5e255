"""Coming from TVM
===============

tvmlite can run scripts that were written for TVM 0.x: ``tvmlite.tvm`` has the names of TVM 0.11, from tensor
expressions and schedules to ``relay``, ``graph_executor`` and ``autotvm``, but uses tvmlite's own compiler.
In most scripts only the import has to be changed.

Run it::

    python tutorials/16_coming_from_tvm.py
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, draw_order, show

import tvmlite.tvm as tvm
from tvmlite.tvm import autotvm, relay, te, tir
from tvmlite.tvm.contrib import graph_executor

parser = argparse.ArgumentParser(description="Scripts for TVM 0.x")
parser.add_argument("--size", type=int, default=512, help="of the matrices; a multiple of 32")
parser.add_argument("--trials", type=int, default=24, help="schedules to measure for each kernel")
options = parser.parse_args()

# %%
# The import
# ----------
#
# A script for TVM begins with ``import tvm`` and ``from tvm import te, tir``. Above, only these lines are
# different. If a script must not be changed, one statement before it is enough: after it, ``import tvm`` and
# ``from tvm.contrib import graph_executor`` import the modules of ``tvmlite.tvm``.

sys.modules["tvm"] = tvm

from tvm import relay as tvm_relay  # noqa: E402

assert tvm_relay is relay

# %%
# A first script
# --------------
#
# This is a typical TVM script: a target, a schedule, a device, arrays, a time evaluator. It contains nothing
# new.

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
# The function is saved to a library, and loaded again:

folder = Path(tempfile.mkdtemp())
fadd.export_library(str(folder / "myadd.so"))
again = tvm.runtime.load_module(str(folder / "myadd.so"))
again(a, b, c)
tvm.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())

# %%
# TVM's tutorial on matrix products
# ---------------------------------
#
# These are three steps of TVM's tutorial "How to optimize GEMM on CPU", with its names. ``tir`` has the same
# functions as in TVM, such as ``tir.indexmod``.

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
    """Blocks, with vectors inside."""
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
    """A packed array, a cache for the block, and threads."""
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
# The pictures of the other tutorials work as well: this one shows the order in which the blocks of a small
# result are written.

SMALL = 12
X, Y = te.placeholder((SMALL, SMALL), name="X"), te.placeholder((SMALL, SMALL), name="Y")
Z = te.compute((SMALL, SMALL), lambda m, n: X[m, n] + Y[m, n], name="Z")
s = te.create_schedule(Z.op)
mo, no, mi, ni = s[Z].tile(Z.op.axis[0], Z.op.axis[1], 4, 6)
s[Z].vectorize(ni)
draw_order(tvm.lower(s, [X, Y, Z])["main"], "Z", "tile 4 x 6, vectors of 6", names=("m", "n"))

# %%
# A model
# -------
#
# A graph is written in Relay (or imported by ``relay.frontend.from_onnx``), built, and run with the interface
# of TVM's graph executor.

x = relay.var("x", shape=(1, 8, 16, 16))
w = relay.var("w", shape=(16, 8, 3, 3))
body = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.global_avg_pool2d(body)))
params = {"w": np.random.default_rng(0).normal(size=(16, 8, 3, 3)).astype("float32")}
print(mod)

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=params)
module = graph_executor.GraphModule(lib["default"](dev))
image = np.random.default_rng(1).normal(size=(1, 8, 16, 16)).astype("float32")
module.set_input("x", image)
module.run()
before = module.get_output(0).numpy()
print(module.benchmark(dev, repeat=3, number=10))

lib.export_library(str(folder / "model.tar"))
loaded = graph_executor.GraphModule(tvm.runtime.load_module(str(folder / "model.tar"))["default"](dev))
loaded.run(x=image)
tvm.testing.assert_allclose(loaded.get_output(0).numpy(), before)

# %%
# The model, tuned
# ----------------
#
# ``extract_from_program`` returns a task for each kernel that has more than one schedule. In TVM a task is an
# operator; here it is a fused group, such as a convolution with its relu, so there are often more tasks. The
# measurements of each task are written to a log, and inside ``apply_history_best`` the model is built with
# the best schedules of the log.

log = str(folder / "model.log")
tasks = autotvm.task.extract_from_program(mod["main"], target="llvm", params=params)
option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(number=10, repeat=3))
for task in tasks:
    tuner = autotvm.tuner.XGBTuner(task)
    trials = min(options.trials, len(task.config_space))
    tuner.tune(n_trial=trials, measure_option=option, callbacks=[autotvm.callback.log_to_file(log)])

with autotvm.apply_history_best(log):
    lib = relay.build(mod, target="llvm", params=params)
tuned = graph_executor.GraphModule(lib["default"](dev))
tuned.run(x=image)
tvm.testing.assert_allclose(tuned.get_output(0).numpy(), before, rtol=1e-4, atol=1e-5)

# %%
# The picture shows the log of the first task: the candidates in the order in which they were measured, and
# the best so far. Some schedules are many times slower than others, so the axis is logarithmic.

first = [one for one in autotvm.record.load_from_file(log) if one[0].task.workload == tasks[0].workload]
costs = [np.mean(result.costs) * 1e6 if result.error_no == 0 else np.nan for _, result in first]
axes = plt.figure(figsize=(6.4, 3)).gca()
axes.plot(range(1, len(costs) + 1), costs, "o", color=SECOND, label="a candidate")
axes.plot(range(1, len(costs) + 1), np.fmin.accumulate(costs), color=OURS, label="the best up to here")
axes.set_xlabel("trial")
axes.set_ylabel("microseconds of a call")
axes.set_yscale("log")
axes.set_title("AutoTVM's search for the model's first kernel")
axes.legend(frameon=False)

# %%
# Missing names are errors
# ------------------------
#
# tvmlite compiles for CPUs. Names that belong to other devices raise an error, which says what to use
# instead.

try:
    tvm.build(baseline(), [A, B, plain], "cuda")
except tvm.TVMError as error:
    print(error)

# %%
# Another difference that you will notice: errors name the line of your script.

s = te.create_schedule(plain.op)
try:
    s[plain].split(packedB.op.axis[0], factor=4)
except tvm.TVMError as error:
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
# ``relay.build``, ``GraphModule``    the same, or ``tvmlite.compile``, which gives a function
# ``autotvm.template``                the same, or ``autotune.template``: `a tutorial <09_template.html>`_
# ``extract_from_program``            the same, or ``tvmlite.tune``: `a tutorial <10_tune_model.html>`_
# ==================================  =====================================================
#
# ``docs/coming_from_tvm.md`` has the whole table, including the names that raise an error and why.
# ``tvmlite doctor --tvm`` lists the names that a script uses, and those that are missing.

show()

# %%
# Exercises
# ---------
#
# 1. Take a TE script of your own, change its imports, and run it.
# 2. ``packing`` keeps a block of 32 x 32 sums in memory. Make the block small enough for registers, as in
#    `the tutorial on matrix products <05_gemm.html>`_.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Before you run it, ``tvmlite doctor --tvm script.py`` lists the names that are missing, and what to use
#    instead.
# 2. Use tiles of 6 rows by two or four vectors and unroll their loops, as in that tutorial.
#
# .. raw:: html
#
#     </details>
