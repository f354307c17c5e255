"""A template and its tuner
========================

A good schedule contains numbers, such as the size of a tile or the length of an unrolled loop. The best
numbers depend on the machine and on the sizes of the tensors. A *template* is a schedule whose numbers are
*knobs*. A *tuner* tries settings of the knobs, measures them, and learns which to try next.

Run it::

    pip install '.[docs]'
    python tutorials/09_template.py
    python tutorials/09_template.py --trials 200
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from pictures import LIMIT, OURS, PLAIN, SECOND, bars, peak, plt, show

import tvmlite
from tvmlite import autotune, te

parser = argparse.ArgumentParser(description="A template of a matrix product, and tuners")
parser.add_argument("--trials", type=int, default=32, help="measurements of each tuner")
parser.add_argument("--size", type=int, default=256, help="of the matrices")
options = parser.parse_args()

# %%
# The template
# ------------
#
# A template is a function decorated with ``@autotune.template``. It builds a schedule as usual, but takes the
# numbers from a configuration. ``define_split`` makes a knob with all ways to split an axis, ``define_knob``
# makes one with any list of values. ``apply`` applies the setting of the configuration.
#
# This template is the matrix product with a tile of sums. Its knobs are the tile's rows and columns, the
# number of steps of the reduction that are unrolled, and whether ``B`` is first copied to a contiguous block.


@autotune.template("tutorial.matmul")
def matmul(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """``C = A B`` of ``n`` by ``n`` elements."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    cfg = autotune.get_config()
    cfg.define_split("rows", C.op.axis[0], num_outputs=2, max_factor=32)
    cfg.define_split("columns", C.op.axis[1], num_outputs=2, max_factor=128)
    cfg.define_split("steps", k, num_outputs=2, max_factor=8)
    cfg.define_knob("copy_B", [False, True])

    sums = s.cache_write(C, "local")
    i_outer, i = cfg["rows"].apply(s, C, C.op.axis[0])
    j_outer, j = cfg["columns"].apply(s, C, C.op.axis[1])
    s[C].reorder(j_outer, i_outer, i, j)
    s[C].vectorize(j)
    s[sums].compute_at(s[C], i_outer)
    i, j = s[sums].op.axis
    k_outer, k_inner = cfg["steps"].apply(s, sums, s[sums].op.reduce_axis[0])
    s[sums].reorder(k_outer, k_inner, i, j)
    s[sums].unroll(k_inner)
    s[sums].unroll(i)
    s[sums].vectorize(j)
    if cfg["copy_B"].val:
        block = s.cache_read(B, "global", [sums])
        s[block].compute_at(s[C], j_outer)
        s[block].vectorize(s[block].op.axis[1])
    return s, [A, B, C]


# %%
# A *task* is a template with its arguments. Its *space* is the set of all combinations of settings.

task = autotune.create("tutorial.matmul", (options.size,))
print(task.config_space)

# %%
# Why not just try a few?
# -----------------------
#
# Let us measure a small part of the space: tiles of several heights and widths, with the other knobs fixed.
# Light is slow, dark is fast. There is a region of good tiles. Small tiles need too many loads for each
# multiply-add, and large ones need more registers than there are. On another processor, the good tiles are
# different ones.

rows, columns = (1, 2, 4, 8, 16), (8, 16, 32, 64)
a, b = np.random.default_rng(0).standard_normal((2, options.size, options.size), "float32")


def of_tile(height: int, width: int) -> Any:
    """The configuration with tiles of ``height`` by ``width``, 1 step at a time, without a copy."""
    space = task.config_space
    for index in range(len(space)):
        config = space.get(index)
        is_tile = config["rows"].size[-1] == height and config["columns"].size[-1] == width
        if is_tile and config["steps"].size[-1] == 1 and not config["copy_B"].val:
            return config
    raise AssertionError(f"no tile of {height} by {width}")


rates = np.zeros((len(rows), len(columns)))
for (y, x), _ in np.ndenumerate(rates):
    schedule, arguments = task.instantiate(of_tile(rows[y], columns[x]))
    function = tvmlite.build(schedule, arguments)
    rates[y, x] = task.flop / min(function.time(a, b, budget=0.02).runs) / 1e9
figure = plt.figure(figsize=(4.6, 3.2))
axes = figure.gca()
image = axes.imshow(rates, cmap="YlGnBu")
for (y, x), rate in np.ndenumerate(rates):
    axes.text(
        x, y, f"{rate:.0f}", ha="center", va="center", color="white" if rate > rates.max() / 2 else "black"
    )
