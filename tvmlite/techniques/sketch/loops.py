"""Stages without a reduction: the contiguous axes fused and vectorized, several vectors per iteration."""

from __future__ import annotations

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import extent_of, lanes_of, product, work_of
from tvmlite.te.templates.share import chunk_size, enough, share, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor
from tvmlite.techniques.elementwise.injective import (
    CHUNK_VECTORS,
    ENOUGH_OUTER_ITERATIONS,
    contiguous_from,
    transposed_axis,
)
from tvmlite.techniques.sketch.plan import Plan


def elementwise(plan: Plan, tensor: Tensor) -> None:
    """Schedule ``tensor``. Knobs: ``vectors`` per iteration, the ``chunk`` that a thread takes at a time, and
    the size of the ``block`` of a transposition."""
    group, name = plan.group, plan.name(tensor.op)
    several = group.knob(f"{name}.vectors", [1, 2, 4, 8])
    chunk = group.knob(f"{name}.chunk", [CHUNK_VECTORS, 16, 256])
    block = group.knob(f"{name}.block", [1, 2, 4])
    stage, formula = group.stage(tensor), group.formula(tensor)
    axes = group.axes(tensor)
    if not axes:
        return
    lanes = lanes_of(formula, group.target)
    threads = threads_for(group.target, work_of(formula))
    across = transposed_axis(formula, lanes)
    if across is not None:
        outer = _in_blocks(stage, axes, across, lanes, block)
    else:
        outer = _in_vectors(stage, axes, formula, lanes, several, chunk, threads)
    if threads > 1 and outer:
        share(stage, stage.fuse(*outer), threads, "some vectors")


def _in_blocks(stage: Stage, axes: list[IterVar], across: int, lanes: int, several: int) -> list[IterVar]:
    """Schedule a transposition in blocks, so that each cache line is used up before it is evicted."""
    blocks, line = stage.split(axes[across], factor=lanes * several)
    vectors, vector = stage.split(axes[-1], factor=lanes)
    outer = [*axes[:across], *axes[across + 1 : -1], blocks]
    stage.reorder(*outer, vectors, line, vector)
    stage.vectorize(vector)
    return outer


def _in_vectors(
    stage: Stage,
    axes: list[IterVar],
    formula: ComputeOp,
    lanes: int,
    several: int,
    chunk: int,
    threads: int,
) -> list[IterVar]:
    """Fuse the contiguous axes into one loop over vectors; return the loops to divide among threads."""
    cut = contiguous_from(formula)
    extent, outside = product(extent_of(a) for a in axes[cut:]), product(extent_of(a) for a in axes[:cut])
    whole = stage.fuse(*axes[cut:])
    outer = list(axes[:cut])
    few = outside is None or not enough(outside, ENOUGH_OUTER_ITERATIONS, threads)
    chunk = chunk_size(None if extent is None else -(-extent // lanes), outside, chunk, threads)
    if few and (extent is None or extent > lanes * chunk):
        chunks, whole = stage.split(whole, factor=lanes * chunk)
        outer.append(chunks)
        extent = lanes * chunk
    if lanes > 1 and extent is not None and extent <= lanes:
        if extent > 1:
            stage.vectorize(whole)
        return outer
    if several > 1 and (extent is None or extent >= several * lanes):
        iterations, whole = stage.split(whole, factor=several * lanes)
        vectors, lane = stage.split(whole, factor=lanes)
        stage.unroll(vectors)
    else:
        iterations, lane = stage.split(whole, factor=lanes)
    if lanes > 1:
        stage.vectorize(lane)
    return outer or [iterations]
