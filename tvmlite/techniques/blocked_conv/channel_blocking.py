"""Convolutions in passes: sums of some rows stay in a near cache while channels come block by block."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, compute_of, extent_of, number, product, work_of
from tvmlite.te.templates.share import part_for, share, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Reduce, Tensor
from tvmlite.techniques.common.dot import is_paired
from tvmlite.techniques.common.nest import ENOUGH_COLUMN_TILES, in_registers
from tvmlite.techniques.elementwise.injective import finish

LEAST_PASSES = 6
"""With fewer, sums are better kept in registers throughout: two are slower, four as quick, 32 quicker."""

BLOCKS = (1, 2, 4, 8)
"""How many blocks of channels a pass may take."""

ROWS = (1, 2, 4, 7, 8, 14, 16, 28, 56)
"""How many rows may be computed block by block."""

ORDERS = ("panels first", "rows first")


def blocks_channels(group: Group, anchor: ComputeOp) -> bool:
    """Whether a convolution of channels in blocks goes through its input by blocks of them.

    A tile in registers that takes all channels at once reads all their weights, more than the first cache
    holds. Where registers are few, tiles are small: weights come from the second cache again every few
    pixels, beside the window of each channel from the last one. The weights of one block of channels stay in
    the first cache for all tiles of some rows; for it, sums are read and written once a pass, between 72
    multiply-adds each under a window of 3x3. VGG-19 is quicker so, and the more so on two
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
    """Whether the sums of ``anchor`` leave out the rows of its windows that lie in padding: the loop over a
    window's rows is outside that over channels then, and runs over those in the image only."""
    sums = anchor.body[0]
    return isinstance(sums, Reduce) and not isinstance(sums.condition, e.Const)


def channel_blocked(
    group: Group, anchor: ComputeOp, host: Tensor, tile: Sequence[int], row_wise: bool
) -> None:
    """Loops for ``anchor``, by tiles of blocks of output channels, rows and pixels, and for its ``host``.

    The sums that stay near are divided among threads. Knobs: ``rows``, how many of the image those are of;
    ``order``, whether the panels of weights are outside or (``row_wise``: by default) the rows; ``pass``, how
    many blocks of channels one takes; ``window``: unrolled, or its places counted by the loop.
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
    sums, partial = _in_two(group, anchor)
    sums.compute_at(stage, place)
    unrolled = group.knob("window", ("unrolled", "counted")) == "unrolled"
    _accumulate(partial, sums, _by_tiles(sums, high, wide), unrolled)
    finish(group, host)


def _blocks(anchor: ComputeOp) -> int:
    """How many whole blocks of channels ``anchor`` adds up; 0 if some are left over."""
    channels, block = extent_of(anchor.reduce_axis[0]), number(anchor.inputs[0].shape[-1])
    return 0 if channels is None or block is None or channels % block else channels // block


def _rows(group: Group, anchor: ComputeOp, blocks: int) -> int:
    """The knob ``rows``: by default as many as have sums that stay near, or enough chunks for threads."""
    images, count, height, width, lanes = (extent_of(axis) or 1 for axis in anchor.axis)
    near = max(
        1,
        group.target.machine.working_sets.sums
        // (blocks * width * lanes * dtypes.bytes_of(anchor.output(0).dtype)),
    )
    panels = images * -(-count // blocks)
    parts = min(height, max(-(-height // near), -(-ENOUGH_COLUMN_TILES // panels)))
    default = part_for(height, panels, -(-height // parts), threads_for(group.target, work_of(anchor)))
    choices = dict.fromkeys([default, *(n for n in ROWS if n < height), height])
    return group.knob("rows", list(choices), default)


def _in_two(group: Group, anchor: ComputeOp) -> tuple[Stage, Stage]:
    """The stages of the sums, and of what a pass adds to them."""
    stage, blocks = group.stage(anchor), group.knob("pass", [n for n in BLOCKS if _blocks(anchor) % n == 0])
    channels = blocks * (number(anchor.inputs[0].shape[-1]) or 1)
    iteration, _ = stage.split(anchor.reduce_axis[0], factor=channels)
    return stage, group.stage(group.schedule.rfactor(anchor.output(0), iteration))


def _by_tiles(sums: Stage, high: int, wide: int) -> IterVar:
    """Loops of the passes over ``sums``; gives the one over tiles."""
    op = compute_of(sums)
    batch, block, row, pixel, lane = op.axis
    rows, inner_row = sums.split(row, factor=high)
    tiles, inner_pixel = sums.split(pixel, factor=wide)
    in_registers(sums, [block, inner_row, inner_pixel], lane, [batch, *op.reduce_axis, rows, tiles])
    return tiles


def _accumulate(partial: Stage, sums: Stage, place: IterVar, unrolled: bool) -> None:
    """What a pass adds to a tile of ``sums``, in registers: channels outside, the tile unrolled inside."""
    op = compute_of(partial)
    partial.compute_at(sums, place)
    iteration, batch, block, *pixels, lane = op.axis
    *taps, channel = op.reduce_axis
    tile = [*(taps if unrolled else ()), *pixels, block]
    in_registers(partial, tile, lane, [iteration, batch, channel, *(() if unrolled else taps)])
    if not unrolled:
        partial.fuse(channel, *taps)