axes.set_xticks(range(len(columns)), columns)
axes.set_yticks(range(len(rows)), rows)
axes.set_xlabel("columns of a tile")
axes.set_ylabel("rows of a tile")
axes.set_title("GFLOP/s by tile")

# %%
# Two tuners
# ----------
#
# Now we let tuners search the whole space. ``random`` tries settings at random. ``xgboost`` fits a model to
# its measurements, which predicts from features of the loops how fast a setting is. Then it measures the
# settings that the model predicts to be the fastest, and learns from the results. Each candidate runs in a
# separate process, and its result is compared with that of the plain loops before its time counts.

folder = Path(tempfile.mkdtemp())
results = {}
with warnings.catch_warnings(record=True) as notes:  # of other programs, which make times less certain
    for name in ("random", "xgboost"):
        log = folder / f"{name}.jsonl"
        (results[name],) = autotune.tune(task, log, trials=options.trials, tuner=name, seed=1, compare=False)
for note in {str(one.message) for one in notes}:
    print("note:", note)
for name, result in results.items():
    progress = result.progress
    rate = progress.best_flops / 1e9
    print(f"{name:8} best {rate:6.1f} GFLOP/s, {progress.trials} trials, failed: {progress.failures}")

# %%
# This is the usual picture to compare tuners: the best rate so far, over the number of trials (measurements).
# The dots are the single trials; a candidate that failed is a dot at 0. Random search finds a good setting
# now and then. Nearly all settings that the learned model proposes are good, which is important where good
# settings are rare.

limit = peak() / 1e9
figure = plt.figure(figsize=(6.5, 3.2))
axes = figure.gca()
for (name, result), colour in zip(results.items(), (SECOND, OURS), strict=True):
    lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    trials = [task.flop / np.median(line["costs"]) / 1e9 if line["costs"] else 0.0 for line in lines]
    axes.plot(range(1, len(trials) + 1), trials, ".", color=colour)
    best = task.flop / np.array(result.progress.curve) / 1e9
    axes.step(range(1, len(best) + 1), best, where="post", color=colour, label=f"{name}: best so far")
axes.axhline(limit, color=LIMIT, linestyle="--", label="peak of one core")
axes.set_xlabel("trials")
axes.set_ylabel("GFLOP/s")
axes.set_ylim(0)
axes.set_title("random search against a learned model")
axes.legend(frameon=False, loc="lower right")

# %%
# Using the result
# ----------------
#
# All measurements are stored in a file, one line of JSON for each. Inside ``apply_history_best``, the
# template uses the best of them; otherwise it uses its default.

print((folder / "xgboost.jsonl").read_text().splitlines()[0][:300], "...")
default = tvmlite.build(*matmul(options.size), name="default_matmul")
with autotune.apply_history_best(folder / "xgboost.jsonl"):
    tuned = tvmlite.build(*matmul(options.size), name="tuned_matmul")
times = {}
for name, function in {"default": default, "tuned": tuned}.items():
    np.testing.assert_allclose(function(a, b), a @ b, rtol=1e-3, atol=1e-3)
    times[name] = task.flop / min(function.time(a, b, budget=0.2).runs) / 1e9
bars(times, "GFLOP/s", "the default of the template, and the best found", limit=limit, colours=[PLAIN, OURS])
show()

# %%
# A tuner is only as good as its template. For example, no setting of these knobs uses several threads. If a
# template returns only tensors, ``return [A, B, C]``, a schedule is generated, with knobs for threads as
# well.
#
# Exercises
# ---------
#
# 1. Add a knob for the order of the two outer loops: ``cfg.define_reorder("order", [i_outer, j_outer],
#    policy="all")``. Does the best setting use it?
# 2. Tune ``--size 128`` and ``--size 512``. Are the best settings for one size also good for the other?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Apply it by ``cfg["order"].apply(s, C, [i_outer, j_outer])`` and attach ``sums`` to the inner one of the
#    two loops. ``print(result)`` shows the best setting. If both matrices fit into the second-level cache,
#    the order hardly matters.
# 2. Seldom. A small ``B`` stays in a near cache, so copying it takes more time than it saves. The rows of a
#    large ``B`` are far apart in memory, and a copy makes reading them faster. The size of a tile is limited
#    by the registers, so the best tiles agree more often.
#
# .. raw:: html
#
#     </details>
