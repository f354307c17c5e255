"""A convolution, step by step
===========================

This tutorial improves a 3 x 3 convolution of images, from plain loops to nearly the peak of a core. Each step
changes one thing, is compared with numpy, and timed.

Run it::

    python tutorials/08_convolution.py
    python tutorials/08_convolution.py --size 28 --channels 128

`The tutorial on matrix products <05_gemm.html>`_ shows the same ideas for a simpler formula.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from pictures import LIMIT, OURS, PLAIN, SECOND, bars, peak, plt, show

import tvmlite
from tvmlite import te
from tvmlite.machine.target import Target

parser = argparse.ArgumentParser(description="A convolution from plain loops to the machine's limit")
parser.add_argument("--size", type=int, default=56, help="rows and columns of the image; a multiple of 14")
parser.add_argument("--channels", type=int, default=64, help="of input and output; a multiple of 32")
options = parser.parse_args()
SIZE, CHANNELS = options.size, options.channels
TARGET = Target.parse("native")
LANES = TARGET.lanes("float32")
WORK = 2 * 9 * CHANNELS**2 * SIZE**2
random = np.random.default_rng(0)

# %%
# The formula
# -----------
#
# An output pixel of channel ``o`` is a sum over all input channels ``c`` and a window of 3 x 3 pixels, each
# multiplied by a weight. Windows at the border extend beyond the image, so the image is first padded with a
# frame of zeros: ``padded``.


def formula() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """The image, the weights, the padded image and the result; channels come first."""
    image = te.placeholder((CHANNELS, SIZE, SIZE), name="image")
    weight = te.placeholder((CHANNELS, CHANNELS, 3, 3), name="weight")
    padded = te.compute(
        (CHANNELS, SIZE + 2, SIZE + 2),
        lambda c, y, x: te.if_then_else(
            te.all(y >= 1, y <= SIZE, x >= 1, x <= SIZE), image[c, y - 1, x - 1], 0.0
        ),
        name="padded",
    )
    c, v, u = (te.reduce_axis((0, extent), name) for extent, name in ((CHANNELS, "c"), (3, "v"), (3, "u")))
    result = te.compute(
        (CHANNELS, SIZE, SIZE),
        lambda o, y, x: te.sum(padded[c, y + v, x + u] * weight[o, c, v, u], axis=[c, v, u]),
        name="result",
    )
    return image, weight, padded, result


# %%
# Step 1: plain loops
# -------------------
#
# The pixels are computed one after the other. The sum of each is one long chain of additions, and each
# addition waits for the one before.


def plain() -> tuple[te.Schedule, list[te.Tensor]]:
    """The plain loops of the formula."""
    image, weight, _, result = formula()
    return te.create_schedule(result.op), [image, weight, result]


print(tvmlite.lower(*plain()))

# %%
# Step 2: rows in vectors
# -----------------------
#
# Neighbouring pixels of a row become the lanes of vectors, so the loop over ``x`` is moved inside the
# reduction. Now 16 sums (or 8, or 4, depending on the width of the machine's vectors) are computed at once.
# But each addition loads the sums from memory and stores them again.


def in_rows() -> tuple[te.Schedule, list[te.Tensor]]:
    """Pixels of a row are lanes."""
    image, weight, _, result = formula()
    s = te.create_schedule(result.op)
    o, y, x = result.op.axis
    x_outer, lanes = s[result].split(x, factor=LANES)
    s[result].reorder(o, y, x_outer, *result.op.reduce_axis, lanes)
    s[result].vectorize(lanes)
    return s, [image, weight, result]


# %%
# Step 3: channels in blocks
# --------------------------
#
# Rows are not well suited for vectors. Their length is seldom a multiple of the vector width, and
# neighbouring windows are shifted by one pixel, so loads are not aligned. Channels are better: their number
# is nearly always a multiple of 16. So the *layout* (the order in memory) changes: 16 channels of one pixel
# are next to each other. This layout is called ``NCHW16c``. The weights are rearranged to match, once, before
# the model runs.


def blocked_formula() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """The same convolution with channels in blocks of ``LANES``."""
    blocks = CHANNELS // LANES
    image = te.placeholder((blocks, SIZE, SIZE, LANES), name="image")
    weight = te.placeholder((blocks, blocks, 3, 3, LANES, LANES), name="weight")
    padded = te.compute(
        (blocks, SIZE + 2, SIZE + 2, LANES),
        lambda c, y, x, lane: te.if_then_else(
            te.all(y >= 1, y <= SIZE, x >= 1, x <= SIZE), image[c, y - 1, x - 1, lane], 0.0
        ),
        name="padded",
    )
    extents = ((blocks, "c"), (3, "v"), (3, "u"), (LANES, "i"))
    c, v, u, i = (te.reduce_axis((0, extent), name) for extent, name in extents)
    result = te.compute(
        (blocks, SIZE, SIZE, LANES),
        lambda o, y, x, lane: te.sum(
            padded[c, y + v, x + u, i] * weight[o, c, v, u, i, lane], axis=[c, v, u, i]
        ),
        name="result",
    )
    return image, weight, padded, result


def in_blocks() -> tuple[te.Schedule, list[te.Tensor]]:
    """Channels are lanes."""
    image, weight, padded, result = blocked_formula()
    s = te.create_schedule(result.op)
    o, y, x, lane = result.op.axis
    s[padded].vectorize(padded.op.axis[3])
    s[result].reorder(o, y, x, *result.op.reduce_axis, lane)
    s[result].vectorize(lane)
    return s, [image, weight, result]


# %%
# Step 4: a tile of sums in registers
# -----------------------------------
#
# The next step is about the sums. ``cache_write`` gives a tile of sums a separate buffer: several pixels by
# two blocks of channels. When its loops are completely unrolled, the buffer is kept in registers. In each
# step of the reduction, two vectors of weights are loaded, and each is used for all pixels of the tile; each
# number of the image is used for both. The sums are stored to memory once, at the end.
#
# How many pixels should a tile have? All sums must fit into the registers, and some registers must be left
# for weights: 14 x 2 sums for 32 registers, or 4 x 2 for 16.

PIXELS, BLOCKS = (14, 2) if TARGET.vector_registers >= 32 else (4, 2)


def register_tile(s: te.Schedule, result: te.Tensor, pixels: int = PIXELS) -> tuple[Any, Any]:
    """Schedule ``result`` in tiles of sums. Returns its loops over blocks of channels, and over rows."""
    sums = s.cache_write(result, "local")
    o, y, x, lane = s[result].op.axis
    o, o_inner = s[result].split(o, factor=BLOCKS)
    x, x_inner = s[result].split(x, factor=pixels)
    s[result].reorder(o, y, x, x_inner, o_inner, lane)
    s[result].unroll(x_inner)
    s[result].unroll(o_inner)
    s[result].vectorize(lane)
    s[sums].compute_at(s[result], x)
    o_tile, y_tile, x_tile, lane = s[sums].op.axis
    s[sums].reorder(y_tile, *s[sums].op.reduce_axis, x_tile, o_tile, lane)
    s[sums].unroll(x_tile)
    s[sums].unroll(o_tile)
    s[sums].vectorize(lane)
    return o, y


def in_registers() -> tuple[te.Schedule, list[te.Tensor]]:
    """Sums stay in registers."""
    image, weight, padded, result = blocked_formula()
    s = te.create_schedule(result.op)
    s[padded].vectorize(padded.op.axis[3])
    register_tile(s, result)
    return s, [image, weight, result]


print(tvmlite.lower(*in_registers()))

# %%
# Step 5: pad some rows at a time
# -------------------------------
#
# So far the whole padded image is written first, and read again later. With ``compute_at``, a few rows are
# padded just before they are needed, and are read while they are in a near cache. For this, the loop over
# blocks of rows becomes the outermost one, and all output channels of these rows are computed inside it.


def padded_rows(pixels: int = PIXELS) -> tuple[te.Schedule, list[te.Tensor]]:
    """Pad some rows just before their use."""
    image, weight, padded, result = blocked_formula()
    s = te.create_schedule(result.op)
    o, y = register_tile(s, result, pixels)
    y_outer, y_inner = s[result].split(y, factor=14)
    s[result].reorder(y_outer, o, y_inner)
    s[padded].compute_at(s[result], y_outer)
    s[padded].vectorize(s[padded].op.axis[3])
    return s, [image, weight, result]


# %%
# All steps, timed
# ----------------
#
# The reference is nine matrix products in numpy, one for each position in the window. Each step is run many
# times, and the fastest run is taken, because other programs disturbed it least.


def reference(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The convolution in plain numpy, channels first."""
    framed = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    total = np.zeros((CHANNELS, SIZE * SIZE), "float32")
    for v in range(3):
        for u in range(3):
            total += weight[:, :, v, u] @ framed[:, v : v + SIZE, u : u + SIZE].reshape(CHANNELS, -1)
    return total.reshape(CHANNELS, SIZE, SIZE)


