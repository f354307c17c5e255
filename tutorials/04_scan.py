"""Scans: one step after another
=============================

Some computations need their own earlier results: a running total, a filter, a recurrent network. A formula of
independent elements cannot express this. ``te.scan`` can: it creates a tensor whose rows are computed one
after the other, each from earlier ones.

Run it::

    python tutorials/04_scan.py
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from pictures import OURS, PLAIN, SECOND, bars, draw_order, plt, show

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target

parser = argparse.ArgumentParser(description="Running totals and a recurrent cell")
parser.add_argument("--hidden", type=int, default=256, help="units of the recurrent cell; a multiple of 64")
hidden = parser.parse_args().hidden
LANES = Target.parse("native").lanes("float32")
random = np.random.default_rng(0)

# %%
# A running total
# ---------------
#
# A scan has three parts. ``state`` is a placeholder that stands for the result, so that formulas can read its
# earlier rows. ``init`` computes the first rows. ``update`` computes row ``t`` from the rows before ``t``.
# Here it adds row ``t`` of ``X`` to the total so far.


def running_total(steps: Any, width: Any) -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """``X (steps, width)``, and the stages of its running total along the first axis."""
    x = te.placeholder((steps, width), name="X")
    state = te.placeholder((steps, width), name="state")
    init = te.compute((1, width), lambda _, i: x[0, i], name="init")
    update = te.compute((steps, width), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return x, init, update, te.scan(init, update, state, inputs=[x], name="total")


X, init, update, total = running_total(te.var("m"), te.var("n"))
s = te.create_schedule(total.op)
print(tvmlite.lower(s, [X, total]))
data = random.standard_normal((10, 6), "float32")
np.testing.assert_allclose(tvmlite.build(s, [X, total])(data), np.cumsum(data, axis=0), rtol=1e-5)

# %%
# The loop over time, ``t``, is always outside and runs in order. This is the definition of a scan, so no
# primitive can change it. Within a step, all elements are independent, and can be scheduled as usual. In the
# picture, the lanes of a vector have the same number.

X, init, update, total = running_total(6, 8)
s = te.create_schedule(total.op)
for stage in (init, update):
    s[stage].vectorize(s[stage].split(stage.op.axis[1], factor=4)[1])
loops = tvmlite.lower(s, [X, total])
print(loops)
(output,) = [param.name for param in loops.outputs]
draw_order(loops, output, "a scan in vectors of four: rows strictly in order", names=("t", "i"))

# %%
# What if there is only one long vector? Then each step computes only one element, and nothing can be done at
# the same time: each step has to wait for the one before. There are faster algorithms. They add the elements
# of blocks independently, and then the totals of the blocks: see the first exercise.
#
# A recurrent cell
# ----------------
#
# A recurrent layer combines its state with an input in each step: ``h[t] = tanh(W h[t - 1] + x[t])``. The
# state of ``hidden`` units is one row. The product is a reduction inside the step, which is a separate stage.

steps = 32


def cell() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """``x (steps, hidden)``, ``W``, the stages ``product`` and ``update`` of a step, and all states."""
    x = te.placeholder((steps, hidden), name="x")
    weight = te.placeholder((hidden, hidden), name="W")
    state = te.placeholder((steps, hidden), name="state")
    k = te.reduce_axis((0, hidden), name="k")
    init = te.compute((1, hidden), lambda _, i: te.tanh(x[0, i]), name="init")
    product = te.compute(
        (steps, hidden), lambda t, i: te.sum(weight[k, i] * state[t - 1, k], axis=k), name="product"
    )
    update = te.compute((steps, hidden), lambda t, i: te.tanh(product[t, i] + x[t, i]), name="update")
    return x, weight, product, update, te.scan(init, update, state, inputs=[x, weight], name="h")


def plain() -> tuple[te.Schedule, list[te.Tensor]]:
    """The plain loops."""
    x, weight, _, _, h = cell()
    return te.create_schedule(h.op), [x, weight, h]


def in_vectors(threads: bool = False) -> tuple[te.Schedule, list[te.Tensor]]:
    """Compute four vectors of units at a time, whose sums stay in registers."""
    x, weight, product, update, h = cell()
    s = te.create_schedule(h.op)
    piece, units = s[update].split(update.op.axis[1], factor=4 * LANES)
    vectors, lanes = s[update].split(units, factor=LANES)
    s[update].unroll(vectors)
    s[update].vectorize(lanes)
    if threads:
        s[update].parallel(piece)
    s[product].compute_at(s[update], piece)
    time, unit = s[product].op.axis
    vectors, lanes = s[product].split(unit, factor=LANES)
    s[product].reorder(time, *s[product].op.reduce_axis, vectors, lanes)
    s[product].unroll(vectors)
    s[product].vectorize(lanes)
    return s, [x, weight, h]


def on_threads() -> tuple[te.Schedule, list[te.Tensor]]:
    """The same, with the state divided among threads, which wait for each other after each step."""
    return in_vectors(threads=True)


print(tvmlite.lower(*in_vectors()))

# %%
# Each is compared with numpy and timed.

x = random.standard_normal((steps, hidden), "float32")
weight = random.standard_normal((hidden, hidden), "float32") * np.float32(1.2 * hidden**-0.5)
expected = np.tanh(x)
for t in range(1, steps):
    expected[t] = np.tanh(expected[t - 1] @ weight + x[t])
times: dict[str, float] = {}
for schedule in (plain, in_vectors, on_threads):
    function = tvmlite.build(*schedule(), name="cell")
    states = function(x, weight)
    np.testing.assert_allclose(states, expected, rtol=1e-3, atol=1e-3)
    times[schedule.__name__] = function.time(x, weight, budget=0.3).median / steps * 1e6
    print(f"{schedule.__name__:12} {times[schedule.__name__]:8.2f} microseconds a step")
bars(times, "microseconds a step", f"a cell of {hidden} units", colours=[PLAIN, SECOND, OURS])

# %%
# Starting the threads takes some time in each step. Whether they help depends on the amount of work in a
# step: try ``--hidden 64`` and ``--hidden 1024``.
#
# Why does a step take so long? It reads all of ``W``, and uses each weight only once. A weight can be used
# more often only if the steps of *several* sequences are computed together. That is why recurrent networks
# are trained and served in batches.
#
# Let us also look at the states. Each step reads the state before it, so a small change of one input changes
# all later states. Here one element of ``x[4]`` is changed, and the picture shows how much each unit changes
# in each step.

changed = x.copy()
changed[4, 0] += 0.5
moved = abs(tvmlite.build(*plain())(changed, weight) - states)[:, :48].T
figure = plt.figure(figsize=(6.5, 3.2))
axes = figure.gca()
image = axes.imshow(moved + 1e-9, aspect="auto", cmap="YlGnBu", norm="log", vmin=1e-6, vmax=0.1)
axes.set_xlabel("step t")
axes.set_ylabel("unit (the first 48)")
axes.set_title("one input changes in step 4: all later states depend on it")
figure.colorbar(image, label="difference")
print("steps before the change are equal:", bool((moved[:, :4] == 0).all()))
show()

# %%
# Exercises
# ---------
#
# 1. Write the running total of one vector of ``n`` elements in two levels: running totals within blocks of 64
#    (a scan over 64 steps, with one column for each block), then the running total of the blocks' sums, then
#    an addition. How fast is it?
# 2. Write a scan with two states: ``h`` and ``c`` of an LSTM. ``te.scan`` takes lists of ``init``, ``update``
#    and ``state``.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Give ``X`` the shape ``(64, n // 64)`` by a compute that reads ``X[b * 64 + t]``, and scan over ``t``:
#    the blocks are lanes. A second scan over the blocks adds their last rows, for block ``b`` those of the
#    blocks before it: for ``b`` = 0 it adds nothing, by ``te.if_then_else``. The result is ``within[i % 64, i
#    // 64] + before[i // 64]``. The long chain of additions is 64 times shorter.
# 2. ``h, c = te.scan([h0, c0], [new_h, new_c], [h_state, c_state], inputs=[x], name="lstm")``. ``new_h``
#    may read ``new_c[t, i]`` of the same step.
#
# .. raw:: html
#
#     </details>
