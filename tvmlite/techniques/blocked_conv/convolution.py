"""Convolutions: a tile of accumulators in registers; the element-wise tail is computed as it is stored."""

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
from tvmlite.te.templates.share import is_even, part_for, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import (
    MOST_ROWS,
    RegisterTile,
    Shared,
    candidates,
    near_even_tile,
    register_tile,
    tail_of,
    vectors_first,
    waste,
)
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.blocked_conv.channel_blocking import blocks_channels, channel_blocked, skips_rows
from tvmlite.techniques.blocked_conv.padding import padded
from tvmlite.techniques.blocked_conv.planes import plain, pointwise
from tvmlite.techniques.blocked_conv.thread_partition import by_rows
from tvmlite.techniques.common.dot import is_paired, pair_product, tile_by_tile
from tvmlite.techniques.common.nest import (
    AHEAD,
    ENOUGH_TURNS,
    PANELS,
    Panel,
    in_registers,
    shared_out,
    unrollable,
    whole_steps,
)
from tvmlite.techniques.common.prefetch import fetch_ahead, near_distance
from tvmlite.techniques.elementwise.injective import finish

MOST_ROW_TAIL = 0.15
"""The most of the work of tiles of several rows that may lie below the last row."""

ENOUGH_PANELS = 8
"""With fewer panels, and images, threads share the rows of one."""

MOST_TAPS = 9
"""Places of a window that are unrolled."""

SPARE = 3
"""Registers that a tile leaves where its window is unrolled: neighbouring places share scalars, which are
kept. With 16 registers tiles of 2 blocks by 5 pixels come near the peak, those of 6 do not, for sums are
spilled."""

BUSY_MARGIN = 2
"""Sums of a tile that are rounded, for each multiply-add that is under way at a time."""

PACKED = 4
"""Vectors of 32 bits that make one of bytes."""

ENOUGH_PARTS = 8
"""Panels of tiles of an image that are enough for threads to share: four for each of two."""


@template("blocked_conv", anchors.CONVOLUTION)
def convolution(group: Group) -> bool:
    """By the form of the anchor: packed weights, or plain ones; False for others."""
    forms = {"conv2d_packed": packed, "conv2d_pointwise": pointwise, "conv2d": plain}
    return group.arranged(forms)


def packed(group: Group, anchor: ComputeOp) -> None:
    """Scalars of the data against vectors of output channels.

    A tile is some pixels by some blocks of channels; all its accumulators are in registers. The host stores
    it, vector by vector if its channels are in blocks, else channel by channel, with what is fused behind.

    Knobs: ``tile`` (blocks, rows, pixels); those of ``shared_out`` and of ``accumulate``, or of ``passes``.
    """
    laid_out = group.readers(anchor.output(0))[0]
    host = group.host(laid_out.output(0))
    pads = group.tagged("pad")
    group.inline_all_but({host.op, *pads})
    row_wise = by_rows(group, anchor)
    block = number(anchor.output(0).shape[-1])
    assert block is not None
    stage = group.stage(host)
    batch, channel, *pixels = group.axes(host)
    in_blocks = isinstance(laid_out, ComputeOp) and laid_out.tag == "conv2d_blocked"
    lane = pixels.pop() if in_blocks else None
    for pad in pads:
        padded(group, pad, len(pixels), row_wise)
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
    tail = GUARD if _shares_tiles(anchor, blocks) else tail_of(product(extent_of(a) for a in pixels))
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
    else:  # what reads an array that fits the registers would be written out, channel by channel
        stage.pragma(inner_block, "unroll_explicit", False)
    loops = [outer_block, *rows, tiles]
    place = _shared_out(group, anchor, stage, batch, loops, (blocks, wide), 0 if tail == GUARD else 1)
    ahead = _next_panel_ahead(group, anchor, blocks)
    by_vectors = vectors_first(RegisterTile(high * wide, blocks), block, group.target, anchor.output(0).dtype)
    sums = anchor if in_blocks else _copied(group, anchor, stage, place)
    accumulate(group, sums, stage, place, ahead, by_vectors)
    finish(group, host)


def _copied(group: Group, anchor: ComputeOp, host: Stage, place: IterVar) -> ComputeOp:
    """Have a tile's sums copied from the registers into memory, where ``host`` reads them channel by channel
    in a loop: read from registers, each of its iterations would be code of its own. Gives the sums."""
    sums = group.schedule.cache_write(anchor.output(0), "local").op
    copy = group.stage(anchor)
    copy.compute_at(host, place)
    *tile, lane = compute_of(copy).axis
    in_registers(copy, tile, lane)
    return sums


def _longest_last(pixels: list[IterVar]) -> list[IterVar]:
    """The axes of an image, those of one place first: an image of one column is as good as a row."""
    return sorted(pixels, key=lambda axis: extent_of(axis) != 1)


