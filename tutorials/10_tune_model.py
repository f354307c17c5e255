"""Tuning a whole model
====================

``tvmlite.tune`` searches for schedules for all kernels of a model, and keeps only those that make the whole
model faster. Here it gets a few seconds for a small network. Ten minutes are usual for a real one.

Run it::

    pip install '.[docs]'
    python tutorials/10_tune_model.py
    python tutorials/10_tune_model.py --budget 2m
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
from pictures import OURS, PLAIN, SECOND, plt, show

import tvmlite
from tvmlite import relay

parser = argparse.ArgumentParser(description="Tune a small model")
parser.add_argument("--budget", default="9s", help='the time for tuning, such as "30s" or "10m"')
budget = parser.parse_args().budget
random = np.random.default_rng(0)

# %%
# A model
# -------
#
# Models usually come from ONNX files: ``relay.frontend.from_onnx("model.onnx")``. This one is built by hand,
# so that the tutorial needs no file. Its sizes are unusual on purpose: the rules that choose default
# schedules were made for common sizes.


def weight(*shape: int) -> relay.Constant:
    """A random constant, scaled so that sums of products stay near 1."""
    return relay.const(random.standard_normal(shape, "float32") * np.float32(np.prod(shape[1:]) ** -0.5))


x = relay.var("x", shape=(12, 300))
y = relay.nn.relu(relay.nn.dense(x, weight(500, 300)))
y = relay.nn.relu(relay.nn.dense(y, weight(77, 500)))
y = relay.nn.softmax(relay.nn.dense(y, weight(1000, 77)))
module = relay.Module.from_expr(relay.Function([x], y))
print(module)

# %%
# Its kernels
# -----------
#
# Compiling divides the graph into fused groups, and each becomes one kernel. The profile shows the time of
# each kernel. Tuning can gain most for the kernels that take most of the time.

default = tvmlite.compile(module)
data = random.standard_normal((12, 300), "float32")
expected = default(data)
print(default.profile(data))

# %%
# Tune
# ----
#
# Every fused group is a task. Tuning works in batches of measurements, and each batch goes to the task with
# the largest possible gain. The result of each candidate is compared with that of the plain loops. All
# measurements are written to the file ``records``.
#
# Two options are used here only because the budget is so small. With ``decisions=False``, choices about the
# graph, such as which operators are fused, are not changed. With ``tuner="random"``, candidates are proposed
# without delay; the default tuner learns which ones are promising, as `the tutorial before
# <09_template.html>`_ shows, but this takes time. If other programs keep the machine busy during the tuning,
# there is a warning; we collect these warnings here.

records = Path(tempfile.mkdtemp()) / "tune.jsonl"
with warnings.catch_warnings(record=True) as notes:
    tuned = tvmlite.tune(module, records=records, budget=budget, seed=0, decisions=False, tuner="random")
print(tuned)
print(len(records.read_text().splitlines()), "lines of records")
for note in {str(one.message) for one in notes}:
    print("note:", note)

# %%
# Alone, and in the model
# -----------------------
#
# The left picture shows the time of each kernel in the model, and measured *alone*: with the default
# schedule, and with the best candidate. The right one shows the important number: the time of a run of the
# model. The two do not always agree. A kernel that takes a small part of the time cannot make the model much
# faster. In the model, the inputs of a kernel were written by other kernels, so they are in other caches. And
# the fastest of many measurements was partly luck. So, at the end, the best candidates are tested in the
# model, in runs that alternate with the default. A candidate that is not significantly faster there is not
# used.

profiles = [default.profile(data).kernels for _ in range(20)]
names = list(default.kernel_labels)
in_model = np.min([[nanoseconds for _, nanoseconds in one] for one in profiles], axis=0) / 1e3
tried = {str(one).split(":")[0]: one.progress for one in tuned.kernels if one.progress.trials}
curves = [tried[name].curve if name in tried else [] for name in names]
series = {
    "default, in the model": (PLAIN, in_model),
    "default, alone": (SECOND, [curve[0] * 1e6 if curve else 0.0 for curve in curves]),
    "best, alone": (OURS, [curve[-1] * 1e6 if curve else 0.0 for curve in curves]),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 0.55 * len(names) + 1.4), width_ratios=[3, 1])
places = np.arange(len(names))
for offset, (name, (colour, costs)) in zip((-0.27, 0.0, 0.27), series.items(), strict=True):
    drawn = left.barh(places + offset, costs, 0.25, color=colour, label=name)
    left.bar_label(drawn, [f"{cost:.1f}" if cost else "not tried" for cost in costs], padding=3, fontsize=7)
left.set_yticks(places, names)
left.invert_yaxis()
left.set_xlabel("microseconds")
left.set_title("kernels")
left.legend(frameon=False, fontsize=8)
runs = [default.time(data, budget=0.2), tuned.lib.time(data, budget=0.2)]
drawn = right.bar(["default", "tuned"], [min(run.runs) * 1e6 for run in runs], color=[PLAIN, OURS], width=0.6)
right.bar_label(drawn, [f"{min(run.runs) * 1e6:.0f}" for run in runs], fontsize=8)
right.set_title("the model")
print(f"gain of the model: {tuned.gain:.2f}")
np.testing.assert_allclose(tuned.lib(data), expected, rtol=1e-3, atol=1e-5)

# %%
# Use the records
# ---------------
#
# ``compile`` uses the records. Its report says for each kernel where its schedule comes from, and why a
# default was kept. The same records give the same library, byte for byte, so keep the file with the model.

lib = tvmlite.compile(module, records=records)
print(lib.report)
show()

# %%
# The same on the command line:
#
# .. code-block:: sh
#
#     tvmlite tune model.onnx -o tune.jsonl --budget 10m
#     tvmlite compile model.onnx -o model.so --records tune.jsonl --report
#     tvmlite bench model.onnx --records tune.jsonl --against onnxruntime
#
# Exercises
# ---------
#
# 1. Run it with ``--budget 1m``. Which kernels become faster, and does the model?
# 2. Run the tuning again with the same file. What does it learn from the existing records?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. Look at ``print(tuned)``: it shows each kernel's trials and gain, and whether its new schedule is used.
#    The last line is the whole model. Single kernels often become faster; the gain of the model depends on
#    the part of its time that these kernels take.
# 2. The search starts with the existing records: its cost model learns from them, and decisions in the file
#    are not tried again. The schedules that were kept stay in use unless better ones are found.
#
# .. raw:: html
#
#     </details>
