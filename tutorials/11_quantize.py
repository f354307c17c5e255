"""Quantizing a model
==================

With 8 bits instead of 32, the weights of a model take a quarter of the memory, and many processors multiply
bytes faster than floats. The price is rounding. This tutorial measures ranges, quantizes a small network, and
explains the report.

Run it::

    python tutorials/11_quantize.py
"""

from __future__ import annotations

import numpy as np
from pictures import LIMIT, OURS, PLAIN, SECOND, plt, show

import tvmlite
from tvmlite import relay
from tvmlite.relay.quantize.annotate import quantize_annotate
from tvmlite.relay.quantize.calibrate import observe, ranges_of

random = np.random.default_rng(0)

# %%
# Steps instead of reals
# ----------------------
#
# A byte has 256 values. A *scale* and a *zero point* define the real numbers that they represent: ``real =
# scale * (byte - zero)``. So a range of real numbers is divided into 255 steps. A number between two steps is
# rounded, and a number outside the range is *clipped* to its end. The picture shows this for one range:

reals = np.linspace(-1.5, 2.5, 400).astype("float32")
low, high = -1.0, 2.0
scale = (high - low) / 15  # only 16 levels, so that steps can be seen
levels = np.clip(np.round(reals / scale) + round(-low / scale), 0, 15)
rounded = scale * (levels - round(-low / scale))
figure = plt.figure(figsize=(6, 2.6))
axes = figure.gca()
axes.plot(reals, reals, color=PLAIN, label="float32")
axes.plot(reals, rounded, color=OURS, label="in 16 steps")
axes.plot(reals, rounded - reals, color=LIMIT, linewidth=1, label="error: rounding inside, clipping outside")
axes.set_xlabel("value")
axes.legend(frameon=False, fontsize=8)

# %%
# A network and typical inputs
# ----------------------------
#
# The weights of the network are random, but it has one property of real networks: one channel has much larger
# values than the others, an *outlier*. Typical inputs are needed to find the ranges of the values.


def weight(*shape: int) -> np.ndarray:
    """Random numbers, scaled so that sums of products stay near 1."""
    return random.standard_normal(shape, "float32") * np.float32(np.prod(shape[1:]) ** -0.5)


outlier = weight(32, 16, 3, 3)
outlier[5] *= 12
x = relay.var("x", shape=(1, 16, 24, 24))
y = relay.nn.relu(relay.nn.conv2d(x, relay.const(weight(16, 16, 3, 3)), padding=1))
y = relay.nn.relu(relay.nn.conv2d(y, relay.const(outlier), padding=1))
y = relay.nn.relu(relay.nn.conv2d(y, relay.const(weight(32, 32, 3, 3)), padding=1))
y = relay.reshape(relay.nn.max_pool2d(y, (4, 4), (4, 4)), (1, -1))
y = relay.nn.dense(y, relay.const(weight(10, 1152)))
module = relay.Module.from_expr(relay.Function([x], y))
examples = [{"x": random.standard_normal((1, 16, 24, 24), "float32")} for _ in range(16)]

# %%
# Calibration: which range?
# -------------------------
#
# The tensors that a layer is to read in bytes are marked, and the float model is run on the examples, to
# count how often each value occurs in these tensors. Then a range is chosen for each. ``min_max`` includes
# all values: nothing is clipped, but if the largest value is far from the others, the steps are too wide for
# these. ``percentile`` leaves out a small part of the largest and smallest values. ``mse`` minimizes the
# squared error of rounding and clipping together; it is the default. ``entropy`` preserves the shape of the
# distribution.

marked = quantize_annotate(module)
histograms = observe(marked, examples)
methods = {"min_max": PLAIN, "percentile": SECOND, "mse": OURS, "entropy": LIMIT}
chosen = {method: ranges_of(marked, histograms, method) for method in methods}
tensor = max(histograms, key=lambda name: histograms[name].most)
histogram = histograms[tensor]
figure = plt.figure(figsize=(7, 3))
axes = figure.gca()
counts = histogram.counts.reshape(256, -1).sum(axis=1)
edges = np.linspace(histogram.least, histogram.most, 257)
axes.bar(edges[:-1], np.maximum(counts, 0.5), np.diff(edges), align="edge", color="#d5dbe1", bottom=0.5)
axes.set_yscale("log")
for method, colour in methods.items():
    span = chosen[method][tensor]
    axes.axvline(span.high, color=colour, label=f"{method}: up to {span.high:.3g}")
    print(f"{method:10} {span.low:8.3f} to {span.high:8.3f}, {span.clipped:.3%} of the elements clipped")
