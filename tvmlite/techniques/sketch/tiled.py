"""Multi-level tiling of a reduction with vectors of neighbouring results, with accumulators in registers.

The levels are Ansor's for a CPU (Zheng et al., OSDI 2020): loops over blocks, over the tiles of a block, the
reduction, a few of its steps unrolled, and the tile itself. The tile's accumulators stay in registers until
they are complete; the epilogue is computed as they are stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.space.knobs import divisors
from tvmlite.te.templates.group import compute_of, extent_of, product, work_of
from tvmlite.te.templates.share import MEASURED_CORES, enough, is_even, share, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, TensorRead
from tvmlite.techniques.common.nest import in_registers, several_vectors
from tvmlite.techniques.elementwise.injective import elementwise_loops, vectorize
from tvmlite.techniques.sketch.access import ABSENT, loops_of
from tvmlite.techniques.sketch.copies import copy_operand
from tvmlite.techniques.sketch.nest import (
    Nest,
    chosen_blocks,
    chosen_copies,
    chosen_order,
    chosen_place,
    chosen_tile,
)
from tvmlite.techniques.sketch.tiles import Reduction, Tile

LONGEST_ITERATION = 256
"""The most vector multiply-adds in one iteration of the reduction's loop, with steps unrolled: longer bodies
are no faster and take long to compile."""

UNROLLED_STORES = 160
"""The most stores of a tile that are unrolled."""


def tiled(nest: Nest, reads: Sequence[TensorRead], reduction: Reduction, tiles: Sequence[Tile]) -> None:
    """Schedule the reduction, whose formula has ``reads``, and its host; ``tiles`` are the candidates."""
    group, op = nest.group, nest.op
    threads = threads_for(group.target, work_of(group.formula(op)))
    tiles = sorted(tiles, key=lambda tile: not is_even(_iterations(reduction, tile), threads))
    tile = chosen_tile(nest, reduction, tiles)
    order = chosen_order(nest, reduction, tiles[0])
    blocks = chosen_blocks(nest, reduction, tiles)
    copies = chosen_copies(nest, reduction, reads, tile)
    placed = {operand: chosen_place(nest, operand, copies) for operand in nest.plan.unplaced_operands(op)}
    for operand, place in placed.items():
        nest.plan.operands[operand] = place
        if place == "inline":
            group.stage(operand).compute_inline()
    chunks = group.knob(nest.knob("chunks"), [16, 4, 64] if threads > 1 else [1])
    inner, made = _accumulators(nest, reduction, tile)
    transposed = None
    if reduction.stored not in (None, tile.vector):
        transposed, inner = inner, group.stage(group.schedule.cache_write(inner.op.output(0), "local"))
    host = group.stage(nest.host)
    outer = _outer_loops(host, made, reduction, tile, order, blocks)
    outer = _in_parallel(host, outer, chunks, threads)
    _store(host, made, reduction, tile)
    place = outer[-1][0] if outer else host.fuse()
    if transposed is not None:
        transposed.compute_at(host, place)
        _in_vectors(transposed, compute_of(transposed).axis, tile)
    inner.compute_at(host, place)
    _accumulate(nest, inner, tile)
    for read in reads:
        if read.tensor in copies:
            copy_operand(nest.plan, inner, read, tile, nest.single_axes(), copies[read.tensor])
    for operand, where in placed.items():
        if operand.output(0) in copies:
            continue
        if where == "at" and len(outer) > 1:
            stage = group.stage(operand)
            stage.compute_at(host, outer[0][0])
            vectorize(stage, operand.axis[-1], extent_of(operand.axis[-1]), reduction.lanes)
        elif where != "inline":
            elementwise_loops(group, operand.output(0))


def _iterations(reduction: Reduction, tile: Tile) -> int | None:
    """The number of tiles; None if not known."""
    extents = zip(reduction.extents, tile.sizes, strict=True)
    return product(None if extent is None else -(-extent // size) for extent, size in extents)


def _inner_axes(reduction: Reduction, tile: Tile) -> list[int]:
    """The axes other than the vector's, in loop order within a step: those that vectors depend on innermost,
    so that a loaded scalar is multiplied by all vectors at once and then no longer needed."""
    vectors = [o for o in reduction.operands if o.patterns[tile.vector] != ABSENT]
    others = [n for n in range(len(reduction.extents)) if n != tile.vector]
    return sorted(others, key=lambda n: any(o.patterns[n] != ABSENT for o in vectors))


def _accumulators(nest: Nest, reduction: Reduction, tile: Tile) -> tuple[Stage, list[IterVar | None]]:
    """The stage of the sums, with one axis for each of the nest's, the vector's last; and the loops of the
    host for these axes, in the nest's order."""
    group, stage = nest.group, nest.group.stage(nest.op)
    loops = [stage.fuse(*axes) for axes in nest.axes]
    places = [*_inner_axes(reduction, tile), tile.vector]
    stage.reorder(*(loops[n] for n in places))
    sums = group.schedule.cache_write(nest.op.output(0), "local")
    if nest.host.op is nest.op:
        return group.stage(sums), list(loops)
    stage.compute_inline()
    return group.stage(sums), loops_of(group.stage(nest.host), nest.parts_of_axes())


