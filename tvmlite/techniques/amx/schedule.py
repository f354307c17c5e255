"""Schedules of matrix products and convolutions in AMX's tile registers, and the choice of tile sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tvmlite.core import dtype as dtypes
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, extent_of, number, product, work_of
from tvmlite.te.templates.share import enough, is_even, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.common import amx
from tvmlite.techniques.common.dot import is_paired
from tvmlite.techniques.common.nest import (
    ENOUGH_COLUMN_TILES,
    STEPS_PER_ITERATION,
    Panel,
    order_and_parallelize,
)
from tvmlite.techniques.elementwise.injective import elementwise_loops, schedule_other_outputs

LATENCY = 30
"""Cycles from a product to the next on the same sums, in addition to one per row."""

ROW_LOAD_CYCLES = 0.25
"""Extra cycles for each row that is loaded: it often comes from the second cache."""

LEAST_ROWS = 6
"""Tiles of fewer rows are no faster than vectors."""


@dataclass(frozen=True)
class Tile:
    """The sums that are computed at once: ``rows`` rows of each of ``images`` images (or rows of an image),
    by ``columns`` times 16 columns."""

    columns: int
    images: int
    rows: int

    @property
    def register_rows(self) -> tuple[int, ...]:
        """The rows of each register: ``rows`` for each image, or ``rows`` divided as evenly as possible."""
        if self.images > 1:
            return (self.rows,) * self.images
        count = -(-self.rows // amx.MOST_ROWS)
        least, more = divmod(self.rows, count)
        return (least + 1,) * more + (least,) * (count - more)

    @property
    def fits(self) -> bool:
        """Whether there are enough registers, and none has fewer than ``LEAST_ROWS`` rows."""
        within = min(self.register_rows) >= LEAST_ROWS and max(self.register_rows) <= amx.MOST_ROWS
        return within and amx.registers(self.register_rows, self.columns) <= amx.REGISTERS

    @property
    def cycles(self) -> float:
        """The cycles of a reduction step per 16 sums. (``te.cost`` models the vector ports; tiles have their
        own unit, which processes one row per cycle.)"""
        rows = self.rows * self.images
        lines = rows + self.columns * amx.STEPS
        work = rows * self.columns
        return (max(work, LATENCY + max(self.register_rows)) + ROW_LOAD_CYCLES * lines) / work


def fits(group: Group, anchor: ComputeOp) -> bool:
    """Whether the target has tiles for the dtypes of ``anchor``, whose reduction consists of whole tile steps
    and whose extents are all known."""
    kind = amx.KINDS.get(anchor.inputs[0].dtype)
    if kind is None or not group.target.has(kind.needs) or not is_paired(anchor):
        return False
    if anchor.output(0).dtype != kind.sums or extent_of(anchor.reduce_axis[-1]) != kind.interleaved:
        return False
    channels = extent_of(anchor.reduce_axis[0])
    if channels is None or channels % amx.STEPS or extent_of(anchor.axis[-1]) != amx.LANES:
        return False
    return product(extent_of(a) for a in (*anchor.axis, *anchor.reduce_axis)) is not None


def tiles_of(rows: int, columns: Iterable[int], images: int = 1) -> list[Tile]:
    """The tiles that fit and whose rows and images divide ``rows`` and ``images``, the fastest first;
    ``columns`` are the allowed numbers of 16 columns."""
    found = [
        Tile(wide, many, high)
        for wide in columns
        for many in range(1, amx.REGISTERS)
        for high in range(1, amx.MOST_ROWS * amx.REGISTERS)
        if rows % high == 0 and images % many == 0
    ]
    return sorted(
        (tile for tile in found if tile.fits), key=lambda tile: (tile.cycles, -tile.rows, -tile.columns)
    )


def _choose_tile(
    group: Group, choices: Sequence[Tile], rows: int, iterations: Sequence[int], threads: int
) -> Tile:
    """The knob ``tile``: (multiples of 16 columns, images, rows). The default is the first of ``choices``
    whose number of ``iterations`` divides evenly among ``threads``, else the one with most iterations."""
    sizes = [(-1, one.columns, one.images, one.rows) for one in choices]
    even = [size for size, count in zip(sizes, iterations, strict=True) if is_even(count, threads)]
    most = sizes[max(range(len(iterations)), key=iterations.__getitem__)]
    return Tile(*group.tile(rows, sizes, even[0] if even else most))


def _steps(group: Group, computed: Stage, iteration: IterVar, count: int) -> tuple[IterVar, list[IterVar]]:
    """The knob ``steps``: how many of the ``count`` steps of the reduction over channels an iteration takes.
    Return the loop over iterations, and the loops over the steps of one."""
    several = group.knob("steps", [n for n in STEPS_PER_ITERATION if count % n == 0], 1)
    if several == 1:
        return iteration, []
    iteration, inner_step = computed.split(iteration, factor=several)
    computed.unroll(inner_step)
    return iteration, [inner_step]


@template("amx", anchors.DENSE, anchors.BATCH_MATMUL)
def tiled_product(group: Group) -> bool:
    """Schedule a dense layer by tiles, if any fits; whether one does.

    Knobs: ``tile``, ``steps``, those of ``order_and_parallelize``.
    """
    anchor = group.tagged("matmul_packed")[-1]
    if not fits(group, anchor):
        return False
    row, outer, lane = anchor.axis
    unpack = group.readers(anchor.output(0))[0].output(0)
    rows, blocks = extent_of(row), extent_of(outer)
    assert rows is not None
    assert blocks is not None
    choices = tiles_of(rows, [n for n in range(1, amx.REGISTERS) if blocks % n == 0])
    if not choices or number(unpack.shape[-1]) != blocks * amx.LANES:
        return False
    host = group.host(unpack)
    stage = group.stage(host)
    group.inline_all_but({host.op})
    threads = threads_for(group.target, work_of(anchor))
    iterations = [blocks // one.columns * (rows // one.rows) for one in choices]
    tile = _choose_tile(group, choices, rows, iterations, threads)
    *lead, column = group.axes(host)
    column_blocks, lanes = stage.split(column, factor=amx.LANES)
    column_tiles, inner_blocks = stage.split(column_blocks, factor=tile.columns)
    row_tiles, inner_rows = stage.split(stage.fuse(*lead), factor=tile.rows)
    stage.reorder(column_tiles, row_tiles, inner_rows, inner_blocks, lanes)
    stage.unroll(inner_blocks)
    stage.vectorize(lanes)
    panels = {"columns": Panel(0, blocks // tile.columns), "rows": Panel(1, rows // tile.rows)}
    grain = int(enough(blocks // tile.columns, ENOUGH_COLUMN_TILES, threads))
    loops = [column_tiles, row_tiles]
    place = order_and_parallelize(group, stage, [], loops, panels, threads, grain)
    computed = group.stage(anchor)
    computed.compute_at(stage, place)
    k, pair = anchor.reduce_axis
    iteration, step = computed.split(k, factor=amx.STEPS)
    iteration, inside = _steps(group, computed, iteration, (extent_of(k) or 0) // amx.STEPS)
    computed.reorder(iteration, *inside, row, outer, lane, step, pair)
    computed.tensorize(
        row, amx.tile_product(tile.register_rows, tile.columns, amx.ROWS, anchor.inputs[0].dtype)
    )
    schedule_other_outputs(group, host)
    return True


@template("amx", anchors.CONVOLUTION)
def tiled_convolution(group: Group) -> bool:
    """Schedule a convolution of channels in blocks by tiles, if any fits; whether one does.

    A register's rows are neighbouring pixels: of the whole image if the window is 1x1, else of a row of
    the image. Knobs: ``tile``, ``steps``, those of ``order_and_parallelize``.
    """
    found = group.tagged("conv2d_packed")
    if not found:
        return False
    anchor = found[-1]
    laid_out = group.readers(anchor.output(0))[0]
    source = anchor.inputs[0]
    in_blocks = isinstance(laid_out, ComputeOp) and laid_out.tag == "conv2d_blocked"
    if not in_blocks or not fits(group, anchor) or number(source.shape[-1]) != amx.KINDS[source.dtype].depth:
        return False
    batch, block, *spatial, lane = anchor.axis
    height = extent_of(spatial[-2]) if len(spatial) > 1 else 1
    blocks, along = extent_of(block), extent_of(spatial[-1])
    assert blocks is not None
    assert along is not None
    assert height is not None
    host = group.host(laid_out.output(0))
    several = (extent_of(group.axes(host)[-1]) or amx.LANES) // amx.LANES
    parts_of_vector = [n for n in range(1, several) if several % n == 0]
    wide = [*parts_of_vector, *(n for n in range(several, amx.REGISTERS, several) if blocks % n == 0)]
    pads, stage = group.tagged("pad"), group.stage(host)
    width = extent_of(group.axes(host)[-2]) or 1  # a tile must have whole rows of the image, or divide one
    whole = bool(dict(anchor.attrs).get("wide"))  # with unused pixels between rows, a tile must have all
    choices = [
        one
        for one in tiles_of(along, wide, height)
        if (one.rows == along if whole else not width % one.rows or not one.rows % width)
    ]
    if not choices:
        return False
    group.inline_all_but({host.op, *pads})
    for pad in pads:
        elementwise_loops(group, pad.output(0))
    threads, images = threads_for(group.target, work_of(anchor)), extent_of(batch) or 1
    iterations = [images * (blocks // o.columns) * (height // o.images) * (along // o.rows) for o in choices]
    tile = _choose_tile(group, choices, along, iterations, threads)
    image, channel, *pixels, vector = group.axes(host)
    rest = [] if len(spatial) < len(pixels) else pixels[:-1]
    tiles: list[IterVar] = []
    inner = list(pixels)
    if not whole:
        over, pixel = stage.split(pixels[-1] if rest else stage.fuse(*pixels), factor=tile.rows)
        tiles, inner = [over], [pixel]
    if tile.images > 1:
        rest[-1], inner_row = stage.split(rest[-1], factor=tile.images)
        inner = [inner_row, pixel]
    parts, vector = stage.split(vector, factor=amx.LANES)
    at_once = max(1, tile.columns // several)
    outer, inner_block = stage.split(channel, factor=at_once)
    if tile.columns < several:
        part, parts = stage.split(parts, factor=tile.columns)
        stage.reorder(image, outer, part, *rest, *tiles, inner_block, *inner, parts, vector)
        outer = stage.fuse(outer, part)
    else:
        stage.reorder(image, outer, *rest, *tiles, inner_block, *inner, parts, vector)
    stage.unroll(parts)
    stage.vectorize(vector)
    loops = [outer, *rest, *tiles]
    # the weights then stay in the first cache, and data is read only once
    if tiles and not rest and _weights(anchor) <= group.target.machine.working_sets.pointwise_weights:
        loops = [*tiles, outer]
    stage.reorder(image, *loops, inner_block, *inner, parts, vector)
    chunks = images * (blocks // tile.columns)
    grain = len(loops) - 1 if loops[0] is not outer or enough(chunks, ENOUGH_COLUMN_TILES, threads) else 0
    place = order_and_parallelize(group, stage, [image], loops, {}, threads, grain)
    computed = group.stage(anchor)
    computed.compute_at(stage, place)
    k, *taps, pair = anchor.reduce_axis
    iteration, step = computed.split(k, factor=amx.STEPS)
    iteration, inside = _steps(group, computed, iteration, (extent_of(k) or 0) // amx.STEPS)
    computed.reorder(batch, iteration, *taps, *inside, block, *spatial, lane, step, pair)
    form = amx.IMAGES if tile.images > 1 else amx.PIXELS
    computed.tensorize(block, amx.tile_product(tile.register_rows, tile.columns, form, source.dtype))
    schedule_other_outputs(group, host)
    return True


def _weights(anchor: ComputeOp) -> int:
    """The bytes of the weights of ``anchor``."""
    weight = anchor.inputs[-1]
    return (product(map(number, weight.shape)) or 0) * dtypes.bytes_of(weight.dtype)
