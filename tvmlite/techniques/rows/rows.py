"""Softmax and normalizations: rows in parallel; every pass over a row is vectorized and reads from cache."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, extent_of, lanes_of, product
from tvmlite.te.templates.share import share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.elementwise.injective import (
    are_contiguous,
    schedule_other_outputs,
    unroll_vectors,
    vectorize,
)
from tvmlite.techniques.reduction.reduction import partial_vectors, reduce_columns, reduce_row

PASSES = ("row_reduce", "row_scalar", "row_powers")
"""Tags of the stages that read a row before it is written: the passes."""

PASS_COST = 6
"""Units of work per element, over all passes."""


@template("rows", anchors.SOFTMAX, anchors.NORMALIZATION)
def rows(group: Group) -> None:
    """Compute the passes over a row one after the other in the loop that writes the row.

    Knobs: ``several``, the number of vectors written per iteration; ``partials``, the number of vectors of
    partial results.
    """
    output = group.tagged("row_output")[-1]
    ungroup = group.tagged("row_ungroup")
    host = group.host(ungroup[-1].output(0) if ungroup else output.output(0))
    passes = group.tagged(*PASSES)
    group.inline_all_but({host.op, *passes})
    stage = group.stage(host)
    axes, reduced = group.axes(host), dict(output.attrs)["axes"]
    if ungroup:
        groups, members = stage.split(axes[1], factor=dict(ungroup[-1].attrs)["members"])
        kept, row = [axes[0], groups], [members, *axes[2:]]
    else:
        kept = [axis for k, axis in enumerate(axes) if k not in reduced]
        row = [axes[k] for k in reduced]
    work = product(extent_of(a) for a in output.axis)
    threads = threads_for(group.target, None if work is None else PASS_COST * work)
    if len(output.axis) - 1 in reduced:
        _contiguous(group, stage, kept, row, passes, threads)
    else:
        _across_lanes(group, stage, kept, row, passes, threads)
    schedule_other_outputs(group, host)


def _contiguous(
    group: Group,
    stage: Stage,
    kept: Sequence[IterVar],
    row: Sequence[IterVar],
    passes: Sequence[ComputeOp],
    threads: int,
) -> None:
    """Schedule rows along the last axis: vectors along the row."""
    formula = group.formula(stage.op)
    stage.reorder(*kept, *row)
    place = stage.fuse(*kept) if kept else None
    if place is not None:
        share(stage, place, threads, "a row")
    _vectorize_row(group, stage, list(row), formula)
    for op in passes:
        pass_stage = group.stage(op)
        if place is not None:
            pass_stage.compute_at(stage, place)
        if op.tag == "row_reduce":
            reduced = group.formula(op)
            for partial in reduce_row(group, op, reduced, partial_vectors(group, reduced)):
                if place is not None:
                    group.stage(partial).compute_at(stage, place)
        elif op.tag == "row_powers":
            vectorize(pass_stage, op.axis[-1], extent_of(op.axis[-1]), lanes_of(op, group.target))


def _vectorize_row(group: Group, stage: Stage, row: list[IterVar], formula: ComputeOp) -> None:
    """Fuse the row's last axes that are contiguous, and vectorize them."""
    extents = [extent_of(row[-1])]
    last = row.pop()
    inner = last
    while row and row[-1] in formula.axis and are_contiguous(formula, row[-1], inner):
        inner = row.pop()
        extents.append(extent_of(inner))
        last = stage.fuse(inner, last)
    extent, lanes = product(extents), lanes_of(formula, group.target)
    unroll_vectors(group, stage, vectorize(stage, last, extent, lanes), extent, lanes)


def _across_lanes(
    group: Group,
    stage: Stage,
    kept: Sequence[IterVar],
    row: Sequence[IterVar],
    passes: Sequence[ComputeOp],
    threads: int,
) -> None:
    """Schedule rows across the last axis: neighbouring rows are the lanes of vectors."""
    lanes = lanes_of(group.formula(stage.op), group.target)
    place = rows_as_lanes(stage, kept, row, lanes)
    share(stage, place, threads, "a vector of rows")
    for op in passes:
        pass_stage = group.stage(op)
        if op.tag == "row_reduce":
            reduce_columns(pass_stage, stage, place)
        else:
            pass_stage.compute_at(stage, place)
            pass_stage.vectorize(op.axis[-1])


def rows_as_lanes(stage: Stage, kept: Sequence[IterVar], row: Sequence[IterVar], lanes: int) -> IterVar:
    """Make neighbouring rows the lanes of vectors; return the loop over groups of rows."""
    width = extent_of(kept[-1])
    if width is None or width > lanes:
        tiles, vector = stage.split(kept[-1], factor=lanes)
    else:
        tiles, vector = stage.split(kept[-1], nparts=1)
    stage.reorder(*kept[:-1], tiles, *row, vector)
    stage.vectorize(vector)
    return stage.fuse(*kept[:-1], tiles)
