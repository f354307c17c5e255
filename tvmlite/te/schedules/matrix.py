"""Matrix products over packed panels: a tile of accumulators in registers, rows times vectors of columns."""

from __future__ import annotations

from tvmlite.te.intrin import x86
from tvmlite.te.schedules.ahead import fetch_ahead
from tvmlite.te.schedules.group import (
    Group,
    extent_of,
    product,
    template,
    work_of,
    worth_threads,
)
from tvmlite.te.schedules.injective import elementwise_loops
from tvmlite.te.schedules.tile import tail_of, tile_for
from tvmlite.te.stage import Stage
from tvmlite.te.stage_base import GUARD
from tvmlite.te.tensor import ComputeOp, IterVar
from tvmlite.te.tensor_intrin import TensorIntrin

FEW_ROWS = 4
"""With at most this many rows, packing the other matrix costs more than it gains."""

PAIR_LANES = 16
"""How many sums of pairs ``vdpbf16ps`` makes of whole registers."""

ENOUGH_CHUNKS = 8
"""A parallel loop of fewer iterations takes in the loop over row tiles as well."""


@template("dense", "batch_matmul")
def matrix_product(group: Group) -> None:
    """Scalars of one matrix against vectors of columns of the other, which come in packed panels."""
    anchor = group.tagged("matmul_packed")[-1]
    unpack = group.readers(anchor.output(0))[0].output(0)
    host = group.host(unpack)
    packs = [] if _is_short(group, anchor) else group.tagged("pack")
    group.inline_all_but({host.op, *packs})
    for pack in packs:
        elementwise_loops(group, pack.output(0))
    *batch, row, outer, lane = anchor.axis
    block = extent_of(lane)
    assert block is not None
    dtype = anchor.output(0).dtype
    height = extent_of(row)
    tile = tile_for(group.target, dtype, block, height, extent_of(outer), even=height is None)
    stage = group.stage(host)
    *lead, column = group.axes(host)
    rows = stage.fuse(*lead[len(batch) :]) if len(lead) > len(batch) else None
    column_blocks, lanes = stage.split(column, factor=block)
    column_tiles, inner_blocks = stage.split(column_blocks, factor=tile.blocks)
    chunks = product([*(extent_of(a) for a in batch), _tiles(extent_of(outer), tile.blocks)])
    few = chunks is not None and chunks < ENOUGH_CHUNKS
    row_tiles = inner_rows = None
    if rows is not None:
        tail = GUARD if few else tail_of(height)
        row_tiles, inner_rows = stage.split(rows, factor=tile.rows, tail=tail)
    outside = [*lead[: len(batch)], column_tiles]
    inside = [axis for axis in (inner_rows, inner_blocks) if axis is not None]
    stage.reorder(*outside, *([] if row_tiles is None else [row_tiles]), *inside, lanes)
    for axis in inside:
        stage.unroll(axis)
    stage.vectorize(lanes)
    place = _spread(stage, outside, row_tiles, few, worth_threads(work_of(anchor)))
    accumulate(group.stage(anchor), stage, place, _pair_product(group, anchor))
    if row_tiles is place:
        steps = anchor.reduce_axis[0]
        fetch_ahead(group.stage(anchor), stage, place, steps, extent_of(steps))
    for tensor in group.outputs:
        if tensor is not host:
            elementwise_loops(group, tensor)


def _is_short(group: Group, anchor: ComputeOp) -> bool:
    """Whether there are so few rows that panels are better read where they stand."""
    rows = extent_of(anchor.axis[-3])
    in_rows = all(not dict(op.attrs)["transposed"] for op in group.tagged("pack"))
    return rows is not None and rows <= FEW_ROWS and in_rows


def _tiles(extent: int | None, size: int) -> int | None:
    return None if extent is None else -(-extent // size)


def _spread(
    stage: Stage, outside: list[IterVar], row_tiles: IterVar | None, few: bool, parallel: bool
) -> IterVar:
    """Share the outer loops, which have ``few`` turns or enough, out among the threads; gives the loop in
    which a tile is computed."""
    if row_tiles is None:
        whole = stage.fuse(*outside)
        if parallel:
            stage.parallel(whole)
        return whole
    if not parallel:
        return row_tiles
    if few:
        row_tiles = stage.fuse(*outside, row_tiles)
        stage.parallel(row_tiles)
    else:
        stage.parallel(stage.fuse(*outside))
    return row_tiles


def _pair_product(group: Group, anchor: ComputeOp) -> TensorIntrin | None:
    """The instruction for sums of two products, where rows stand in pairs and the machine has it."""
    lanes = extent_of(anchor.axis[-1])
    if dict(anchor.attrs).get("paired") and lanes == PAIR_LANES and group.target.has("avx512bf16"):
        return x86.dot_16x1x16_bfloat16_float32()
    return None


def accumulate(stage: Stage, host: Stage, place: IterVar, dot: TensorIntrin | None = None) -> None:
    """Compute the anchor at ``place`` of the host: the reduction outside, the tile unrolled inside.

    ``dot`` computes a vector from the reduction's last axis.
    """
    op = stage.op
    assert isinstance(op, ComputeOp)
    *batch, row, block, lane = op.axis
    stage.compute_at(host, place)
    steps, pair = (op.reduce_axis, ()) if dot is None else (op.reduce_axis[:-1], op.reduce_axis[-1:])
    stage.reorder(*batch, *steps, row, block, lane, *pair)
    stage.unroll(row)
    stage.unroll(block)
    if dot is None:
        stage.vectorize(lane)
    else:
        stage.tensorize(lane, dot)
