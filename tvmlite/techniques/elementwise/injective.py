"""Element-wise groups: everything inlined, outer loops parallel, the contiguous axes vectorized."""

from __future__ import annotations

from math import lcm

from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import GUARD, SHRINK
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import (
    Group,
    extent_of,
    lanes_of,
    nodes_of,
    number,
    product,
    same_extent,
    work_of,
)
from tvmlite.te.templates.share import chunk_size, enough, is_even, iterations_of, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor, TensorRead

ENOUGH_OUTER_ITERATIONS = 16
"""The least iterations of the loop over outer axes to divide among threads; with fewer, the contiguous axes
are cut into chunks as well. The thread pool cuts a loop into at most four chunks per thread, so that a thread
that is done early can take some of another's: this is four for each of four threads."""

CHUNK_VECTORS = 64
"""The number of vectors in one iteration of a parallel loop over a long axis."""

MOST_STEPS = 8
"""The longest group of neighbouring elements that is unrolled (``index_period``)."""

SHORT_VECTORS = 4
"""One iteration of a parallel loop computes more than this many vectors, since its index takes divisions."""


ROW_WINDOW = 8
"""The number of neighbours of a row of an image in a row window."""


@template("elementwise", anchors.ELEMENTWISE)
def injective(group: Group) -> None:
    """Inline every stage into the outputs, each of which is one loop nest."""
    group.inline_all_but(())
    for tensor in group.outputs:
        elementwise_loops(group, tensor)


def schedule_other_outputs(group: Group, host: Tensor) -> None:
    """Schedule the outputs other than ``host``, which read it or other outputs, as separate loops."""
    for tensor in group.outputs:
        if tensor is not host:
            elementwise_loops(group, tensor)


