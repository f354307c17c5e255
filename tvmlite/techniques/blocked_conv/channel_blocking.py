"""Convolutions in blocks of input channels: the sums of some rows stay in a near cache meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, compute_of, extent_of, number, product, work_of
from tvmlite.te.templates.share import chunk_size, share, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Reduce, Tensor
from tvmlite.techniques.common.dot import is_paired
from tvmlite.techniques.common.nest import ENOUGH_COLUMN_TILES, in_registers
from tvmlite.techniques.elementwise.injective import schedule_other_outputs

LEAST_PASSES = 6
"""With fewer blocks, keeping sums in registers is better: two are slower, four as fast, 32 faster."""

BLOCKS = (1, 2, 4, 8)
"""The numbers of blocks of channels that are added at a time."""

ROWS = (1, 2, 4, 7, 8, 14, 16, 28, 56)
"""The numbers of rows whose sums may be kept."""

ORDERS = ("panels first", "rows first")


def blocks_channels(group: Group, anchor: ComputeOp) -> bool:
    """Whether a convolution with channels in blocks processes its input one block of channels at a time.

    A register tile that takes all channels at once reads all their weights, more than the first cache
    holds. With few registers, tiles are small: the weights are read from the second cache again every few
    pixels, and the data from the last one. With one block of channels at a time, its weights stay in
    the first cache for all tiles of some rows; in return, sums are loaded and stored once per block, with 72
    multiply-adds each in between for a window of 3x3. VGG-19 is faster this way, the more so on two
    threads, which share the last cache.
    """
    laid_out, source = group.readers(anchor.output(0))[0], anchor.inputs[0]
    in_blocks = isinstance(laid_out, ComputeOp) and laid_out.tag == "conv2d_blocked"
    if not group.target.machine.few_registers or not in_blocks or is_paired(anchor) or len(source.shape) != 5:
        return False
    if skips_rows(anchor):
        return False
    known = product(extent_of(axis) for axis in (*anchor.axis, *anchor.reduce_axis)) is not None
    return known and len(anchor.axis) == 5 and _blocks(anchor) >= LEAST_PASSES


def skips_rows(anchor: ComputeOp) -> bool:
    """Whether the sums of ``anchor`` skip the rows of its windows that are in padding: the loop over a
    window's rows is then outside the one over channels, and runs over the rows in the image only."""
    sums = anchor.body[0]
    return isinstance(sums, Reduce) and not isinstance(sums.condition, e.Const)


def channel_blocked(
    group: Group, anchor: ComputeOp, host: Tensor, tile: Sequence[int], row_wise: bool
) -> None:
    """Schedule ``anchor``, by tiles of (blocks of output channels, rows, pixels), and its ``host``.

    The sums that stay in cache are divided among threads. Knobs: ``rows``, the number of rows of the image
    they are for; ``order``, whether the loop over panels of weights is outside or (default if ``row_wise``)
    the one over rows; ``pass``, how many blocks of channels are added at a time; ``window``: unrolled, or a
    loop.
    """
    blocks, high, wide = tile
    stage = group.stage(host)
    batch, block, row, pixel, lane = group.axes(host)
    order = group.knob("order", ORDERS, ORDERS[row_wise])
    panel, inner_block = stage.split(block, factor=blocks)
    rows, inner_row = stage.split(row, factor=_rows(group, anchor, blocks))
    shared = [panel, rows] if order == ORDERS[0] else [rows, panel]
    stage.reorder(batch, *shared, inner_block, inner_row, pixel, lane)
    stage.vectorize(lane)
    place = stage.fuse(batch, *shared)
    share(stage, place, threads_for(group.target, work_of(anchor)), "a row of tiles")
    sums, partial = _split_channels(group, anchor)
    sums.compute_at(stage, place)
    unrolled = group.knob("window", ("unrolled", "counted")) == "unrolled"
    _accumulate(partial, sums, _order_tiles(sums, high, wide), unrolled)
    schedule_other_outputs(group, host)


def _blocks(anchor: ComputeOp) -> int:
    """The number of blocks of channels that ``anchor`` sums; 0 if they are not whole blocks."""
    channels, block = extent_of(anchor.reduce_axis[0]), number(anchor.inputs[0].shape[-1])
    return 0 if channels is None or block is None or channels % block else channels // block


def _rows(group: Group, anchor: ComputeOp, blocks: int) -> int:
    """The knob ``rows``: by default as many as have sums that stay in cache and leave enough for threads."""
    images, count, height, width, lanes = (extent_of(axis) or 1 for axis in anchor.axis)
    near = max(
        1,
        group.target.machine.working_sets.partial_sums
        // (blocks * width * lanes * dtypes.bytes_of(anchor.output(0).dtype)),
    )
    panels = images * -(-count // blocks)
    parts = min(height, max(-(-height // near), -(-ENOUGH_COLUMN_TILES // panels)))
    default = chunk_size(height, panels, -(-height // parts), threads_for(group.target, work_of(anchor)))
    choices = dict.fromkeys([default, *(n for n in ROWS if n < height), height])
    return group.knob("rows", list(choices), default)


def _split_channels(group: Group, anchor: ComputeOp) -> tuple[Stage, Stage]:
    """The stages of the sums, and of the partial sums of ``pass`` blocks of channels."""
    stage, blocks = group.stage(anchor), group.knob("pass", [n for n in BLOCKS if _blocks(anchor) % n == 0])
    channels = blocks * (number(anchor.inputs[0].shape[-1]) or 1)
    iteration, _ = stage.split(anchor.reduce_axis[0], factor=channels)
    return stage, group.stage(group.schedule.rfactor(anchor.output(0), iteration))


def _order_tiles(sums: Stage, high: int, wide: int) -> IterVar:
    """Order the loops that add to ``sums``; return the one over tiles."""
    op = compute_of(sums)
    batch, block, row, pixel, lane = op.axis
    rows, inner_row = sums.split(row, factor=high)
    tiles, inner_pixel = sums.split(pixel, factor=wide)
    in_registers(sums, [block, inner_row, inner_pixel], lane, [batch, *op.reduce_axis, rows, tiles])
    return tiles


def _accumulate(partial: Stage, sums: Stage, place: IterVar, unrolled: bool) -> None:
    """Compute the partial sums of a tile in registers: channels outside, the tile unrolled inside."""
    op = compute_of(partial)
    partial.compute_at(sums, place)
    iteration, batch, block, *pixels, lane = op.axis
    *taps, channel = op.reduce_axis
    tile = [*(taps if unrolled else ()), *pixels, block]
    in_registers(partial, tile, lane, [iteration, batch, channel, *(() if unrolled else taps)])
    if not unrolled:
        partial.fuse(channel, *taps)
