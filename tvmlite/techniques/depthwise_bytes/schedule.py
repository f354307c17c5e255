"""Depthwise convolutions of bytes: rows of a block are copied with their padding, then computed by tiles.

An output of 3x3 taps takes three product instructions, each on a transposed register of four neighbouring
pixels. In a tile of four rows, each such register is read and transposed once for up to three rows: 1.5 per
output. With rounding, packed by four (``llvm.packed_stores``), and a fourth of a copy, this is about
11 instructions for 16 channels; float32 takes 9 multiply-adds plus loads and conversions.
"""

from __future__ import annotations

from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, compute_of, extent_of, number, product, work_of
from tvmlite.te.templates.share import enough, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import tail_of
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.common.nest import in_registers
from tvmlite.techniques.depthwise.blocks import COPY_RATIO, ENOUGH_PLANES
from tvmlite.techniques.depthwise_bytes.instruction import TAPS, taps_4x16_uint8_int8_int32
from tvmlite.techniques.depthwise_bytes.operator import PADDING_BEFORE, TAG
from tvmlite.techniques.elementwise.injective import schedule_other_outputs

TILE_WIDTH = 4
"""The neighbouring outputs in a tile, whose vectors of bytes are packed and stored together."""

TILE_HEIGHT = 4
"""The rows of a tile, which read and transpose half as many registers as separate rows; half as many rows
with few registers."""

MOST_UNROLLED = 160
"""The most products of a tile that are unrolled: 4 by 4 outputs of 3x3 taps are 48, of 5x5 taps 160."""

COPY_BYTES = 1 << 15
"""The bytes of padded rows that are copied at a time, so that they are read back from a near cache."""

LEAST_COPY = 1 << 13
"""If the padded rows of a block are smaller, those of several blocks are copied before any is read: a
register of four pixels spans two stored ones, and loading it stalls if these have not yet reached the
cache."""

FEW_GROUPS = 8
"""Copies of rows of at most this many groups of four pixels are unrolled; in longer rows, the groups that
contain padding have separate loops."""


@template("depthwise_bytes", anchors.CONVOLUTION)
def taps(group: Group) -> bool:
    """Schedule a depthwise convolution with taps in groups of four; False for other groups."""
    found = group.tagged(TAG)
    if found:
        _arrange(group, found[-1])
    return bool(found)


def _arrange(group: Group, anchor: ComputeOp) -> None:
    """Process chunks of rows of a block: for each, make the padded copy that it reads, then compute its
    tiles.

    Knobs: ``tile`` (rows, outputs of a row), ``chunk``, the rows of a chunk, ``blocks``, its number of
    blocks.
    """
    result = anchor.output(0)
    host = group.host(result)
    pads = [pad for pad in group.tagged("pad") if pad.output(0) in anchor.inputs]
    group.inline_all_but({host.op, *pads})
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    batch, block, row, along, lane = group.axes(host)
    threads = threads_for(group.target, work_of(anchor), COPY_RATIO)
    high, wide = _tile(group, anchor)
    chunk, row = stage.split(row, factor=_rows_per_chunk(group, anchor, high, threads))
    row, inner_row = stage.split(row, factor=high)
    tiles, pixel = stage.split(along, factor=wide, tail=tail_of(extent_of(along)))
    in_registers(stage, [inner_row, pixel], lane, [batch, block, chunk, row, tiles])
    whole = stage.fuse(batch, block)
    place = chunk
    if not _blocks_are_enough(anchor, threads):
        whole = place = stage.fuse(whole, chunk)
    elif (several := _blocks_per_chunk(group, anchor, threads)) > 1:
        whole, _ = stage.split(whole, factor=several)
        place = whole
    share(stage, whole, threads, "some rows of a block")
    for pad in pads:
        group.stage(pad).compute_at(stage, place)
        _copy(group, pad, dict(anchor.attrs)[PADDING_BEFORE])
    _products(group, compute_of(group.stage(sums)), high * wide)
    group.stage(sums).compute_at(stage, tiles)
    schedule_other_outputs(group, host)


def _tile(group: Group, anchor: ComputeOp) -> tuple[int, int]:
    """The knob ``tile`` (rows, outputs): its sums, weights and data fit in the registers."""
    *_, row, along, _ = anchor.axis
    width, height, registers = extent_of(along), extent_of(row), group.target.vector_registers
    default = (-1, TILE_HEIGHT // 2 if group.target.machine.few_registers else TILE_HEIGHT, TILE_WIDTH)
    made: dict[tuple[int, ...], None] = {default: None}
    for high in range(1, min(height or TILE_HEIGHT, 2 * TILE_HEIGHT) + 1):
        for wide in range(2, min(width or TILE_WIDTH, 4 * TILE_WIDTH) + 1):
            if high * wide <= registers - 3:
                made[-1, high, wide] = None
    high, wide = group.tile(width, list(made), default)
    return high, wide


def _blocks_are_enough(anchor: ComputeOp, threads: int, several: int = 1) -> bool:
    """Whether there are enough blocks, ``several`` at a time and with all rows, to divide only these among
    threads: the index of a chunk of rows takes divisions."""
    blocks = product(map(extent_of, anchor.axis[:2]))
    if blocks is None:
        return True
    parts = blocks // several
    return parts % threads == 0 or enough(parts, ENOUGH_PLANES, threads)


def _rows_per_chunk(group: Group, anchor: ComputeOp, high: int, threads: int) -> int:
    """The knob ``chunk``: by default all rows, or as many as fit in ``COPY_BYTES``, or fewer if there are too
    few blocks for the ``threads``; in whole tiles of ``high`` rows."""
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


def _blocks_per_chunk(group: Group, anchor: ComputeOp, threads: int) -> int:
    """The knob ``blocks``: by default the most that fit in ``LEAST_COPY``, divide the number of blocks and
    leave enough for the ``threads``."""
    source, blocks = anchor.inputs[0], product(map(extent_of, anchor.axis[:2]))
    image = product(number(n) for n in source.shape[2:])
    if not blocks or not image:
        return 1
    most = max(1, LEAST_COPY // image)
    divisors = (n for n in range(1, most + 1) if blocks % n == 0)
    fitting = [n for n in divisors if _blocks_are_enough(anchor, threads, n)]
    return group.knob("blocks", fitting, fitting[-1])


def _copy(group: Group, pad: ComputeOp, before: int) -> None:
    """Copy padded rows by registers of four pixels; the first ``before`` pixels are padding."""
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
    """Compute the sums of a tile of ``outputs`` in registers, with all products unrolled, or at least those
    of a row of the window."""
    stage = group.stage(op)
    batch, block, y, x, lane = op.axis
    ky, kx, tap = op.reduce_axis
    stage.reorder(batch, block, ky, kx, y, x, lane, tap)
    unrolls_window = (product(map(extent_of, (ky, kx))) or MOST_UNROLLED) * outputs <= MOST_UNROLLED
    for axis in (ky, kx, y, x) if unrolls_window else (kx, y, x):
        stage.unroll(axis)
    stage.tensorize(lane, taps_4x16_uint8_int8_int32(extent_of(lane)))
