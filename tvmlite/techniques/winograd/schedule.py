"""Schedule of Winograd convolutions: transform, multiply and transform back chunks of tiles, in cache."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.te import cost
from tvmlite.te.cost import Loop, Nest
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, compute_of, extent_of, product, work_of
from tvmlite.te.templates.share import is_even, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import (
    MANY,
    RegisterTile,
    candidates,
    registers_needed,
    step_of,
    vectors_first,
)
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.common.nest import in_registers
from tvmlite.techniques.elementwise.injective import schedule_other_outputs
from tvmlite.techniques.winograd.operator import WINOGRAD

ENOUGH_TILE_CHUNKS = 4
"""The least number of chunks of tiles to divide among threads; with fewer, the channels of a chunk are
divided as well. All tiles are then transformed first and have left the near caches when they are multiplied,
so the number is only one for each of four threads."""

LAST_CACHE_COST = 0.3
"""The cost of reading a byte from the last cache, relative to memory."""

CONFLICTING_STRIDE = 256
"""Rows whose length is a multiple of this many elements are padded by one vector: rows with a power-of-two
stride map to few sets of the nearest cache."""

TILES_PER_CHUNK = (1, 2, 3, 4, 6, 8)
"""The numbers of register tiles in a chunk; fewer are used if that makes chunks of equal size."""

PREFETCH_DISTANCES = (256, 0, 32, 64, 128, 512)
"""The prefetch distances of weights, in vectors. Weights are read from memory, as one long row for each block
of channels; the default is the processor's best distance (``Machine.prefetch_far``)."""


@dataclass(frozen=True)
class _Stages:
    """The stages: tiles transformed along one axis and both, products, half transformed back, pixels."""

    half_transformed: ComputeOp
    transformed: ComputeOp
    products: ComputeOp
    half_inverse: ComputeOp
    result: ComputeOp

    @staticmethod
    def of(group: Group) -> _Stages:
        names = ("halfway", "there", "products", "back", "result")
        return _Stages(*(group.tagged(f"winograd_{name}")[-1] for name in names))


@template("winograd", WINOGRAD)
def winograd(group: Group) -> None:
    """Transform a chunk of tiles; then, for some blocks of output channels at a time, compute one matrix
    product for each position in a tile, transform each tile's products back and store them with the epilogue.

    Knobs: ``tile`` (blocks of channels, tiles), the accumulators in registers; ``several``, how many of those
    make a chunk; ``first``, whether all tiles are transformed before the rest is divided among threads;
    ``ahead``, the prefetch distance.
    """
    parts = _Stages.of(group)
    host = group.host(parts.result.output(0))
    group.inline_all_but({host.op, parts.transformed, parts.half_inverse, parts.half_transformed})
    sums = group.schedule.cache_write(parts.products.output(0), "local").op
    tile = _tile(group, parts.products)
    several = _tiles_per_chunk(group, parts, tile)
    stage, step = group.stage(host), dict(parts.result.attrs)["tile_size"]
    batch, block, *pixels, lane = group.axes(host)
    (y, i), (x, j) = (stage.split(axis, factor=step) for axis in pixels)
    stage.reorder(batch, block, y, x, i, j, lane)
    chunk, one = stage.split(stage.fuse(y, x), factor=tile.rows * several)
    channels, inner = stage.split(block, factor=tile.blocks)
    in_registers(stage, [i, j], lane, [batch, chunk, channels, one, inner])
    place, channels = _divide_among_threads(
        group, stage, parts.products, [batch, chunk, channels], tile.rows * several
    )
    _transform_axis(group.stage(parts.half_inverse), stage, inner)
    _multiply(group, parts.products, group.stage(sums), stage, channels, tile)
    _transform_tiles(group, parts, stage, place)
    schedule_other_outputs(group, host)


