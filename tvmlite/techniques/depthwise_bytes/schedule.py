"""Depthwise convolutions of bytes: rows of a block are copied with their padding, then computed by tiles.

An output of 3x3 taps takes three products. Each is of a register of four neighbouring pixels, transposed; of
a tile of four rows each such register is read and transposed once for up to three rows, 1.5 for an output.
With the rounding, packed by four (``llvm.packed_stores``), and a fourth of a copy, that is about
11 instructions for 16 channels, where multiply-adds of float32 take 9, loads and conversions besides.
"""

from __future__ import annotations

from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, compute_of, extent_of, number, product, work_of
from tvmlite.te.templates.share import enough, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import tail_of
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.common.nest import in_registers
from tvmlite.techniques.depthwise.blocks import COPIES, ENOUGH_PLANES
from tvmlite.techniques.depthwise_bytes.instruction import TAPS, taps_4x16_uint8_int8_int32
from tvmlite.techniques.depthwise_bytes.operator import BEFORE, TAG
from tvmlite.techniques.elementwise.injective import finish

WIDE = 4
"""Neighbouring outputs in a tile: as many vectors of bytes are packed and stored at once."""

HIGH = 4
"""Rows of a tile, which read and transpose half as many registers as each row alone; half as many rows where
registers are few."""

MOST_UNROLLED = 160
"""Products of a tile that are written out: 4 by 4 outputs of 3x3 taps are 48, of 5x5 taps 160."""

COPY_BYTES = 1 << 15
"""The padded rows that are copied at a time: they are read as soon as they are written, from a near cache."""

LEAST_COPY = 1 << 13
"""Rows of several blocks are copied before any is read, as long as they are smaller: a register of four
pixels spans two that were stored, and is read late where these have not yet arrived in the cache."""

FEW_GROUPS = 8
"""Copies of rows of no more groups of four pixels are written out; of longer rows the groups with padding in
them have loops of their own."""


@template("depthwise_bytes", anchors.CONVOLUTION)
def taps(group: Group) -> bool:
    """Depthwise convolutions of taps in fours; False for others."""
    found = group.tagged(TAG)
    if found:
        _arrange(group, found[-1])
    return bool(found)


def _arrange(group: Group, anchor: ComputeOp) -> None:
    """Chunks of rows of a block, and in each: the padded copy of what it reads, then tile after tile.

    Knobs: ``tile`` (rows, outputs of a row), ``chunk``, the rows of a chunk, ``blocks``, how many blocks are
    in it.
    """
    result = anchor.output(0)
    host = group.host(result)
    pads = [pad for pad in group.tagged("pad") if pad.output(0) in anchor.inputs]
    group.inline_all_but({host.op, *pads})
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    batch, block, row, along, lane = group.axes(host)
    threads = threads_for(group.target, work_of(anchor), COPIES)
    high, wide = _tile(group, anchor)
    chunk, row = stage.split(row, factor=_rows_of_a_chunk(group, anchor, high, threads))
    row, inner_row = stage.split(row, factor=high)
    tiles, pixel = stage.split(along, factor=wide, tail=tail_of(extent_of(along)))
    in_registers(stage, [inner_row, pixel], lane, [batch, block, chunk, row, tiles])
    whole = stage.fuse(batch, block)
    place = chunk
    if not _blocks_are_enough(anchor, threads):
        whole = place = stage.fuse(whole, chunk)
    elif (several := _blocks_of_a_chunk(group, anchor, threads)) > 1:
        whole, _ = stage.split(whole, factor=several)
        place = whole
    share(stage, whole, threads, "some rows of a block")
    for pad in pads:
        group.stage(pad).compute_at(stage, place)
        _copy(group, pad, dict(anchor.attrs)[BEFORE])
    _products(group, compute_of(group.stage(sums)), high * wide)
    group.stage(sums).compute_at(stage, tiles)
    finish(group, host)


