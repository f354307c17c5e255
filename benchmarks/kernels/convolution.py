"""Convolutions of float32 with channels in blocks of one vector."""

from __future__ import annotations

import numpy as np

from kernels.case import Case, random
from kernels.machine import LANES, TARGET, by_registers
from tvmlite import te


def blocks_of(image: np.ndarray) -> np.ndarray:
    """An image of channels, height and width with its channels in blocks, the block innermost."""
    _, height, width = image.shape
    return np.ascontiguousarray(image.reshape(-1, LANES, height, width).transpose(0, 2, 3, 1))


def weight_blocks(weight: np.ndarray) -> np.ndarray:
    """A weight with output and input channels in blocks, the output block innermost."""
    outputs, inputs, height, width = weight.shape
    split = weight.reshape(outputs // LANES, LANES, inputs // LANES, LANES, height, width)
    return np.ascontiguousarray(split.transpose(0, 2, 4, 5, 3, 1))


def reference(image: np.ndarray, weight: np.ndarray, pad: int) -> np.ndarray:
    """The convolution in numpy, channels first."""
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], (1, 2))
    return np.tensordot(weight, windows, ((1, 2, 3), (0, 3, 4)))


def three_by_three(
    size: int = 56, channels: int = 64, blocks: int = 2, rows: int = 28, parallel: bool = False
) -> Case:
    """Padded by one, with bias and relu computed as the tiles are stored."""
    along = by_registers(14, 6)
    count = channels // LANES
    data = te.placeholder((count, size, size, LANES), "float32", "D")
    weight = te.placeholder((count, count, 3, 3, LANES, LANES), "float32", "W")
    bias = te.placeholder((count, LANES), "float32", "B")
    padded = te.compute(
        (count, size + 2, size + 2, LANES),
        lambda c, y, x, lane: te.if_then_else(
            te.all(y >= 1, y <= size, x >= 1, x <= size), data[c, y - 1, x - 1, lane], 0.0
        ),
        "P",
    )
    c, i = te.reduce_axis((0, count), "c"), te.reduce_axis((0, LANES), "i")
    v, u = te.reduce_axis((0, 3), "v"), te.reduce_axis((0, 3), "u")
    sums = te.compute(
        (count, size, size, LANES),
        lambda o, y, x, lane: te.sum(padded[c, y + v, x + u, i] * weight[o, c, v, u, i, lane], [c, v, u, i]),
        "S",
    )
    result = te.compute(
        sums.shape, lambda o, y, x, lane: te.max(sums[o, y, x, lane] + bias[o, lane], 0.0), "R"
    )
    s = te.create_schedule(result)
    y = _three_by_three_tiles(s, padded, sums, result, along, blocks, rows)
    if parallel:
        s[result].parallel(y)
    d, w, b = random(channels, size, size), random(channels, channels, 3, 3, seed=1), random(channels, seed=2)
    want = blocks_of(np.maximum(reference(d, w, 1) + b[:, None, None], 0))
    inputs = [blocks_of(d), weight_blocks(w), b.reshape(count, LANES)]
    written_in = (_three_by_three_tiles, _accumulate)
    work = 2.0 * 9 * size**2 * channels**2
    return Case(s, [data, weight, bias, result], inputs, want, work, written_in=written_in)


def _three_by_three_tiles(
    s: te.Schedule,
    padded: te.Tensor,
    sums: te.Tensor,
    result: te.Tensor,
    along: int,
    blocks: int,
    rows: int,
) -> te.IterVar:
    """Pad several rows, then compute them in tiles of ``along`` pixels; returns the loop over row blocks."""
    o, y, x, lane = s[result].op.axis
    o, o_inner = s[result].split(o, blocks)
    y, y_inner = s[result].split(y, rows)
    x, x_inner = s[result].split(x, along)
    s[result].reorder(y, o, y_inner, x, x_inner, o_inner, lane)
    s[padded].compute_at(s[result], y)
    s[padded].vectorize(s[padded].op.axis[3])
    _accumulate(s, sums, result, x, [x_inner, o_inner], lane, list(s[sums].op.reduce_axis))
    return y


def _accumulate(s, sums, host, place, unrolled, lane, reduces) -> None:
    """Keep the sums of a tile of ``host`` in registers at the loop ``place``: pixels outside, channels
    inside."""
    for axis in unrolled:
        s[host].unroll(axis)
    s[host].vectorize(lane)
    s[sums].compute_at(s[host], place)
    o, *outer, x, lane = s[sums].op.axis
    s[sums].reorder(*outer, *reduces, x, o, lane)
    s[sums].fuse(*reduces[:-1])
    s[sums].unroll(x)
    s[sums].unroll(o)
    s[sums].vectorize(lane)


