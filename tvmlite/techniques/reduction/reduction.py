"""Reductions: outer axes in parallel; vectors of partial results, or vectors of neighbouring results."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import (
    Group,
    compute_of,
    extent_of,
    lanes_of,
    nodes_of,
    product,
    reduction_loops,
    work_of,
)
from tvmlite.te.templates.share import chunk_size, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor, TensorRead
from tvmlite.techniques.common.nest import in_registers, several_vectors
from tvmlite.techniques.elementwise.injective import are_contiguous, elementwise_loops

PARTIAL_VECTORS = 4
"""Vectors of partial results of a long contiguous reduction, whose additions do not wait for each other."""

PARTIAL_RESULTS = 16
"""The number of partial results of a reduction for one vector of neighbouring results."""

COMBINED_AT_ONCE = 4
"""The number of partial results that are combined sequentially."""


@template("reduction", anchors.REDUCTION, anchors.PLANE_REDUCTION)
def reduce(group: Group) -> None:
    """Compute the last reduction in the loops of its epilogue, and others in separate loops."""
    anchors = [
        stage.op
        for stage in group.schedule.stages
        if isinstance(stage.op, ComputeOp) and stage.op.reduce_axis
    ]
    hosts = {op: op.output(0) for op in anchors}
    if anchors and len(anchors[-1].body) == 1:
        hosts[anchors[-1]] = group.host(anchors[-1].output(0))
    group.inline_all_but(host.op for host in hosts.values())
    for op, host in hosts.items():
        _loops(group, op, host)
    for tensor in group.outputs:
        if tensor.op not in hosts and tensor not in hosts.values():
            elementwise_loops(group, tensor)


def _loops(group: Group, op: ComputeOp, host: Tensor) -> None:
    formula = group.formula(op)
    threads = threads_for(group.target, work_of(formula))
    if len(op.body) > 1:
        several_results(group, op, formula, threads)
    elif reads_along_reduction(formula):
        _rows(group, op, host, formula, threads)
    else:
        _columns(group, op, host, lanes_of(formula, group.target), threads)


def reads_along_reduction(op: ComputeOp) -> bool:
    """Whether the innermost reduce axis is along the last dimension of a read, but not the last data axis."""
    innermost = op.reduce_axis[-1].var
    reads = [node for node in nodes_of(op) if isinstance(node, TensorRead) and node.indices]
    along = [read for read in reads if read.indices[-1] is innermost]
    last = op.axis[-1].var if op.axis else None
    return bool(along) and not any(read.indices[-1] is last for read in reads)


def several_results(group: Group, op: ComputeOp, formula: ComputeOp, threads: int) -> None:
    """Schedule a reduction of tuples: rows in vectors of partial results, or vectors of neighbours."""
    stage, lanes = group.stage(op), lanes_of(formula, group.target)
    axes, partials, vector = list(op.axis), [], None
    if reads_along_reduction(formula):
        partials = reduce_row(group, op, formula)
    elif axes and (extent_of(axes[-1]) or lanes) >= lanes:
        axes[-1], vector = stage.split(axes[-1], factor=lanes)
    if not axes:
        return
    place = stage.fuse(*axes)
    if vector is not None:
        stage.reorder(place, *op.reduce_axis, vector)
        stage.vectorize(vector)
    for partial in partials:
        group.stage(partial).compute_at(stage, place)
    share(stage, place, threads, "a vector of results" if vector is not None else "a result")


def _rows(group: Group, op: ComputeOp, host: Tensor, formula: ComputeOp, threads: int) -> None:
    """Schedule results that each reduce a contiguous row, which is read in vectors."""
    place_rows(group, op, host, reduce_row(group, op, formula, partial_vectors(group, formula)), threads)


def place_rows(group: Group, op: ComputeOp, host: Tensor, partials: Sequence[Tensor], threads: int) -> None:
    """Compute ``op``, and the partial results that it combines, in one loop over all results of ``host``."""
    axes, stage = group.axes(host), group.stage(host)
    if not axes:
        return
    place = stage.fuse(*axes)
    share(stage, place, threads, "a result")
    if host.op is not op:
        group.stage(op).compute_at(stage, place)
    for partial in partials:
        group.stage(partial).compute_at(stage, place)


def partial_vectors(group: Group, formula: ComputeOp) -> int:
    """The knob ``partials``: the number of vectors of partial results of a row."""
    lanes = lanes_of(formula, group.target)
    extent = _contiguous_row(formula)[1]
    fitting = [n for n in (1, 2, 8) if extent is not None and extent >= 4 * n * lanes]
    return group.knob("partials", (PARTIAL_VECTORS, *fitting))


def reduce_row(
    group: Group,
    op: ComputeOp,
    formula: ComputeOp,
    vectors: int = PARTIAL_VECTORS,
    combined: int = COMBINED_AT_ONCE,
) -> list[Tensor]:
    """Reduce along contiguous rows in ``vectors`` of partial results, ``combined`` of which combine at a
    time.

    Return the partial results, to be computed where the reduction is; none if rows are too short.
    The stage's data axes must not have been split or fused.
    """
    stage = group.stage(op)
    lanes = lanes_of(formula, group.target)
    row, extent = _contiguous_row(formula)
    if lanes < 2 or (extent is not None and extent < 2 * lanes):
        return []
    several = vectors if extent is None or extent >= 4 * vectors * lanes else 1
    _, lane = stage.split(stage.fuse(*row), factor=lanes * several)
    partial, (lane,) = _partial_results(group, op, lane)
    part = group.stage(partial)
    in_registers(part, *several_vectors(part, lane, lanes if several > 1 else None))
    return [partial, *_combine(group, op, lanes * several, combined)]


def _partial_results(
    group: Group, op: ComputeOp, lane: IterVar, inside: int = 0
) -> tuple[Tensor, list[IterVar]]:
    """Make partial results of ``op`` over ``lane``. Return them (of a tuple, the first) and their loops
    inside the reduction: over the partial results, and the last ``inside`` data axes."""
    made = group.schedule.rfactor(op.output(0), lane, factor_axis=len(op.axis) - inside)
    partial = made[0] if isinstance(made, list) else made
    part, axes = group.stage(partial), group.axes(partial)
    kept, inner = axes[: len(op.axis) - inside], axes[len(op.axis) - inside :]
    part.reorder(*kept, *reduction_loops(part), *inner)
    return partial, inner


def _combine(group: Group, op: ComputeOp, width: int, at_once: int) -> list[Tensor]:
    """Combine ``width`` partial results as a tree, ``at_once`` to one: a chain of them would wait."""
    found: list[Tensor] = []
    while width > at_once:
        width = max(at_once, width // at_once)
        stage = group.stage(op)
        _, lane = stage.split(compute_of(stage).reduce_axis[-1], factor=width)
        partial, (lane,) = _partial_results(group, op, lane)
        found.append(partial)
        in_registers(group.stage(partial), reduction_loops(group.stage(partial)), lane)
    for leaf in reduction_loops(group.stage(op)):
        group.stage(op).unroll(leaf)
    return found


def _contiguous_row(formula: ComputeOp) -> tuple[list[IterVar], int | None]:
    """The last reduce axes that can be fused into one loop, and the extent of that."""
    axes = list(formula.reduce_axis)
    first = len(axes) - 1
    while first > 0 and are_contiguous(formula, axes[first - 1], axes[first]):
        first -= 1
    return axes[first:], product(extent_of(a) for a in axes[first:])


def _columns(group: Group, op: ComputeOp, host: Tensor, lanes: int, threads: int) -> None:
    """Schedule neighbouring results as the lanes of vectors."""
    if not op.axis:
        return
    result = op.output(0)
    partials = _interleaved(group, op, lanes)
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    axes = group.axes(host)
    width = extent_of(axes[-1])
    several = PARTIAL_VECTORS if width is None or width >= PARTIAL_VECTORS * lanes else 1
    if width is not None:
        outside = product(extent_of(a) for a in axes[:-1])
        several = chunk_size(-(-width // lanes), outside, several, threads)
    if width is None or width > lanes:
        tiles, block = stage.split(axes[-1], factor=several * lanes)
    else:
        tiles, block = stage.split(axes[-1], nparts=1)
    place = stage.fuse(*axes[:-1], tiles)
    in_registers(stage, *several_vectors(stage, block, lanes if several > 1 else None))
    share(stage, place, threads, "a vector of results")
    reduce_columns(group.stage(sums), stage, place, lanes if several > 1 else None)
    for partial in partials:
        group.stage(partial).compute_at(stage, place)


def _interleaved(group: Group, op: ComputeOp, lanes: int) -> list[Tensor]:
    """Make several partial results if neighbouring results are only one vector: their additions do not wait
    for each other, and sums of fewer terms have smaller rounding errors. They are combined four at a time, to
    keep these sums short, too. Nothing is done if there is more than one vector."""
    width, stage = extent_of(op.axis[-1]), group.stage(op)
    if width is None or width > lanes or lanes < 2:
        return []
    row, extent = _contiguous_row(op)
    if extent is not None and extent < 2 * PARTIAL_RESULTS:
        return []
    _, iteration = stage.split(stage.fuse(*row), factor=PARTIAL_RESULTS)
    first, axes = _partial_results(group, op, iteration, inside=1)
    in_registers(group.stage(first), axes[:1], axes[1])
    stage = group.stage(op)
    _, iteration = stage.split(compute_of(stage).reduce_axis[-1], factor=COMBINED_AT_ONCE)
    second, axes = _partial_results(group, op, iteration, inside=1)
    in_registers(group.stage(second), axes[:1], axes[1])
    for leaf in reduction_loops(group.stage(op)):
        group.stage(op).unroll(leaf)
    return [first, second]


def reduce_columns(stage: Stage, host: Stage, place: IterVar, lanes: int | None = None) -> None:
    """Reduce neighbouring results at ``place`` of ``host``: one vector, or several of ``lanes`` lanes."""
    op = compute_of(stage)
    stage.compute_at(host, place)
    *kept, last = op.axis
    in_registers(stage, *several_vectors(stage, last, lanes), [*kept, *op.reduce_axis])