def elementwise_loops(group: Group, tensor: Tensor) -> None:
    """Schedule a stage without a reduction as a separate loop nest."""
    stage = group.stage(tensor)
    if not isinstance(stage.op, ComputeOp) or not stage.op.axis:
        return
    formula = group.formula(tensor)
    threads = threads_for(group.target, work_of(formula))
    axes = group.axes(tensor)
    lanes = lanes_of(formula, group.target)
    across = transposed_axis(formula, lanes)
    if across is not None:
        _in_blocks(stage, axes, across, lanes, threads)
        return
    cut = contiguous_from(formula)
    inner_extent = product(extent_of(a) for a in axes[cut:])
    outer_extent = product(extent_of(a) for a in axes[:cut])
    inner = stage.fuse(*axes[cut:])
    steps = index_period(formula)
    if steps > 1:
        several = None
        if not enough(outer_extent, ENOUGH_OUTER_ITERATIONS, threads):
            iterations = None if inner_extent is None else inner_extent // steps
            several = chunk_size(iterations, outer_extent, lanes * CHUNK_VECTORS // steps, threads)
        _unroll_periods(stage, axes[:cut], inner, steps, threads, several)
        return
    if threads > 1 and inner_extent is not None and inner_extent <= SHORT_VECTORS * lanes:
        rows = product(extent_of(a) for a in axes[: cut - 1])
        if cut > 1 and enough(rows, ENOUGH_OUTER_ITERATIONS, threads):
            cut, outer_extent = cut - 1, rows
    outer = stage.fuse(*axes[:cut]) if cut else None
    few = outer is None or not enough(outer_extent, ENOUGH_OUTER_ITERATIONS, threads)
    vectors = None if inner_extent is None else -(-inner_extent // lanes)
    several = chunk_size(vectors, outer_extent, CHUNK_VECTORS, threads)
    chunk = split_for_threads(stage, inner, inner_extent, lanes, threads > 1 and few, several)
    whole = chunk if outer is None else outer if chunk is None else stage.fuse(outer, chunk)
    if whole is not None:
        share(stage, whole, threads, "a vector" if several == 1 else "some vectors")


def transposed_axis(op: ComputeOp, lanes: int) -> int | None:
    """The index of the axis along the last dimension of a tensor that is read, if the last axis is along
    another dimension of that, as in a transposition.

    None if there is no such axis, or one of the two is not longer than ``lanes``.
    """
    last = op.axis[-1]
    for node in nodes_of(op):
        if isinstance(node, TensorRead) and last.var in node.indices[:-1]:
            for position, axis in enumerate(op.axis[:-1]):
                extents = (extent_of(axis), extent_of(last))
                if node.indices[-1] is axis.var and all(n is None or n > lanes for n in extents):
                    return position
    return None


def index_period(op: ComputeOp) -> int:
    """The period of the quotients and remainders of the last axis in indices, as in a pixel shuffle or an
    enlarged image; 1 if there are none.

    If such a group is unrolled, no divisions remain, and LLVM vectorizes the loop over groups, which is
    faster than vectors whose elements are gathered.
    """
    last = op.axis[-1]
    found = set[int]()
    for node in nodes_of(op):
        match node:
            case e.FloorDiv(a, e.Const(value)) | e.FloorMod(a, e.Const(value)) if a is last.var and value > 0:
                found.add(int(value))
            case e.Call(name) if name != "if_then_else":
                return 1  # LLVM may be unable to vectorize it
    steps, extent = lcm(*found), extent_of(last)
    return steps if extent is not None and steps <= MOST_STEPS and extent % steps == 0 else 1


def _unroll_periods(
    stage: Stage, outer: list[IterVar], inner: IterVar, steps: int, threads: int, several: int | None
) -> None:
    """Unroll ``steps`` neighbours along ``inner``. The ``outer`` loops are divided among threads, and chunks
    of ``several`` such groups unless that is None."""
    groups, neighbours = stage.split(inner, factor=steps)
    stage.unroll(neighbours)
    if threads == 1:
        return
    if several is not None:
        outer = [*outer, stage.split(groups, factor=several)[0]]
    share(stage, stage.fuse(*outer), threads, "some neighbours")


def _in_blocks(stage: Stage, axes: list[IterVar], across: int, lanes: int, threads: int) -> None:
    """Schedule a transposition in square blocks, so that each cache line is used up before it is evicted."""
    blocks, line = stage.split(axes[across], factor=lanes)
    vectors, vector = stage.split(axes[-1], factor=lanes)
    outer = [*axes[:across], *axes[across + 1 : -1], blocks]
    stage.reorder(*outer, vectors, line, vector)
    stage.vectorize(vector)
    if not is_even(product(iterations_of(stage, axis) for axis in outer), threads):
        outer.append(vectors)
    share(stage, stage.fuse(*outer), threads, "a block")


def split_for_threads(
    stage: Stage, axis: IterVar, extent: int | None, lanes: int, chunked: bool, several: int = CHUNK_VECTORS
) -> IterVar | None:
    """Split ``axis`` into vectors and, if ``chunked``, chunks of ``several``; return the loop over chunks."""
    long = extent is None or extent > lanes * several
    chunk = None
    if chunked and long:
        chunk, axis = stage.split(axis, factor=lanes * several)
    elif chunked:
        chunk, axis = stage.split(axis, nparts=1)
    vectorize(stage, axis, extent, lanes)
    return chunk


def vectorize(stage: Stage, axis: IterVar, extent: int | None, lanes: int) -> IterVar | None:
    """Vectorize ``axis`` with ``lanes`` lanes; return the loop over vectors, if any."""
    if lanes < 2 or (extent is not None and extent < 2):
        return axis
    if extent is not None and extent <= lanes:
        stage.vectorize(axis)
        return None
    outer, inner = stage.split(
        axis, factor=lanes, tail=SHRINK if _has_half_vector_tail(axis, lanes) else GUARD
    )
    stage.vectorize(inner)
    return outer


def unroll_vectors(
    group: Group, stage: Stage, vectors: IterVar | None, extent: int | None, lanes: int
) -> None:
    """Apply the knob ``several``: how many ``vectors`` of a row one iteration of their loop takes."""
    if vectors is None or extent is None:
        return
    several = group.knob("several", [n for n in (1, 2, 4) if extent % (n * lanes) == 0 or n == 1])
    if several > 1:
        stage.unroll(stage.split(vectors, factor=several)[1])


def _has_half_vector_tail(axis: IterVar, lanes: int) -> bool:
    """Whether ``axis`` has an unknown extent that is a multiple of half a vector: its tail needs no mask."""
    if axis.dom is None or extent_of(axis) is not None or lanes < 4:
        return False
    return arith.equal(axis.dom.extent % (lanes // 2), e.const(0, axis.dom.extent.dtype))


def contiguous_from(op: ComputeOp) -> int:
    """The index of the first of the last axes that can be fused into one loop: every read is contiguous."""
    first = len(op.axis) - 1
    while first > 0 and are_contiguous(op, op.axis[first - 1], op.axis[first]):
        first -= 1
    return first


def are_contiguous(op: ComputeOp, outer: IterVar, inner: IterVar) -> bool:
    """Whether each read of ``op`` uses the two axes as neighbouring whole dimensions, or not at all."""
    assert inner.dom is not None
    extent = number(inner.dom.extent) or inner.dom.extent
    pair = {outer.var, inner.var}
    if not pair.isdisjoint(op.body):
        return False
    for node in nodes_of(op):
        if not isinstance(node, TensorRead):
            if not pair.isdisjoint(node.children()):
                return False
            continue
        places = [p for p, index in enumerate(node.indices) if index in pair]
        if not places:
            continue
        whole = len(places) == 2 and places[1] == places[0] + 1 and node.indices[places[0]] is outer.var
        if not whole or not same_extent(node.tensor.shape[places[1]], extent):
            return False
    return True
