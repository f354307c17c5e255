"""Schedules of convolutions: accumulators in a register tile, with the epilogue computed as it is stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tvmlite.core import dtype as dtypes
from tvmlite.machine.machine import Machine
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import GUARD
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, compute_of, extent_of, number, product, work_of
from tvmlite.te.templates.share import chunk_size, is_even, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import (
    MOST_ROWS,
    RegisterTile,
    ThreadDivision,
    candidates,
    near_even_tile,
    register_tile,
    tail_fraction,
    tail_of,
    vectors_first,
)
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.blocked_conv.channel_blocking import blocks_channels, channel_blocked, skips_rows
from tvmlite.techniques.blocked_conv.padding import schedule_padding
from tvmlite.techniques.blocked_conv.planes import plain, pointwise
from tvmlite.techniques.blocked_conv.thread_partition import divides_rows
from tvmlite.techniques.common.dot import is_paired, pair_product, takes_single_tiles
from tvmlite.techniques.common.nest import (
    ENOUGH_ITERATIONS,
    PANELS,
    PREFETCH_DISTANCES,
    Panel,
    dividing_steps,
    in_registers,
    order_and_parallelize,
    unrollable,
)
from tvmlite.techniques.common.prefetch import near_prefetch_distance, prefetch_next_panel
from tvmlite.techniques.elementwise.injective import schedule_other_outputs

MOST_ROW_TAIL = 0.15
"""The largest part of the work of tiles of several rows that may be below the last row."""

ENOUGH_PANELS = 8
"""With fewer panels of all images, the rows of an image are divided among threads."""

MOST_TAPS = 9
"""The most positions of a window that are unrolled."""

SPARE_REGISTERS = 3
"""Registers that a tile with an unrolled window leaves free, for scalars that neighbouring positions share.
With 16 registers, tiles of 2 blocks by 5 pixels come near the peak; tiles by 6 pixels do not, since sums are
spilled."""

IN_FLIGHT_MARGIN = 2
"""The number of sums of a tile that is rounded to bytes, for each multiply-add in flight."""

VECTORS_PER_BYTE_VECTOR = 4
"""The number of vectors of 32-bit elements that are packed into one of bytes."""

ENOUGH_PARTS = 8
"""The least number of panels of an image's tiles to divide among threads: four for each of two."""


@template("blocked_conv", anchors.CONVOLUTION)
def convolution(group: Group) -> bool:
    """Schedule a convolution by the form of its anchor: packed or plain weights; False for other anchors."""
    forms = {"conv2d_packed": packed, "conv2d_pointwise": pointwise, "conv2d": plain}
    return group.schedule_tagged(forms)