def _shared_out(
    group: Group,
    anchor: ComputeOp,
    stage: Stage,
    batch: IterVar,
    loops: list[IterVar],
    tile: tuple[int, int],
    least: int,
) -> IterVar:
    """Put ``loops`` over blocks, rows and tiles (of so many blocks and pixels) in order, and share them out,
    all but ``least`` of them or more; gives the innermost."""
    count, pixels = extent_of(anchor.axis[1]), extent_of(anchor.axis[-2])
    threads, row_wise = threads_for(group.target, work_of(anchor)), by_rows(group, anchor)
    images = extent_of(anchor.axis[0])
    iterations = _tiles_in_panel(images, pixels, tile[1], threads) if row_wise and len(loops) == 2 else 1
    if iterations > 1 or _next_panel_ahead(group, anchor, tile[0]):
        grain = len(loops) - 1
    else:
        grain = 0 if _one_panel_a_thread(group, anchor, tile[0]) or _shares_tiles(anchor, tile[0]) else 1
    panels = {"blocks": Panel(0, count), "tiles": Panel(len(loops) - 1, pixels, iterations)}
    return shared_out(group, stage, [batch], loops, panels, threads, grain, least, int(row_wise))


def _one_panel_a_thread(group: Group, anchor: ComputeOp, blocks: int) -> bool:
    """Whether a thread takes all tiles of a panel of weights, of ``blocks`` blocks."""
    threads = threads_for(group.target, work_of(anchor))
    return threads > 1 and not by_rows(group, anchor) and _in_panels(group, anchor, blocks)


def _next_panel_ahead(group: Group, anchor: ComputeOp, blocks: int) -> bool:
    """Whether it fetches the next panel while it uses one. Of an image of open size it is not known what
    share of that to ask for in one tile, and to compute that there takes longer than what it saves."""
    known = all(extent_of(axis) is not None for axis in anchor.axis[2:])
    fetches = known and not tile_by_tile(anchor) and not skips_rows(anchor)
    return fetches and _one_panel_a_thread(group, anchor, blocks)