def _tile(group: Group, anchor: ComputeOp) -> tuple[int, int]:
    """The knob ``tile``: its sums, a register of weights and one of data fit into the registers."""
    *_, row, along, _ = anchor.axis
    width, height, registers = extent_of(along), extent_of(row), group.target.vector_registers
    default = (-1, HIGH // 2 if group.target.machine.few_registers else HIGH, WIDE)
    made: dict[tuple[int, ...], None] = {default: None}
    for high in range(1, min(height or HIGH, 2 * HIGH) + 1):
        for wide in range(2, min(width or WIDE, 4 * WIDE) + 1):
            if high * wide <= registers - 3:
                made[-1, high, wide] = None
    high, wide = group.tile(width, list(made), default)
    return high, wide


def _blocks_are_enough(anchor: ComputeOp, threads: int, several: int = 1) -> bool:
    """Whether threads share blocks, ``several`` at a time, each with all its rows: to find the place of a
    chunk takes divisions."""
    blocks = product(map(extent_of, anchor.axis[:2]))
    if blocks is None:
        return True
    parts = blocks // several
    return parts % threads == 0 or enough(parts, ENOUGH_PLANES, threads)


def _rows_of_a_chunk(group: Group, anchor: ComputeOp, high: int, threads: int) -> int:
    """The knob ``chunk``: all rows, or as many as ``COPY_BYTES`` have room for, fewer where blocks are too
    few for the ``threads``; whole tiles of ``high`` rows."""
    source, height = anchor.inputs[0], extent_of(anchor.axis[2])
    if height is None:
        return 2 * high
    row = product(number(n) for n in source.shape[3:])
    rows = max(high, COPY_BYTES // (row or COPY_BYTES) * height // (number(source.shape[2]) or height))
    count = -(-height // rows)
    if not _blocks_are_enough(anchor, threads):
        count = max(count, -(-ENOUGH_PLANES // (product(map(extent_of, anchor.axis[:2])) or 1)))
    default = -(-height // (count * high)) * high
    return group.knob(
        "chunk", sorted({high, 2 * high, 4 * high, default, -(-height // high) * high}), default
    )


def _blocks_of_a_chunk(group: Group, anchor: ComputeOp, threads: int) -> int:
    """The knob ``blocks``: as many as ``LEAST_COPY`` has room for, of those that divide all of them and leave
    enough for the ``threads``."""
    source, blocks = anchor.inputs[0], product(map(extent_of, anchor.axis[:2]))
    image = product(number(n) for n in source.shape[2:])
    if not blocks or not image:
        return 1
    most = max(1, LEAST_COPY // image)
    divisors = (n for n in range(1, most + 1) if blocks % n == 0)
    fitting = [n for n in divisors if _blocks_are_enough(anchor, threads, n)]
    return group.knob("blocks", fitting, fitting[-1])


def _copy(group: Group, pad: ComputeOp, before: int) -> None:
    """Padded rows are copied by registers of four pixels. The first ``before`` pixels are padding."""
    *_, x, lane = pad.axis
    stage, width, inside = group.stage(pad), extent_of(x), number(pad.inputs[0].shape[3])
    if width is None or inside is None or width % TAPS:
        stage.vectorize(lane)
        return
    stage.align_bounds(x, TAPS)
    x, four = stage.split(x, factor=TAPS)
    stage.vectorize(stage.fuse(four, lane))
    groups, first, whole = width // TAPS, before // TAPS, inside // TAPS
    if groups <= FEW_GROUPS:
        stage.unroll(x)
    else:
        last = [None] if first + whole < groups else []
        stage.loop_partition(x, [*([first] if first else []), whole, *last])


def _products(group: Group, op: ComputeOp, outputs: int) -> None:
    """The sums of a tile of ``outputs`` in registers; its products, or at least those of a row of the window,
    are written out."""
    stage = group.stage(op)
    batch, block, y, x, lane = op.axis
    ky, kx, tap = op.reduce_axis
    stage.reorder(batch, block, ky, kx, y, x, lane, tap)
    written_out = (product(map(extent_of, (ky, kx))) or MOST_UNROLLED) * outputs <= MOST_UNROLLED
    for axis in (ky, kx, y, x) if written_out else (kx, y, x):
        stage.unroll(axis)
    stage.tensorize(lane, taps_4x16_uint8_int8_int32(extent_of(lane)))