def one_by_one(size: int = 14, inputs: int = 1024, outputs: int = 256, blocks: int = 2) -> Case:
    """All pixels in one row; each scalar of the data is multiplied with ``blocks`` blocks of output channels.

    Processors with 16 registers have second-level caches of 256 or 512 KB, which hold the data of few pixels.
    """
    pixels = size * size
    along, stretch = by_registers((14, pixels), (6, 48))
    data = te.placeholder((inputs // LANES, pixels, LANES), "float32", "D")
    weight = te.placeholder((outputs // LANES, inputs // LANES, LANES, LANES), "float32", "W")
    c, i = te.reduce_axis((0, inputs // LANES), "c"), te.reduce_axis((0, LANES), "i")
    result = te.compute(
        (outputs // LANES, pixels, LANES),
        lambda o, x, lane: te.sum(data[c, x, i] * weight[o, c, i, lane], [c, i]),
        "R",
    )
    s = te.create_schedule(result)
    _one_by_one_tiles(s, result, along, blocks, stretch)
    d, w = random(inputs, size, size), random(outputs, inputs, 1, 1, seed=1)
    want = blocks_of(reference(d, w, 0)).reshape(outputs // LANES, pixels, LANES)
    arrays = [blocks_of(d).reshape(-1, pixels, LANES), weight_blocks(w)[:, :, 0, 0]]
    written_in = (_one_by_one_tiles, _accumulate)
    work = 2.0 * pixels * inputs * outputs
    return Case(s, [data, weight, result], arrays, want, work, written_in=written_in)


def _one_by_one_tiles(s: te.Schedule, result: te.Tensor, along: int, blocks: int, stretch: int) -> None:
    """Compute tiles of ``along`` pixels by ``blocks`` blocks of channels, all channels of ``stretch`` pixels
    at a time."""
    sums = s.cache_write(result, "local")
    o, x, lane = s[result].op.axis
    o, o_inner = s[result].split(o, blocks)
    part, x = s[result].split(x, stretch)
    x, x_inner = s[result].split(x, along)
    s[result].reorder(part, o, x, x_inner, o_inner, lane)
    _accumulate(s, sums, result, x, [x_inner, o_inner], lane, list(s[sums].op.reduce_axis))


def depthwise(size: int = 112, channels: int = 32, along: int = 8) -> Case:
    """A depthwise convolution, three by three, padded by one."""
    count = channels // LANES
    data = te.placeholder((count, size, size, LANES), "float32", "D")
    weight = te.placeholder((count, 3, 3, LANES), "float32", "W")
    padded = te.compute(
        (count, size + 2, size + 2, LANES),
        lambda c, y, x, lane: te.if_then_else(
            te.all(y >= 1, y <= size, x >= 1, x <= size), data[c, y - 1, x - 1, lane], 0.0
        ),
        "P",
    )
    v, u = te.reduce_axis((0, 3), "v"), te.reduce_axis((0, 3), "u")
    result = te.compute(
        (count, size, size, LANES),
        lambda c, y, x, lane: te.sum(padded[c, y + v, x + u, lane] * weight[c, v, u, lane], [v, u]),
        "R",
    )
    s = te.create_schedule(result)
    _depthwise_tiles(s, padded, result, along)
    d, w = random(channels, size, size), random(channels, 3, 3, seed=1)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(d, ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2))
    want = blocks_of(np.einsum("chwvu,cvu->chw", windows, w, optimize=True).astype("float32"))
    arrays = [blocks_of(d), np.ascontiguousarray(w.reshape(count, LANES, 3, 3).transpose(0, 2, 3, 1))]
    return Case(
        s,
        [data, weight, result],
        arrays,
        want,
        2.0 * 9 * channels * size**2,
        peer_inputs={"x": d[None], "w": w[:, None]},
        written_in=(_depthwise_tiles,),
    )


def doubled(size: int = 112, channels: int = 32, along: int = 8) -> Case:
    """The data movement of ``depthwise`` without its arithmetic: read, double and write each element."""
    count = channels // LANES
    data = te.placeholder((count, size, size, LANES), "float32", "D")
    result = te.compute(data.shape, lambda c, y, x, lane: data[c, y, x, lane] * 2.0, "R")
    s = te.create_schedule(result)
    _doubled_tiles(s, result, along)
    d = blocks_of(random(channels, size, size))
    return Case(s, [data, result], [d], d * 2, 8.0 * d.size, written_in=(_doubled_tiles,))


def _doubled_tiles(s: te.Schedule, result: te.Tensor, along: int) -> None:
    """Process ``along`` pixels per iteration."""
    *_, x, lane = s[result].op.axis
    _, x_inner = s[result].split(x, along)
    s[result].unroll(x_inner)
    s[result].vectorize(lane)


def _depthwise_tiles(s: te.Schedule, padded: te.Tensor, result: te.Tensor, along: int) -> None:
    """Keep the sums of ``along`` pixels in registers; padding is done by masked loads.

    Without mask registers, each mask takes a vector register and four instructions. Then the tiles at the
    border, which are the only ones that need masks, are computed in separate loops.
    """
    sums = s.cache_write(result, "local")
    s[padded].compute_inline()
    c, y, x, lane = s[result].op.axis
    x, x_inner = s[result].split(x, along)
    s[result].unroll(x_inner)
    s[result].vectorize(lane)
    if not TARGET.has("avx512f"):
        for axis in (y, x):
            s[result].loop_partition(axis, [1, None, 1])
    s[sums].compute_at(s[result], x)
    c, y, x, lane = s[sums].op.axis
    v, u = s[sums].op.reduce_axis
    s[sums].reorder(c, y, v, u, x, lane)
    for axis in (x, v, u):
        s[sums].unroll(axis)
    s[sums].vectorize(lane)