def _outer_loops(
    host: Stage,
    loops: list[IterVar | None],
    reduction: Reduction,
    tile: Tile,
    order: Sequence[int],
    blocks: dict[int, int],
) -> list[tuple[IterVar, int | None]]:
    """Make the loops over blocks and over the tiles of a block; return them with their iterations. The loops
    inside a tile remain in ``loops``."""
    over_blocks: list[tuple[IterVar, int | None]] = []
    over_tiles: list[tuple[IterVar, int | None]] = []
    for axis in order:
        extent, size = reduction.extents[axis], tile.sizes[axis]
        loop = loops[axis]
        assert loop is not None
        count = None if extent is None else -(-extent // size)
        loops[axis] = None
        if size > 1:
            loop, loops[axis] = host.split(loop, factor=size)
        block = blocks.get(axis, 1)
        if block > 1 and (count is None or count > block):
            loop, within = host.split(loop, factor=block)
            over_tiles.append((within, block))
            count = None if count is None else -(-count // block)
        if count != 1:
            over_blocks.append((loop, count))
    rest = [leaf for leaf in host.leaf_iter_vars if not any(leaf is one for one in loops if one is not None)]
    outer = [*over_blocks, *over_tiles]
    single = [leaf for leaf in rest if not any(leaf is one for one, _ in outer)]
    host.reorder(*single, *(loop for loop, _ in outer), *(one for one in loops if one is not None))
    return outer or [(one, 1) for one in single]


def _in_parallel(
    host: Stage, outer: list[tuple[IterVar, int | None]], chunks: int, threads: int
) -> list[tuple[IterVar, int | None]]:
    """Fuse outermost loops into one parallel loop with at least ``chunks`` iterations, if there are that
    many, and enough for ``threads``; return the new outer loops."""
    if chunks <= 1 or not outer:
        return outer
    total, taken = 1, 0
    for _, count in outer:
        taken += 1
        total = total if count is None else total * count
        if count is None or enough(total, chunks, threads):
            break
    if len(outer) > 1 and taken == len(outer) and total > 1 and threads <= MEASURED_CORES:
        taken = max(1, taken - 1) if outer[-1][1] is not None and total // outer[-1][1] >= 2 else taken
    whole = host.fuse(*(loop for loop, _ in outer[:taken]))
    share(host, whole, threads, "a tile" if taken == len(outer) else "a row of tiles")
    iterations = product(count for _, count in outer[:taken])
    return [(whole, iterations), *outer[taken:]]


def _store(host: Stage, loops: list[IterVar | None], reduction: Reduction, tile: Tile) -> None:
    """Schedule the stores of a tile's results, in vectors if they are contiguous."""
    along = reduction.stored if reduction.stored is not None and loops[reduction.stored] else None
    vector, rest = None, [n for n, loop in enumerate(loops) if loop is not None and n != along]
    inside = [loops[n] for n in rest]
    count = math.prod(tile.sizes)
    if along is not None:
        size = tile.sizes[along]
        lanes = max(d for d in divisors(size) if d <= reduction.lanes)
        whole = loops[along]
        assert whole is not None
        if lanes < size:
            several, vector = host.split(whole, factor=lanes)
            inside.append(several)
        else:
            vector = whole
        count //= lanes
        inside.append(vector)
    loops_inside = [loop for loop in inside if loop is not None]
    if loops_inside:
        host.reorder(*loops_inside)
    for loop in loops_inside:
        if loop is vector:
            host.vectorize(loop)
        elif along == tile.vector and count <= UNROLLED_STORES:
            host.unroll(loop)


def _accumulate(nest: Nest, stage: Stage, tile: Tile) -> None:
    """Schedule the sums of a tile: some steps of the reduction per iteration, each for all sums."""
    op = compute_of(stage)
    steps, several = _steps(nest, stage, op, tile)
    stage.reorder(*steps, *([] if several is None else [several]), *op.axis)
    if several is not None:
        stage.unroll(several)
    _in_vectors(stage, op.axis, tile)


def _in_vectors(stage: Stage, axes: Sequence[IterVar], tile: Tile) -> None:
    """Unroll the elements of a tile, with vectors along the last axis."""
    *rest, lane = axes
    if tile.sizes[tile.vector] > tile.lanes:
        vectors, lane = several_vectors(stage, lane, tile.lanes)
        rest += vectors
    in_registers(stage, rest, lane)


def _steps(nest: Nest, stage: Stage, op: ComputeOp, tile: Tile) -> tuple[list[IterVar], IterVar | None]:
    """The loops of the reduction, and the loop over the unrolled steps of an iteration, if there is one."""
    config, fuses = nest.group.config, False
    moving = [axis for axis in op.reduce_axis if extent_of(axis) != 1]
    unit_axes = [axis for axis in op.reduce_axis if extent_of(axis) == 1]
    if len(moving) > 1:
        fixed = max(0, len(moving) - 3)
        orders = [[*range(fixed), *one] for one in itertools.permutations(range(fixed, len(moving)))]
        config.define_reorder(nest.knob("reduce"), moving, policy="candidate", candidate=orders)
        fuses = nest.group.knob(nest.knob("fuse"), [True, False])
        moving = [moving[place] for place in config[nest.knob("reduce")].permutation]
    stage.reorder(*unit_axes, *moving)
    most = nest.group.knob(nest.knob("steps"), [1, 2, 4, 8])
    if not moving:
        return unit_axes, None
    extents = [extent_of(axis) for axis in moving]
    if len(moving) > 1 and fuses:
        moving, extents = [stage.fuse(*moving)], [product(extents)]
    iterations = extents[-1]
    most = min(most, max(1, LONGEST_ITERATION // tile.sums))
    unrolled = 1 if iterations is None else max(d for d in divisors(iterations) if d <= most)
    if unrolled == 1:
        return [*unit_axes, *moving], None
    if unrolled == iterations and len(moving) > 1:
        return [*unit_axes, *moving[:-1]], moving[-1]
    outer, inner = stage.split(moving[-1], factor=unrolled)
    return [*unit_axes, *moving[:-1], outer], inner
