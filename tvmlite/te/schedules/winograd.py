"""Winograd convolutions: some tiles at a time go there, meet the weight, and come back, all in cache."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.core.target import Target
from tvmlite.te.schedules.group import Group, extent_of, product, template, work_of, worth_threads
from tvmlite.te.schedules.injective import elementwise_loops
from tvmlite.te.schedules.tile import MANY, step_cycles
from tvmlite.te.stage import Stage
from tvmlite.te.tensor import ComputeOp, IterVar

ENOUGH_CHUNKS = 4
"""With fewer chunks of tiles than this, threads share the channels of a chunk: all tiles go there first."""

ROOM = 600 << 10
"""Bytes that stay in the second cache: of a weight, or else of a chunk's tiles that all of it is read for."""


@dataclass(frozen=True)
class _Sizes:
    """A register tile is ``rows`` tiles by ``blocks`` blocks of channels; a chunk is ``several`` of them."""

    rows: int
    blocks: int
    several: int


@template("conv2d_winograd")
def winograd(group: Group) -> None:
    """A chunk of tiles is transformed; then, some blocks of output channels at a time, one matrix product
    for each place of a tile, and each tile's products transformed back and stored with what is fused behind.
    """
    (result,), (products,) = group.tagged("winograd_result"), group.tagged("winograd_products")
    (there,), (back,) = group.tagged("winograd_there"), group.tagged("winograd_back")
    halfway = group.tagged("winograd_halfway")[-1]
    host = group.host(result.output(0))
    group.inline_all_but({host.op, there, back, halfway})
    sums = group.schedule.cache_write(products.output(0), "local").op
    sizes = _sizes(products, there, group.target)
    stage, step = group.stage(host), dict(result.attrs)["tile_size"]
    batch, block, *pixels, lane = group.axes(host)
    (y, i), (x, j) = (stage.split(axis, factor=step) for axis in pixels)
    stage.reorder(batch, block, y, x, i, j, lane)
    chunk, tile = stage.split(stage.fuse(y, x), factor=sizes.rows * sizes.several)
    part, inner = stage.split(block, factor=sizes.blocks)
    stage.reorder(batch, chunk, part, tile, inner, i, j, lane)
    _unroll(stage, [i, j], lane)
    place, part = _spread(group, stage, there, products, [batch, chunk, part], sizes)
    _transform(group.stage(back), stage, inner)
    _multiply(group.stage(products), group.stage(sums), stage, part, sizes.rows)
    if place is not None:
        group.stage(there).compute_at(stage, place)
    _go_there(
        group.stage(there), group.stage(halfway), parallel=place is None and worth_threads(work_of(there))
    )
    for tensor in group.outputs:
        if tensor is not host:
            elementwise_loops(group, tensor)


def _sizes(products: ComputeOp, there: ComputeOp, target: Target) -> _Sizes:
    """The quickest register tile; as many on one another as leave the chunk's tiles in the second cache.

    Tiles past the last are computed too, nobody reads them; blocks of channels past the last are not there.
    """
    dtype, lanes = products.output(0).dtype, extent_of(products.axis[-1])
    tiles, channels = extent_of(products.axis[2]), extent_of(products.axis[1])
    assert lanes is not None
    vectors = max(1, lanes // target.lanes(dtype))

    def time(rows: int, blocks: int) -> float:
        turns = -(-(tiles or MANY) // rows) * (-(-(channels or MANY) // blocks))
        return turns * step_cycles(rows, blocks * vectors)

    fitting = [
        (rows, blocks)
        for blocks in range(1, target.vector_registers)
        for rows in range(1, target.vector_registers)
        if (rows + 1) * blocks * vectors < target.vector_registers and (channels or blocks) % blocks == 0
    ]
    rows, blocks = min(fitting, key=lambda one: time(*one), default=(1, 1))
    return _Sizes(rows, blocks, _several(products, there, rows))


def _several(products: ComputeOp, there: ComputeOp, rows: int) -> int:
    """How many register tiles a chunk has: the more, the less often a large weight is read."""
    tiles, channels = extent_of(products.axis[2]), extent_of(products.axis[1])
    places = product(extent_of(axis) for axis in products.axis[3:5]) or 1
    row = 4 * places * (product(extent_of(axis) for axis in there.axis[4:6]) or MANY)
    lanes = extent_of(products.axis[-1]) or 1
    if row * (channels or MANY) * lanes <= ROOM:
        return 1
    several = max(1, ROOM // (row * rows))
    return several if tiles is None else min(several, -(-tiles // rows))


def _spread(
    group: Group, stage: Stage, there: ComputeOp, products: ComputeOp, outer: list[IterVar], sizes: _Sizes
) -> tuple[IterVar | None, IterVar]:
    """Share out the work among threads; gives the loops where tiles go there (None: before all) and where
    they are multiplied."""
    batch, chunk, part = outer
    parallel = worth_threads(work_of(products))
    tiles = product(extent_of(axis) for axis in (products.axis[0], products.axis[2]))
    if parallel and tiles is not None and tiles <= (ENOUGH_CHUNKS - 1) * sizes.rows * sizes.several:
        part = stage.fuse(*outer)
        stage.parallel(part)
        return None, part
    chunk = stage.fuse(batch, chunk)
    if parallel:
        stage.parallel(chunk)
    return chunk, part


def _unroll(stage: Stage, axes: list[IterVar], lane: IterVar) -> None:
    for axis in axes:
        stage.unroll(axis)
    stage.vectorize(lane)


def _transform(stage: Stage, host: Stage, place: IterVar) -> None:
    """The first half of a transform of one tile, a vector of channels at a time."""
    stage.compute_at(host, place)
    *_, a, b, lane = stage.leaf_iter_vars
    stage.reorder(b, a)
    _unroll(stage, [a, b], lane)


def _multiply(stage: Stage, sums: Stage, host: Stage, place: IterVar, rows: int) -> None:
    """One matrix product for each place of a tile: accumulators in registers, input channels outside."""
    stage.compute_at(host, place)
    batch, block, tile, a, b, lane = stage.leaf_iter_vars
    tiles, tile = stage.split(tile, factor=rows)
    stage.reorder(batch, a, b, tiles, tile, block, lane)
    _unroll(stage, [tile, block], lane)
    sums.compute_at(stage, tiles)
    assert isinstance(sums.op, ComputeOp)
    batch, block, tile, a, b, lane = sums.op.axis
    sums.reorder(batch, a, b, *sums.op.reduce_axis, tile, block, lane)
    _unroll(sums, [tile, block], lane)


def _go_there(stage: Stage, halfway: Stage, parallel: bool) -> None:
    """Tile by tile, a vector of channels at a time."""
    batch, a, b, tile, block, lane = stage.leaf_iter_vars
    stage.reorder(batch, tile, block, a, b, lane)
    _unroll(stage, [a, b], lane)
    _transform(halfway, stage, block)
    if parallel:
        stage.parallel(stage.fuse(batch, tile))