def _tiles_in_panel(images: int | None, pixels: int | None, wide: int, threads: int) -> int:
    """How many tiles of ``wide`` of all ``pixels`` a thread takes at a time: the most that leave enough for
    all. A panel of weights stays in the first cache for as many."""
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
    """The knob ``tile``: how many blocks of channels, rows and pixels of a row are computed at once; threads
    share all tiles, or (``by_channels``) rows, of which each takes all pixels. Results are of dtype
    ``stored``."""
    dtype = anchor.output(0).dtype
    width, count = extent_of(pixels[-1]), extent_of(anchor.axis[1])
    even = width is None or (pixelwise and not group.target.machine.few_registers)
    one_row = pixelwise or len(pixels) < 2 or skips_rows(anchor)
    height = 1 if one_row else extent_of(pixels[-2])
    vectors = max(1, block // group.target.lanes(dtype))
    machine = group.target.machine
    if _unrolls_window(group, anchor):
        machine = replace(machine, vector_registers=machine.vector_registers - SPARE)
    along = product(extent_of(a) for a in pixels) if pixelwise else width
    # One axis of all pixels has a tail of its own, at the end of the image and not of each row.
    threads = threads_for(group.target, work_of(anchor))
    images, *lines = (extent_of(a) for a in (anchor.axis[0], *pixels[:-1]))
    by_rows = Shared(threads, product([images, *lines]), not by_channels)
    if even:
        best = near_even_tile(width, count, vectors, machine, by_rows)
    else:
        shared = Shared(threads, images) if pixelwise else by_rows
        best = register_tile(along, count, vectors, machine, False, shared)
    for divides in (even, True):
        if pixelwise and _spans_rows(best.rows, pixels):
            best = register_tile(width, count, vectors, machine, divides, by_rows)
    if pixelwise and is_paired(anchor) and stored in ("int8", "uint8"):
        best = _rounded_beside_products(best, width, machine)
    high = _rows_at_once(best, width, height, vectors, machine.vector_registers)
    if height is not None and high > 1:
        panels = None if count is None else -(-count // best.blocks)
        high = part_for(height, product([images, *lines[:-1], panels]), high, threads)
    default = (-1, best.blocks, high, best.rows)
    return group.tile(
        width, candidates(along, height, count, vectors, group.target.machine, default), default
    )


def _rounded_beside_products(tile: RegisterTile, width: int | None, machine: Machine) -> RegisterTile:
    """``tile``, or a part of it whose sums are rounded to bytes while those of the next one are begun.

    Rounding takes as long as several products of each sum. The processor does it beside the next tile's
    products if it has these within its window, so a tile should have no more sums than its multiply-adds need
    to be busy, and a margin. Four vectors of 32 bits make one of bytes.
    """
    busy = BUSY_MARGIN * machine.multiply_adds_per_cycle * machine.multiply_add_latency
    rows = PACKED * math.ceil(busy / (PACKED * tile.blocks))
    return replace(tile, rows=rows) if width is not None and width % rows == 0 and rows < tile.rows else tile


def _spans_rows(along: int, pixels: Sequence[IterVar]) -> bool:
    """Whether tiles of ``along`` pixels fill the image and yet not its rows: such a tile's place is found
    by a remainder that bounds do not see through, and two whole rows would be taken for it."""
    total, width = product(map(extent_of, pixels)), extent_of(pixels[-1])
    return total is not None and width is not None and total % along == 0 and width % along > 0


def _shares_tiles(anchor: ComputeOp, blocks: int) -> bool:
    """Whether threads must share the tiles of a row: rows, and panels of ``blocks`` blocks of channels, are
    too few for them. Tiles are in one loop then, guarded where they may hang over the end, and a guard that
    only a run decides stands in the innermost loop."""
    images, count, *heights = (extent_of(a) for a in anchor.axis[:-1])
    rows = product([images, *heights[:-1]])
    if rows is None or rows >= ENOUGH_TURNS:
        return False
    return heights[-1] is not None or count is None or rows * (-(-count // blocks)) < ENOUGH_PANELS


def _rows_at_once(
    tile: RegisterTile, width: int | None, height: int | None, vectors: int, registers: int
) -> int:
    """How many rows a tile of whole rows takes: what is loaded for one serves the others."""
    if width is None or height is None or tile.rows < width:
        return 1
    wide = tile.blocks * vectors
    most = min((registers - wide - 1) // (wide * width), height, MOST_ROWS)
    return max((n for n in range(1, most + 1) if waste(height, n) <= MOST_ROW_TAIL), default=1)


def _in_panels(group: Group, anchor: ComputeOp, blocks: int) -> bool:
    """Whether one thread is best given all tiles of some panel of weights, of ``blocks`` blocks, while the
    next comes from memory."""
    images, count, *_, lanes = (extent_of(a) for a in anchor.axis)
    weights = product([blocks, lanes, *(extent_of(a) for a in anchor.reduce_axis)])
    panels = product([images, None if count is None else -(-count // blocks)])
    if weights is None or panels is None:
        return False
    size = weights * dtypes.bytes_of(anchor.inputs[-1].dtype)
    return panels >= ENOUGH_PANELS and size <= group.target.machine.working_sets.panel


def accumulate(
    group: Group, anchor: ComputeOp, host: Stage, place: IterVar, ahead: bool, by_vectors: bool
) -> None:
    """Compute a packed anchor at ``place`` of ``host``: the reduction outside, the tile unrolled inside.

    The reduction is one loop: a loop over three taps inside another ends before its branch is predicted, and
    unrolled taps share so many scalars that sums are spilled, unless registers are left for those. Only the
    rows of a window that skips some (``skips_rows``) have a loop of their own, the outermost.
    ``by_vectors``: see ``vectors_first``.

    Knobs: ``channels``, how many input channels an iteration of that loop takes, ``taps``, how many of the
    axes of the window, ``ahead``, how many iterations before its use a weight is asked for (0: not), or
    "panel": the next panel of weights is while this one is used (``fetch_ahead``), the default if ``ahead``.
    """
    stage = group.stage(anchor)
    batch, block, *pixels, lane = anchor.axis
    channel, *taps = anchor.reduce_axis
    pair = [taps.pop()] if is_paired(anchor) else []
    at_once = group.knob("channels", whole_steps(channel), _channels_at_once(group, anchor))
    unrolled = _unrolled_taps(taps[1:] if skips_rows(anchor) else taps)
    unrolled = group.knob("taps", unrolled, max(unrolled) if _unrolls_window(group, anchor) else None)
    distance = group.knob("ahead", ("panel", *AHEAD), "panel" if ahead else near_distance(group, anchor))
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
        near = near_distance(group, anchor)
        fetch_ahead(stage, host, place, iteration, iterations, _whole_windows(group, outside), near)
    elif distance:
        stage.prefetch(anchor.inputs[-1], iteration, distance)


def _unrolls_window(group: Group, anchor: ComputeOp) -> bool:
    """Whether all places of the window are one iteration by default: where registers are few, a place is so
    short an iteration that the branches of loops over three places are what it waits for."""
    places = product(map(extent_of, anchor.reduce_axis[1:]))
    few = group.target.machine.few_registers
    return few and places is not None and 1 < places <= MOST_TAPS


def _channels_at_once(group: Group, anchor: ComputeOp) -> int:
    """Where registers are few, a pixel's block of channels is one iteration of a convolution of 1x1: as a
    loop inside the one over blocks its last branch is mispredicted, and what comes from a far cache waited
    for."""
    channel, *taps = anchor.reduce_axis
    whole = group.target.machine.few_registers and product(map(extent_of, taps)) == 1
    return max(
        n for n in whole_steps(channel) if n <= (group.target.lanes(anchor.output(0).dtype) if whole else 1)
    )


def _whole_windows(group: Group, taps: Sequence[IterVar]) -> int:
    """How many iterations of the loop over the reduction, of channels and ``taps``, stay together where that
    loop is cut: with whole windows it has no quotients to find its place by. Where counters take time,
    ResNet-50 is slower with theirs, and much slower with few registers."""
    window = product(extent_of(axis) for axis in taps)
    return window if group.target.machine.counters_take_time and window is not None else 1


def _unrolled_taps(taps: Sequence[IterVar]) -> list[int]:
    """How many of the window's axes, from the last on, may be unrolled, the outermost not of one place."""
    return [n for n in unrollable(taps, MOST_TAPS) if n == 0 or extent_of(taps[-n]) != 1]
