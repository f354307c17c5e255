"""Matrix products over packed panels, by register tiles: scalars of some rows times vectors of columns."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target
from tvmlite.te.loop.ir import SWEEP
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import GUARD
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, compute_of, extent_of, number, product, reduction_loops, work_of
from tvmlite.te.templates.share import enough, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import (
    RegisterTile,
    ThreadDivision,
    candidates,
    tail_of,
    tile_for,
    vectors_first,
)
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, PlaceholderOp
from tvmlite.techniques.common.dot import is_paired, pair_product, takes_single_tiles
from tvmlite.techniques.common.nest import (
    ENOUGH_COLUMN_TILES,
    PREFETCH_DISTANCES,
    Panel,
    dividing_steps,
    in_registers,
    order_and_parallelize,
    shared_loops,
)
from tvmlite.techniques.common.prefetch import prefetch_next_panel
from tvmlite.techniques.elementwise.injective import elementwise_loops, schedule_other_outputs
from tvmlite.techniques.packed_matmul.depth import default_depth, depths, split_reduction

FEW_ROWS = 4
"""With at most this many rows, packing the other matrix costs more than it saves: its elements are read about
once, and reading them dominates."""

MULTIPLY_ADD_WORK = 4
"""Units of work of a multiply-add, including the reads of its two elements."""

MOST_AHEAD = 8
"""The largest default prefetch distance in a stream of weights, in iterations."""


def columns_at_once(target: Target, dtype: str, rows: int | None, columns: int, depth: int) -> int:
    """The number of columns in a block of packed weights if ``rows`` rows (None: unknown) of ``depth``
    elements are multiplied by ``columns`` columns.

    It is one vector of ``target``; with few rows, as many as a register tile has, or fewer if there would not
    be enough blocks for all threads. The weights of a tile are then one contiguous stream, which a processor
    reads faster than eight streams. With many rows, a panel stays in a near cache, and an encoder is
    slower with blocks of several vectors.
    """
    lanes = target.lanes(dtype)
    if rows is None or rows > FEW_ROWS:
        return lanes
    blocks = -(-columns // lanes)
    shared = ThreadDivision(
        threads_for(target, rows * blocks * lanes * depth * MULTIPLY_ADD_WORK), rows=False
    )
    return tile_for(target, dtype, lanes, rows, blocks, shared=shared).blocks * lanes


@template("packed_matmul", anchors.DENSE, anchors.BATCH_MATMUL)
def matrix_product(group: Group) -> None:
    """Multiply scalars of one matrix by vectors of columns of the other, which is in packed panels.

    Knobs: ``packed``, whether panels that are not constant are stored, or read from the unpacked matrix;
    ``tile`` (blocks of columns, rows); those of ``order_and_parallelize``; ``steps``, how many reduction
    steps an iteration takes; ``ahead``, the prefetch distance of a stored panel in iterations (0: none), or
    "panel": the next panel is prefetched while one is used (``prefetch_next_panel``); ``depth``, the
    reduction steps of a part, which all tiles of a thread's share take before the next part (0: no parts).
    """
    anchor = group.tagged("matmul_packed")[-1]
    unpack = group.readers(anchor.output(0))[0].output(0)
    host = group.host(unpack)
    packs = _stored_packs(group, anchor)
    group.inline_all_but({host.op, *packs})
    for pack in packs:
        elementwise_loops(group, pack.output(0))
    *batch, row, outer, lane = anchor.axis
    block = extent_of(lane)
    assert block is not None
    threads = threads_for(group.target, work_of(anchor))
    tile = _tile(group, anchor, block, threads)
    stage = group.stage(host)
    *lead, column = group.axes(host)
    rows = stage.fuse(*lead[len(batch) :]) if len(lead) > len(batch) else None
    column_blocks, lanes = stage.split(column, factor=block)
    column_tiles, inner_blocks = stage.split(column_blocks, factor=tile.blocks)
    chunks = product([*(extent_of(a) for a in batch), _tile_count(extent_of(outer), tile.blocks)])
    few = not enough(chunks, ENOUGH_COLUMN_TILES, threads)
    row_tiles = inner_rows = None
    tail = GUARD if few else tail_of(extent_of(row))
    if rows is not None:
        row_tiles, inner_rows = stage.split(rows, factor=tile.rows, tail=tail)
    loops = [column_tiles, *([] if row_tiles is None else [row_tiles])]
    inside = [axis for axis in (inner_rows, inner_blocks) if axis is not None]
    in_registers(stage, inside, lanes, [*lead[: len(batch)], *loops])
    grain = 0 if row_tiles is None or few or takes_single_tiles(anchor) else 1
    panels = {"columns": Panel(0, extent_of(outer))}
    if row_tiles is not None:
        panels["rows"] = Panel(1, extent_of(row))
    least = 0 if row_tiles is None or tail == GUARD else 1
    place = order_and_parallelize(group, stage, lead[: len(batch)], loops, panels, threads, grain, least)
    if _is_weight_bound(anchor):
        for axis in shared_loops(stage):
            stage.pragma(axis, SWEEP)
    steps, iterations_ahead = _prefetch_defaults(group, anchor, tile.blocks)
    at_once = group.knob("steps", dividing_steps(anchor.reduce_axis[0]), steps)
    default_ahead = "panel" if place is row_tiles else 0
    ahead = group.knob(
        "ahead",
        ("panel", *PREFETCH_DISTANCES),
        default_ahead if iterations_ahead is None else iterations_ahead,
    )
    depth = _depth(group, anchor, threads > 1)
    if depth:
        split_reduction(group, anchor, stage, tile, depth, at_once, ahead)
    else:
        _whole_reduction(group, anchor, stage, place, tile, packs, at_once, ahead)
    schedule_other_outputs(group, host)


def _depth(group: Group, anchor: ComputeOp, parallel: bool) -> int:
    """The knob ``depth``; 0 without parallel loops, since parts are computed inside one."""
    if not parallel or is_paired(anchor):
        return 0
    return group.knob("depth", depths(anchor), default_depth(group, anchor))


def _whole_reduction(
    group: Group,
    anchor: ComputeOp,
    stage: Stage,
    place: IterVar,
    tile: RegisterTile,
    packs: list[ComputeOp],
    at_once: int,
    ahead: int | str,
) -> None:
    """Compute the anchor at the loop ``place`` of ``stage``, with the whole reduction of a tile at once."""
    if _is_latency_bound(group, anchor, tile, at_once):
        computed, iteration = _partial_sums(group, anchor, stage, place, at_once)
    else:
        computed = group.stage(anchor)
        by_vectors = vectors_first(tile, extent_of(anchor.axis[-1]), group.target, anchor.output(0).dtype)
        iteration = accumulate(computed, stage, place, pair_product(group, anchor), at_once, by_vectors)
    if ahead == "panel":
        iterations = extent_of(anchor.reduce_axis[0])
        prefetch_next_panel(
            computed,
            stage,
            place,
            iteration,
            None if iterations is None else iterations // at_once,
            several=at_once,
        )
    elif ahead and packs == group.tagged("pack"):
        computed.prefetch(anchor.inputs[-1], iteration, ahead)


def _is_weight_bound(anchor: ComputeOp) -> bool:
    """Whether rows are few and the weight is stored, so that reading the weight dominates."""
    rows = extent_of(anchor.axis[-3])
    return rows is not None and rows <= FEW_ROWS and isinstance(anchor.inputs[-1].op, PlaceholderOp)


def _prefetch_defaults(group: Group, anchor: ComputeOp, blocks: int) -> tuple[int, int | None]:
    """The defaults of the knobs ``steps`` and ``ahead`` for tiles of ``blocks`` blocks of columns. With few
    rows, ``Machine.stream_bytes`` of the weight are prefetched, unless the hardware does it better
    (see ``prefetches_streams``); with many rows, ``ahead`` is None."""
    lanes, weight, machine = extent_of(anchor.axis[-1]), anchor.inputs[-1], group.target.machine
    at_once = dividing_steps(anchor.reduce_axis[0])
    if lanes is None or not _is_weight_bound(anchor):
        return max(n for n in at_once if n <= _default_steps(group, anchor)), None
    iterations = machine.stream_bytes // (blocks * lanes * dtypes.bytes_of(weight.dtype))
    ahead = max(n for n in PREFETCH_DISTANCES if n <= min(MOST_AHEAD, max(1, iterations)))
    steps = max(n for n in at_once if n <= max(1, iterations // ahead))
    return steps, ahead if machine.prefetches_streams else 0


def _default_steps(group: Group, anchor: ComputeOp) -> int:
    """The most steps of an iteration by default, with many rows."""
    return 1 if is_paired(anchor) else group.target.machine.steps_per_iteration


def _stored_packs(group: Group, anchor: ComputeOp) -> list[ComputeOp]:
    """The operations that pack panels and are not inlined."""
    packs = group.tagged("pack")
    in_rows = all(not dict(op.attrs)["transposed"] for op in packs)
    if not packs or not in_rows:
        return packs
    rows = extent_of(anchor.axis[-3])
    return packs if group.knob("packed", (True, False), rows is None or rows > FEW_ROWS) else []


def _tile(group: Group, anchor: ComputeOp, block: int, threads: int) -> RegisterTile:
    """The knob ``tile``: the blocks of columns and the rows that are computed at once, by default with enough
    tiles for ``threads``. If blocks of weights are packed ``together``, a tile has whole packs, by default
    one pack for all rows, which are few."""
    dtype = anchor.output(0).dtype
    *batch, rows, blocks = (extent_of(a) for a in anchor.axis[:-1])
    together = dict(anchor.attrs).get("together", 1)
    if together > 1:
        best = RegisterTile(rows or 1, together)
    else:
        shared = ThreadDivision(threads, product(batch))
        best = tile_for(group.target, dtype, block, rows, blocks, rows is None, shared)
    vectors = max(1, block // group.target.lanes(dtype))
    made = candidates(rows, 1, blocks, vectors, group.target.machine, (-1, best.blocks, 1, best.rows))
    sizes = [(-1, wide, high) for _, wide, _, high in made if wide % together == 0]
    wide, high = group.tile(rows, sizes, (-1, best.blocks, best.rows))
    return RegisterTile(high, wide)


def _tile_count(extent: int | None, size: int) -> int | None:
    return None if extent is None else -(-extent // size)


def _is_latency_bound(group: Group, anchor: ComputeOp, tile: RegisterTile, steps: int) -> bool:
    """Whether ``tile`` has so few sums that each multiply-add waits for the one before, and there are enough
    registers for ``steps`` times as many sums."""
    vectors = max(1, (extent_of(anchor.axis[-1]) or 1) // group.target.lanes(anchor.output(0).dtype))
    sums = tile.rows * tile.blocks * vectors
    fit = (sums + tile.blocks * vectors) * steps + 1 <= group.target.vector_registers
    return steps > 1 and sums < group.target.machine.tile_costs.fewest_sums and fit and not is_paired(anchor)


def _partial_sums(
    group: Group, anchor: ComputeOp, host: Stage, place: IterVar, steps: int
) -> tuple[Stage, IterVar]:
    """Compute the anchor at ``place`` of the host from ``steps`` independent partial sums, each over every
    n-th step of the reduction. Return their stage, and its loop over the reduction."""
    _, step = group.stage(anchor).split(anchor.reduce_axis[0], factor=steps)
    partial = group.schedule.rfactor(anchor.output(0), step, factor_axis=len(anchor.axis) - 1)
    stage, whole = group.stage(partial), group.stage(anchor)
    *batch, row, block, step, lane = group.axes(partial)
    (iteration,) = reduction_loops(stage)
    stage.compute_at(host, place)
    in_registers(stage, [row, block, step], lane, [*batch, iteration])
    whole.unroll(accumulate(whole, host, place))
    return stage, iteration


def accumulate(
    stage: Stage,
    host: Stage,
    place: IterVar,
    dot: TensorIntrin | None = None,
    several: int = 1,
    by_vectors: bool = False,
) -> IterVar:
    """Compute the anchor at ``place`` of the host: the reduction outside, the tile unrolled inside.

    ``dot`` computes a vector from the reduction's last axis. Return the loop over the reduction, each
    iteration of which takes ``several`` steps. ``by_vectors``: see ``vectors_first``.
    """
    op = compute_of(stage)
    *batch, row, block, lane = op.axis
    stage.compute_at(host, place)
    (iteration, *steps), pair = (
        (op.reduce_axis, ()) if dot is None else (op.reduce_axis[:-1], op.reduce_axis[-1:])
    )
    inside: list[IterVar] = []
    if several > 1:
        iteration, step = stage.split(iteration, factor=several)
        stage.unroll(step)
        inside = [step]
    tile = [block, row] if by_vectors else [row, block]
    if dot is not None and (lanes := number(dot.op.output(0).shape[0])) != extent_of(lane):
        vector, lane = stage.split(lane, factor=lanes)
        stage.unroll(vector)
        tile.append(vector)
    stage.reorder(*batch, iteration, *inside, *steps, *tile, lane, *pair)
    stage.unroll(row)
    stage.unroll(block)
    if dot is None:
        stage.vectorize(lane)
    else:
        stage.tensorize(lane, dot)
    return iteration