def packed(group: Group, anchor: ComputeOp) -> None:
    """Multiply scalars of the data by vectors of output channels.

    A tile is some pixels by some blocks of channels, with all its accumulators in registers. The host stores
    it with the epilogue, vector by vector if its channels are in blocks, else channel by channel.

    Knobs: ``tile`` (blocks, rows, pixels); those of ``order_and_parallelize`` and ``accumulate``, or of
    ``channel_blocked``.
    """
    laid_out = group.readers(anchor.output(0))[0]
    host = group.host(laid_out.output(0))
    pads = group.tagged("pad")
    group.inline_all_but({host.op, *pads})
    row_wise = divides_rows(group, anchor)
    block = number(anchor.output(0).shape[-1])
    assert block is not None
    stage = group.stage(host)
    batch, channel, *pixels = group.axes(host)
    in_blocks = isinstance(laid_out, ComputeOp) and laid_out.tag == "conv2d_blocked"
    lane = pixels.pop() if in_blocks else None
    for pad in pads:
        schedule_padding(group, pad, len(pixels), row_wise)
    pixelwise = len(anchor.axis) == 4
    by_channels = _unrolls_window(group, anchor) and blocks_channels(group, anchor)
    if not by_channels:
        pixels = _longest_last(pixels)
    stored = host.dtype
    blocks, high, wide = _packed_tile(group, anchor, pixels, block, pixelwise, by_channels, stored)
    if by_channels:
        channel_blocked(group, anchor, host, (blocks, high, wide), row_wise)
        return
    rows, along = ([], stage.fuse(*pixels)) if pixelwise else (pixels[:-1], pixels[-1])
    outer_block = channel
    if lane is None:
        outer_block, lane = stage.split(channel, factor=block)
    outer_block, inner_block = stage.split(outer_block, factor=blocks)
    tail = GUARD if _divides_tiles(anchor, blocks) else tail_of(product(extent_of(a) for a in pixels))
    tiles, pixel = stage.split(along, factor=wide, tail=tail)
    inner = [pixel]
    if high > 1:
        rows[-1], inner_row = stage.split(rows[-1], factor=high)
        inner = [inner_row, pixel]
    tile = [inner_block, *inner, lane] if in_blocks else [inner_block, lane, *inner]
    stage.reorder(batch, outer_block, *rows, tiles, *tile)
    stage.vectorize(tile[-1])
    group.stage(anchor).align_bounds(anchor.axis[-1], block)
    if in_blocks:
        for axis in tile[:-1]:
            stage.unroll(axis)
    else:  # else loops that read an array small enough for registers are unrolled, channel by channel
        stage.pragma(inner_block, "unroll_explicit", False)
    loops = [outer_block, *rows, tiles]
    place = _order_and_parallelize(
        group, anchor, stage, batch, loops, (blocks, wide), 0 if tail == GUARD else 1
    )
    ahead = _prefetches_next_panel(group, anchor, blocks)
    by_vectors = vectors_first(RegisterTile(high * wide, blocks), block, group.target, anchor.output(0).dtype)
    sums = anchor if in_blocks else _copy_sums(group, anchor, stage, place)
    accumulate(group, sums, stage, place, ahead, by_vectors)
    schedule_other_outputs(group, host)


def _copy_sums(group: Group, anchor: ComputeOp, host: Stage, place: IterVar) -> ComputeOp:
    """Copy a tile's sums from registers to memory, where ``host`` reads them channel by channel in a loop:
    to read registers, the loop would have to be unrolled. Return the operation that computes the sums."""
    sums = group.schedule.cache_write(anchor.output(0), "local").op
    copy = group.stage(anchor)
    copy.compute_at(host, place)
    *tile, lane = compute_of(copy).axis
    in_registers(copy, tile, lane)
    return sums


def _longest_last(pixels: list[IterVar]) -> list[IterVar]:
    """The axes of an image, those of extent 1 first: an image of one column is treated like one row."""
    return sorted(pixels, key=lambda axis: extent_of(axis) != 1)


def _order_and_parallelize(
    group: Group,
    anchor: ComputeOp,
    stage: Stage,
    batch: IterVar,
    loops: list[IterVar],
    tile: tuple[int, int],
    least: int,
) -> IterVar:
    """Order the ``loops`` over blocks, rows and tiles (``tile``: blocks, pixels), and divide all but the
    ``least`` innermost or more among threads; return the innermost loop."""
    count, pixels = extent_of(anchor.axis[1]), extent_of(anchor.axis[-2])
    threads, row_wise = threads_for(group.target, work_of(anchor)), divides_rows(group, anchor)
    images = extent_of(anchor.axis[0])
    iterations = _tiles_in_panel(images, pixels, tile[1], threads) if row_wise and len(loops) == 2 else 1
    if iterations > 1 or _prefetches_next_panel(group, anchor, tile[0]):
        grain = len(loops) - 1
    else:
        grain = 0 if _one_panel_a_thread(group, anchor, tile[0]) or _divides_tiles(anchor, tile[0]) else 1
    panels = {"blocks": Panel(0, count), "tiles": Panel(len(loops) - 1, pixels, iterations)}
    return order_and_parallelize(group, stage, [batch], loops, panels, threads, grain, least, int(row_wise))


