"""Schedule of dense layers by Winograd's inner product: tiles of rows by one vector of columns, with an
unrolled group of terms as an iteration."""

from __future__ import annotations

from tvmlite.te.schedule.stage_base import GUARD
from tvmlite.te.templates.group import Group, extent_of, work_of
from tvmlite.te.templates.share import chunk_size, enough, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.templates.tile import tail_of
from tvmlite.te.tensor.tensor import ComputeOp, Operation
from tvmlite.techniques.common.nest import ENOUGH_COLUMN_TILES, Panel, in_registers, order_and_parallelize
from tvmlite.techniques.common.prefetch import prefetch_next_panel
from tvmlite.techniques.elementwise.injective import elementwise_loops, schedule_other_outputs
from tvmlite.techniques.inner_product.operator import INNER_PRODUCT
from tvmlite.techniques.reduction.reduction import place_rows, reduce_row
from tvmlite.techniques.winograd.schedule import CONFLICTING_STRIDE

REGISTERS_BESIDE_SUMS = 6
"""The vector registers of a tile that hold no sums: three weights of an iteration, two crosswise sums, and
one more."""

ENOUGH_ROWS = 12
"""The least number of rows of a tile that hides the other loads and the latency of multiply-adds."""

LEAST_ROWS = 4
"""The rows of the smallest tile that is worth measuring."""

ROWS_AT_ONCE = 8
"""The number of rows whose pair sums are computed in parallel: a row's additions wait for each other."""

GROUPS_PER_ITERATION = (1, 2, 4)
"""The numbers of groups of terms that one iteration of the reduction's loop may take."""


@template("inner_product", INNER_PRODUCT)
def dense_winograd(group: Group) -> None:
    """Scale the rows and compute the sums of their pairs; then compute tiles, as in a matrix product.

    Knobs: ``tile``, its rows; ``turns``, how many iterations are unrolled; ``ahead``, whether the next panel
    of weights is prefetched while one is used (``prefetch_next_panel``); those of ``order_and_parallelize``.
    """
    anchor = group.tagged("matmul_packed")[-1]
    host = group.host(group.readers(anchor.output(0))[0].output(0))
    _prepare(group, host.op)
    row, outer, lane = anchor.axis
    threads = threads_for(group.target, work_of(anchor))
    stage, height, blocks = group.stage(host), _tile_rows(group, anchor, threads), extent_of(outer)
    *lead, column = group.axes(host)
    columns, lanes = stage.split(column, factor=extent_of(lane))
    tail = tail_of(extent_of(row))
    tiles, inner = stage.split(stage.fuse(*lead), factor=height, tail=tail)
    in_registers(stage, [inner], lanes, [columns, tiles])
    panels = {"columns": Panel(0, blocks), "rows": Panel(1, extent_of(row))}
    grain, least = int(enough(blocks, ENOUGH_COLUMN_TILES, threads)), 0 if tail == GUARD else 1
    place = order_and_parallelize(group, stage, [], [columns, tiles], panels, threads, grain, least)
    iteration, step = anchor.reduce_axis
    count = extent_of(iteration) or 1
    several = group.knob("turns", [n for n in GROUPS_PER_ITERATION if count % n == 0])
    ahead = group.knob("ahead", ("panel", 0), "panel" if place is tiles else 0)
    computed = group.stage(anchor)
    computed.compute_at(stage, place)
    iteration, group_loop = computed.split(iteration, factor=several)
    computed.reorder(iteration, group_loop, step, *anchor.axis)
    in_registers(computed, [group_loop, step, row, outer], lane)
    if ahead == "panel":
        taken = several * (extent_of(step) or 1)
        prefetch_next_panel(computed, stage, place, iteration, count // several, several=taken)
    schedule_other_outputs(group, host)


def _prepare(group: Group, host: Operation) -> None:
    """Schedule the stages before the tiles: magnitudes of rows, scaled rows, and the sums of their pairs."""
    (magnitudes,), (rows,) = group.tagged("winograd_magnitudes"), group.tagged("winograd_rows")
    (sums,) = group.tagged("winograd_row_sums")
    group.inline_all_but({host, rows})
    formula = group.formula(magnitudes)
    partials = reduce_row(group, magnitudes, formula)
    threads = threads_for(group.target, work_of(formula))
    place_rows(group, magnitudes, magnitudes.output(0), partials, threads)
    elementwise_loops(group, rows.output(0))
    group.stage(rows).storage_align(rows.axis[0], CONFLICTING_STRIDE, group.target.lanes("float32"))
    stage = group.stage(sums)
    threads = threads_for(group.target, work_of(group.formula(rows.output(0))))
    at_once = chunk_size(extent_of(sums.axis[0]), 1, ROWS_AT_ONCE, threads)
    places, one = stage.split(sums.axis[0], factor=at_once)
    iteration, three = sums.reduce_axis
    stage.reorder(places, iteration, three, one)
    stage.unroll(three)
    stage.unroll(one)
    share(stage, places, threads, "a row")


def _tile_rows(group: Group, anchor: ComputeOp, threads: int) -> int:
    """The knob ``tile``: the number of rows computed at once; by default the one with the fewest rows past
    the last and enough tiles for ``threads``."""
    rows, blocks = extent_of(anchor.axis[0]), extent_of(anchor.axis[1])
    most = group.target.vector_registers - REGISTERS_BESIDE_SUMS
    heights = [n for n in range(LEAST_ROWS, most + 1) if rows is None or n <= rows] or [1]
    high = [n for n in heights if n >= ENOUGH_ROWS] or heights[-1:]
    default = high[-1] if rows is None else min(high, key=lambda n: (-(-rows // n) * n, -n))
    if rows is not None:
        default = chunk_size(rows, blocks, default, threads)
    choices = [(-1, n) for n in dict.fromkeys([*heights, default])]
    return group.tile(rows, choices, (-1, default))[-1]