def _tile(group: Group, products: ComputeOp) -> RegisterTile:
    """The knob ``tile``; by default the size with the least estimated time.

    Tiles past the last are computed, though not read; blocks of channels past the last do not exist.
    """
    dtype, lanes = products.output(0).dtype, extent_of(products.axis[-1])
    threads, images = threads_for(group.target, work_of(products)), extent_of(products.axis[0])
    tiles, channels = extent_of(products.axis[2]), extent_of(products.axis[1])
    assert lanes is not None
    vectors, machine = max(1, lanes // group.target.lanes(dtype)), group.target.machine
    registers = machine.vector_registers

    def time(rows: int, blocks: int) -> tuple[bool, float]:
        loops = Loop(tiles or MANY, rows, padded=True), Loop(channels or MANY, blocks, padded=True)
        iterations = (
            None if None in (tiles, channels) else product(-(-one.extent // one.size) for one in loops)
        )
        uneven = not is_even(product([images, iterations]), threads)
        return uneven, cost.cycles(Nest(step_of(rows, blocks * vectors), loops), machine).total

    fitting = [
        (rows, blocks)
        for blocks in range(1, registers)
        for rows in range(1, registers)
        if registers_needed(rows, blocks * vectors, machine) <= registers
        and (channels or blocks) % blocks == 0
    ]
    rows, blocks = min(fitting, key=lambda one: time(*one), default=(1, 1))
    default = (-1, blocks, 1, rows)
    blocks, _, rows = group.tile(tiles, candidates(tiles, 1, channels, vectors, machine, default), default)
    return RegisterTile(rows, blocks)


def _tiles_per_chunk(group: Group, parts: _Stages, tile: RegisterTile) -> int:
    """The knob ``several``; by default the value with the least traffic to the second cache: the weight is
    read once per chunk, a chunk's tiles once per ``tile.blocks`` blocks of output channels."""
    tiles, channels = extent_of(parts.products.axis[2]), extent_of(parts.products.axis[1])
    places = product(extent_of(axis) for axis in parts.products.axis[3:5]) or 1
    row = 4 * places * (product(extent_of(axis) for axis in parts.transformed.axis[4:6]) or 1)
    weight = row * (channels or 1) * (extent_of(parts.products.axis[-1]) or 1)
    sizes = group.target.machine.working_sets
    far = (
        0.0 if weight <= sizes.winograd_tiles else LAST_CACHE_COST if weight <= sizes.winograd_weight else 1.0
    )
    iterations = -(-(tiles or MANY) // tile.rows)

    def traffic(several: int) -> float:
        stays = several * tile.rows * row <= sizes.winograd_tiles
        reads = iterations * tile.rows * row * -(-(channels or 1) // tile.blocks)
        return -(-iterations // several) * weight * far + (0.0 if stays else reads * LAST_CACHE_COST)

    def even(several: int) -> int:
        return -(-iterations // -(-iterations // several))

    threads, blocks = threads_for(group.target, work_of(parts.products)), -(-(channels or 1) // tile.blocks)

    def uneven(several: int) -> bool:
        chunks = product([extent_of(parts.products.axis[0]), -(-iterations // several)])
        return tiles is not None and not any(is_even(product([chunks, n]), threads) for n in (1, blocks))

    best = min(TILES_PER_CHUNK, key=lambda several: (uneven(even(several)), traffic(even(several))))
    return even(group.knob("several", TILES_PER_CHUNK, best))


def _divide_among_threads(
    group: Group, stage: Stage, products: ComputeOp, outer: list[IterVar], size: int
) -> tuple[IterVar | None, IterVar]:
    """Divide the work among threads; return the loops in which chunks of ``size`` tiles are transformed
    (None: all tiles before the loops) and multiplied."""
    batch, chunk, channels = outer
    threads = threads_for(group.target, work_of(products))
    tiles = product(extent_of(axis) for axis in (products.axis[0], products.axis[2]))
    few = threads > 1 and tiles is not None and tiles <= (ENOUGH_TILE_CHUNKS - 1) * size
    uneven = tiles is not None and not is_even(-(-tiles // size), threads)
    if group.knob("first", [False, True], few or uneven):
        channels = stage.fuse(*outer)
        place, shared = None, channels
    else:
        place = shared = stage.fuse(batch, chunk)
    share(stage, shared, threads, "a chunk of tiles")
    return place, channels


def _transform_axis(stage: Stage, host: Stage, place: IterVar) -> None:
    """Compute the transform of one tile along one axis, a vector of channels at a time."""
    stage.compute_at(host, place)
    *_, a, b, lane = stage.leaf_iter_vars
    stage.reorder(b, a)
    in_registers(stage, [a, b], lane)


def _multiply(
    group: Group, products: ComputeOp, sums: Stage, host: Stage, place: IterVar, size: RegisterTile
) -> None:
    """Compute a matrix product per position in a tile: accumulators in registers, input channels outside."""
    stage = group.stage(products)
    stage.compute_at(host, place)
    batch, block, tile, a, b, lane = stage.leaf_iter_vars
    tiles, tile = stage.split(tile, factor=size.rows)
    in_registers(stage, [tile, block], lane, [batch, a, b, tiles])
    sums.compute_at(stage, tiles)
    op = compute_of(sums)
    batch, block, tile, a, b, lane = op.axis
    (channel,) = op.reduce_axis
    by_vectors = vectors_first(size, extent_of(lane), group.target, products.output(0).dtype)
    inside = [block, tile] if by_vectors else [tile, block]
    in_registers(sums, inside, lane, [batch, a, b, channel])
    ahead = group.knob("ahead", PREFETCH_DISTANCES, group.target.machine.prefetch_far)
    if ahead:
        sums.prefetch(op.inputs[-1], channel, ahead)


def _transform_tiles(group: Group, parts: _Stages, host: Stage, place: IterVar | None) -> None:
    """Transform tiles one by one, a vector of channels at a time: at ``place``, or all of them first."""
    stage = group.stage(parts.transformed)
    batch, a, b, tile, block, lane = stage.leaf_iter_vars
    in_registers(stage, [a, b], lane, [batch, tile, block])
    lanes, blocks = extent_of(lane), extent_of(block)
    if lanes and blocks and lanes * blocks % CONFLICTING_STRIDE == 0:
        stage.storage_align(tile, CONFLICTING_STRIDE, lanes)
    _transform_axis(group.stage(parts.half_transformed), stage, block)
    if place is not None:
        stage.compute_at(host, place)
    else:
        share(stage, stage.fuse(batch, tile), threads_for(group.target, work_of(parts.transformed)), "a tile")