def blocks_of(array: np.ndarray) -> np.ndarray:
    """``(c, y, x)`` with channels in blocks: ``(c / LANES, y, x, LANES)``."""
    split = array.reshape(-1, LANES, *array.shape[1:])
    return np.ascontiguousarray(np.moveaxis(split, 1, -1))


def weight_blocks(weight: np.ndarray) -> np.ndarray:
    """``(o, c, v, u)`` as ``(o / LANES, c / LANES, v, u, LANES of c, LANES of o)``."""
    split = weight.reshape(CHANNELS // LANES, LANES, CHANNELS // LANES, LANES, 3, 3)
    return np.ascontiguousarray(split.transpose(0, 2, 4, 5, 3, 1))


image = random.standard_normal((CHANNELS, SIZE, SIZE), "float32")
weight = random.standard_normal((CHANNELS, CHANNELS, 3, 3), "float32")
expected = reference(image, weight)
STEPS: tuple[Callable[[], tuple[te.Schedule, list[te.Tensor]]], ...] = (
    plain,
    in_rows,
    in_blocks,
    in_registers,
    padded_rows,
)
rates: dict[str, float] = {}
for step in STEPS:
    function = tvmlite.build(*step(), name=step.__name__)
    if step in (plain, in_rows):
        arrays, wanted = (image, weight), expected
    else:
        arrays, wanted = (blocks_of(image), weight_blocks(weight)), blocks_of(expected)
    np.testing.assert_allclose(function(*arrays), wanted, rtol=1e-3, atol=1e-2)
    seconds = min(function.time(*arrays, budget=0.2).runs)
    rates[step.__name__] = WORK / seconds / 1e9
    print(f"{step.__name__:14} {seconds * 1e3:8.3f} ms {rates[step.__name__]:7.1f} GFLOP/s", flush=True)

# %%
# The peak is measured on the same core, by a loop of multiply-adds in registers that reads no memory.

limit = peak() / 1e9
print(f"peak {limit:.1f} GFLOP/s; the last step reaches {rates['padded_rows'] / limit:.0%} of it")
colours = [PLAIN, SECOND, SECOND, OURS, OURS]
bars(rates, "GFLOP/s", f"3 x 3, {CHANNELS} channels, {SIZE} x {SIZE}", limit=limit, colours=colours)

# %%
# Why tiles have the size they have
# ---------------------------------
#
# In step 4 we chose the number of pixels in a tile. Here are other numbers, with the count of registers that
# their sums need. With too few sums, a multiply-add has to wait for the one before. With too many, some sums
# are stored to memory and loaded again: they are *spilled*.


def rate_of(pixels: int) -> float:
    """GFLOP/s of step 5 with tiles of ``pixels`` pixels."""
    function = tvmlite.build(*padded_rows(pixels), name="tile")
    return WORK / min(function.time(blocks_of(image), weight_blocks(weight), budget=0.1).runs) / 1e9


tiles = [pixels for pixels in (1, 2, 4, 7, 14) if pixels * BLOCKS <= 2 * TARGET.vector_registers] + [28]
found = {pixels: rate_of(pixels) for pixels in tiles if pixels <= SIZE}
figure = plt.figure(figsize=(6, 2.8))
axes = figure.gca()
axes.plot([pixels * BLOCKS for pixels in found], list(found.values()), "o-", color=OURS)
axes.axhline(limit, color=LIMIT, linestyle="--", label="peak")
axes.axvline(TARGET.vector_registers, color=PLAIN, linestyle=":", label="registers of this processor")
axes.set_xlabel("registers that the sums need")
axes.set_ylabel("GFLOP/s")
axes.set_ylim(0)
axes.legend(frameon=False, loc="lower right")
for pixels, rate in found.items():
    print(f"{pixels:3} pixels: {pixels * BLOCKS:3} registers of sums, {rate:6.1f} GFLOP/s")
show()

# %%
# tvmlite's own schedules of convolutions choose such numbers from a description of the processor, and a tuner
# tries others: see the next tutorial, `a template with knobs <09_template.html>`_.
#
# Exercises
# ---------
#
# 1. Add a step with threads: which loop should be parallel? Compare with ``peak(threads=2)``.
# 2. Make it a convolution with stride 2. Which accesses change, and what does it do to the speed of step 2
#    compared with step 3?
#
# .. raw:: html
#
#     <details><summary>Answers</summary>
#
# 1. ``y_outer`` of step 5. Then each thread pads the rows that it needs, and the 4 pieces of 14 rows are
#    divided evenly between two threads.
# 2. The accesses to the image become ``padded[c, 2 * y + v, 2 * x + u]``. In step 2 the lanes are pixels of a
#    row, so each vector needs every second element: more loads, or shuffles. In step 3 the lanes are
#    channels, which are still neighbours, so nothing becomes slower.
#
# .. raw:: html
#
#     </details>