def _one_panel_a_thread(group: Group, anchor: ComputeOp, blocks: int) -> bool:
    """Whether one thread takes all tiles of a panel of weights, of ``blocks`` blocks."""
    threads = threads_for(group.target, work_of(anchor))
    return threads > 1 and not divides_rows(group, anchor) and _suits_panels(group, anchor, blocks)


def _prefetches_next_panel(group: Group, anchor: ComputeOp, blocks: int) -> bool:
    """Whether such a thread prefetches the next panel while it uses one. If the image's size is unknown, so
    is the part of the panel to request per tile, and computing it at run time takes longer than it saves."""
    known = all(extent_of(axis) is not None for axis in anchor.axis[2:])
    fetches = known and not takes_single_tiles(anchor) and not skips_rows(anchor)
    return fetches and _one_panel_a_thread(group, anchor, blocks)


def _tiles_in_panel(images: int | None, pixels: int | None, wide: int, threads: int) -> int:
    """How many tiles of ``wide`` of the ``pixels`` a thread takes at a time: the most that leave enough parts
    for all threads. A panel of weights stays in the first cache for these tiles."""
    if pixels is None:
        return 1
    tiles = -(-pixels // wide)

    def leaves_enough(panel: int) -> bool:
        return tiles >= ENOUGH_PARTS * panel and is_even(product([images, -(-tiles // panel)]), threads)

    return max(n for n in PANELS if n == 1 or leaves_enough(n))


def _packed_tile(
    group: Group,
    anchor: ComputeOp,
    pixels: Sequence[IterVar],
    block: int,
    pixelwise: bool,
    by_channels: bool,
    stored: str,
) -> tuple[int, ...]:
    """The knob ``tile``: the blocks of channels, rows, and pixels of a row that are computed at once. All
    tiles are divided among threads, or (``by_channels``) rows with all their pixels. Results are stored as
    dtype ``stored``."""
    dtype = anchor.output(0).dtype
    width, count = extent_of(pixels[-1]), extent_of(anchor.axis[1])
    even = width is None or (pixelwise and not group.target.machine.few_registers)
    one_row = pixelwise or len(pixels) < 2 or skips_rows(anchor)
    height = 1 if one_row else extent_of(pixels[-2])
    vectors = max(1, block // group.target.lanes(dtype))
    machine = group.target.machine
    if _unrolls_window(group, anchor):
        machine = replace(machine, vector_registers=machine.vector_registers - SPARE_REGISTERS)
    along = product(extent_of(a) for a in pixels) if pixelwise else width
    # With one axis of all pixels, there is one tail at the end of the image, not one per row.
    threads = threads_for(group.target, work_of(anchor))
    images, *lines = (extent_of(a) for a in (anchor.axis[0], *pixels[:-1]))
    by_rows = ThreadDivision(threads, product([images, *lines]), not by_channels)
    if even:
        best = near_even_tile(width, count, vectors, machine, by_rows)
    else:
        shared = ThreadDivision(threads, images) if pixelwise else by_rows
        best = register_tile(along, count, vectors, machine, False, shared)
    for divides in (even, True):
        if pixelwise and _spans_rows(best.rows, pixels):
            best = register_tile(width, count, vectors, machine, divides, by_rows)
    if pixelwise and is_paired(anchor) and stored in ("int8", "uint8"):
        best = _overlapping_rounding(best, width, machine)
    high = _rows_at_once(best, width, height, vectors, machine.vector_registers)
    if height is not None and high > 1:
        panels = None if count is None else -(-count // best.blocks)
        high = chunk_size(height, product([images, *lines[:-1], panels]), high, threads)
    default = (-1, best.blocks, high, best.rows)
    return group.tile(
        width, candidates(along, height, count, vectors, group.target.machine, default), default
    )


def _overlapping_rounding(tile: RegisterTile, width: int | None, machine: Machine) -> RegisterTile:
    """``tile``, or a smaller one whose sums are rounded to bytes while the next tile's products start.

    Rounding a sum takes as long as several of its products. The processor executes it in parallel with the
    next tile's products if these are within its out-of-order window, so a tile should have only as many sums
    as keep the multiply-adds busy, with a margin. Four vectors of 32-bit elements make one of bytes.
    """
    busy = IN_FLIGHT_MARGIN * machine.multiply_adds_per_cycle * machine.multiply_add_latency
    rows = VECTORS_PER_BYTE_VECTOR * math.ceil(busy / (VECTORS_PER_BYTE_VECTOR * tile.blocks))
    return replace(tile, rows=rows) if width is not None and width % rows == 0 and rows < tile.rows else tile


def _spans_rows(along: int, pixels: Sequence[IterVar]) -> bool:
    """Whether tiles of ``along`` pixels divide the image but not its rows: bound inference cannot analyse the
    remainder in such a tile's index, and would allocate two whole rows for it."""
    total, width = product(map(extent_of, pixels)), extent_of(pixels[-1])
    return total is not None and width is not None and total % along == 0 and width % along > 0


def _divides_tiles(anchor: ComputeOp, blocks: int) -> bool:
    """Whether the tiles of a row must be divided among threads, since rows and panels of ``blocks`` blocks of
    channels are too few. All tiles are then in one loop with a guard for the last, which for an unknown
    extent is in the innermost loop."""
    images, count, *heights = (extent_of(a) for a in anchor.axis[:-1])
    rows = product([images, *heights[:-1]])
    if rows is None or rows >= ENOUGH_ITERATIONS:
        return False
    return heights[-1] is not None or count is None or rows * (-(-count // blocks)) < ENOUGH_PANELS


def _rows_at_once(
    tile: RegisterTile, width: int | None, height: int | None, vectors: int, registers: int
) -> int:
    """The number of rows in a tile of whole rows, which share the loaded weights; 1 for a part of a row."""
    if width is None or height is None or tile.rows < width:
        return 1
    wide = tile.blocks * vectors
    most = min((registers - wide - 1) // (wide * width), height, MOST_ROWS)
    return max((n for n in range(1, most + 1) if tail_fraction(height, n) <= MOST_ROW_TAIL), default=1)


def _suits_panels(group: Group, anchor: ComputeOp, blocks: int) -> bool:
    """Whether one thread should take all tiles of a panel of weights, of ``blocks`` blocks, while the next
    panel is read from memory."""
    images, count, *_, lanes = (extent_of(a) for a in anchor.axis)
    weights = product([blocks, lanes, *(extent_of(a) for a in anchor.reduce_axis)])
    panels = product([images, None if count is None else -(-count // blocks)])
    if weights is None or panels is None:
        return False
    size = weights * dtypes.bytes_of(anchor.inputs[-1].dtype)
    return panels >= ENOUGH_PANELS and size <= group.target.machine.working_sets.prefetched_panel


def accumulate(
    group: Group, anchor: ComputeOp, host: Stage, place: IterVar, ahead: bool, by_vectors: bool
) -> None:
    """Compute a packed anchor at ``place`` of ``host``: the reduction outside, the tile unrolled inside.

    The reduction is one loop: the branch of an inner loop over three taps would be mispredicted, and
    unrolled taps share so many scalars that sums are spilled, unless registers are left free for them. Only
    the rows of a window that skips some (``skips_rows``) have a separate loop, the outermost.
    ``by_vectors``: see ``vectors_first``.

    Knobs: ``channels``, the input channels per iteration of that loop; ``taps``, how many axes of the window
    are unrolled in it; ``ahead``, the prefetch distance of weights in iterations (0: none), or "panel": the
    next panel of weights is prefetched while one is used (``prefetch_next_panel``), the default if ``ahead``.
    """
    stage = group.stage(anchor)
    batch, block, *pixels, lane = anchor.axis
    channel, *taps = anchor.reduce_axis
    pair = [taps.pop()] if is_paired(anchor) else []
    at_once = group.knob("channels", dividing_steps(channel), _channels_at_once(group, anchor))
    unrolled = _unrolled_taps(taps[1:] if skips_rows(anchor) else taps)
    unrolled = group.knob("taps", unrolled, max(unrolled) if _unrolls_window(group, anchor) else None)
    distance = group.knob(
        "ahead", ("panel", *PREFETCH_DISTANCES), "panel" if ahead else near_prefetch_distance(group, anchor)
    )
    stage.compute_at(host, place)
    rows = [taps.pop(0)] if skips_rows(anchor) else []
    inside = taps[len(taps) - unrolled :]
    outside = taps[: len(taps) - len(inside)]
    if at_once > 1:
        channel, several = stage.split(channel, factor=at_once)
        inside = [several, *inside]
    dot = pair_product(group, anchor)
    parts: list[IterVar] = []
    if dot is None:
        inside += pair
    elif (lanes := number(dot.op.output(0).shape[0])) != extent_of(lane):
        part, lane = stage.split(lane, factor=lanes)
        parts = [part]
    tile = [block, *parts, *pixels] if by_vectors else [*pixels, block, *parts]
    stage.reorder(batch, *rows, channel, *outside, *inside, *tile, lane, *(pair if dot else ()))
    iteration = stage.fuse(channel, *outside)
    for axis in (*inside, *tile):
        stage.unroll(axis)
    if dot is None:
        stage.vectorize(lane)
    else:
        stage.tensorize(lane, dot)
    if distance == "panel":
        steps = product(extent_of(axis) for axis in (anchor.reduce_axis[0], *taps))
        several = product([at_once, *(extent_of(axis) for axis in inside if axis in taps)])
        iterations = None if steps is None or several is None else steps // several
        near = near_prefetch_distance(group, anchor)
        prefetch_next_panel(stage, host, place, iteration, iterations, _whole_windows(group, outside), near)
    elif distance:
        stage.prefetch(anchor.inputs[-1], iteration, distance)


def _unrolls_window(group: Group, anchor: ComputeOp) -> bool:
    """Whether the whole window is one iteration by default. With few registers, one position is so short an
    iteration that mispredicted branches of loops over three positions dominate."""
    places = product(map(extent_of, anchor.reduce_axis[1:]))
    few = group.target.machine.few_registers
    return few and places is not None and 1 < places <= MOST_TAPS


def _channels_at_once(group: Group, anchor: ComputeOp) -> int:
    """The default input channels per iteration: 1, but with few registers a block for a 1x1 convolution, as
    the last branch of an inner loop over a block is mispredicted and delays loads from a far cache."""
    channel, *taps = anchor.reduce_axis
    whole = group.target.machine.few_registers and product(map(extent_of, taps)) == 1
    return max(
        n
        for n in dividing_steps(channel)
        if n <= (group.target.lanes(anchor.output(0).dtype) if whole else 1)
    )


def _whole_windows(group: Group, taps: Sequence[IterVar]) -> int:
    """The number of iterations of the loop over channels and ``taps`` that stay together if that loop is
    split: with whole windows, no divisions are needed to compute its indices. If loop counters take time,
    ResNet-50 is slower with these divisions, with few registers much slower; else 1."""
    window = product(extent_of(axis) for axis in taps)
    return window if group.target.machine.counters_take_time and window is not None else 1


def _unrolled_taps(taps: Sequence[IterVar]) -> list[int]:
    """The numbers of innermost axes of the window that may be unrolled; the outermost not of extent 1."""
    return [n for n in unrollable(taps, MOST_TAPS) if n == 0 or extent_of(taps[-n]) != 1]