axes.set_xlabel(f"value of the tensor {tensor!r}")
axes.set_ylabel("how often")
axes.set_title("where each method cuts")
axes.legend(frameon=False, fontsize=8)

# %%
# Quantize, and read the report
# -----------------------------
#
# ``tvmlite.quantize`` does all of this. With ``measure=False``, layers are not timed, so the result depends
# only on the data.

quantized = tvmlite.quantize(module, examples, measure=False)
print(quantized.report)

# %%
# Each row is a layer.
#
# - ``SNR``, the signal-to-noise ratio, compares the layer's result with the error caused by quantizing its
#   operands. 20 dB mean an error of a tenth, 40 dB of a hundredth. This is the most important number.
# - ``clipped`` is the fraction of the data outside the range.
#
# The picture compares two ways to choose ranges, for each layer.

reports = {
    method: tvmlite.quantize(module, examples, measure=False, calibration=method).report
    for method in ("min_max", "mse")
}
figure = plt.figure(figsize=(6.5, 2.8))
axes = figure.gca()
names = [row.name for row in reports["mse"].layers]
places = np.arange(len(names))
for offset, (method, report) in zip((-0.2, 0.2), reports.items(), strict=True):
    ratios = [row.snr or 0.0 for row in report.layers]
    drawn = axes.barh(places + offset, ratios, 0.38, color=methods[method], label=method)
    axes.bar_label(drawn, [f"{ratio:.1f}" for ratio in ratios], padding=3, fontsize=8)
axes.axvline(20, color=LIMIT, linestyle="--", linewidth=1)
axes.text(20.5, -0.55, "20 dB: an error of a tenth", color=LIMIT, fontsize=8)
axes.set_yticks(places, names)
axes.invert_yaxis()
axes.set_xlabel("signal to noise, dB")
axes.legend(frameon=False)

# %%
# The result is a module like any other. It has ``qnn.quantize`` and ``qnn.dequantize`` around the layers, and
# the compiler generates kernels that compute in bytes from this form.

lib, exact = tvmlite.compile(quantized.module), tvmlite.compile(module)
difference = [lib(example["x"]) - exact(example["x"]) for example in examples]
size = [exact(example["x"]) for example in examples]
print(f"outputs are off by {np.linalg.norm(difference) / np.linalg.norm(size):.2%} of their norm")
print("\n".join(str(quantized.module).splitlines()[:14]))

# %%
# Is it worth it?
# ---------------
#
# Without ``measure=False``, each layer is timed in float32 and in bytes, and stays in float32 unless it is
# faster in bytes. The report shows both times. ``min_snr`` and ``max_drop`` are requirements on the accuracy:
# layers that would lose too much stay in float32.

timed = tvmlite.quantize(module, examples)
print(timed.report)
careful = tvmlite.quantize(module, examples, measure=False, min_snr=36)
print("\nwith min_snr=36:", [(row.name, row.precision) for row in careful.report.layers])
show()

# %%
# Exercises
# ---------
#
# 1. Make the outlier 100 times as large. Which calibration method becomes worst? What does
#    ``per_channel=False`` do?
# 2. Write a ``metric`` that counts how often the largest output is the same as the float model's, and use
#    ``max_drop=0``.
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. ``min_max``: its range must include the outlier, so only few steps are left for all other values. With
#    ``per_channel=False`` the weights of all output channels have one scale, which suits only the large
#    channel, so the others lose precision.
# 2. The argument of ``metric`` is a function that runs a model; `the page on quantization
#    <../quantization.html>`_ shows exactly this metric. With ``max_drop=0``, layers are returned to float32,
#    the worst first, until the metric is as good as that of the float model.
#
# .. raw:: html
#
#     </details>
