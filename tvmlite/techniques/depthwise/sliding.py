"""Channels-first poolings and depthwise convolutions: planes in parallel, vectors of neighbouring outputs."""

from __future__ import annotations

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, compute_of, extent_of, product, work_of
from tvmlite.te.templates.share import enough, share, threads_for
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.depthwise.blocks import COPY_RATIO, ENOUGH_PLANES, UNROLLED_WINDOW, blocks
from tvmlite.techniques.elementwise.injective import elementwise_loops, schedule_other_outputs, vectorize
from tvmlite.techniques.reduction.reduction import reduce_columns


@template("depthwise", anchors.POOL)
def pool(group: Group) -> None:
    """Schedule a pooling, whose anchor is the sum or maximum; a mean's division is in the epilogue."""
    in_blocks = group.tagged("pool_blocked")
    if in_blocks:
        blocks(group, in_blocks[-1])
    else:
        sliding(group, group.tagged("pool")[-1])


@template("depthwise", anchors.CONVOLUTION)
def depthwise(group: Group) -> bool:
    """Schedule a depthwise convolution; False for other groups."""
    forms = {"depthwise_conv2d_blocked": blocks, "depthwise_conv2d": sliding}
    return group.schedule_tagged(forms)


def sliding(group: Group, anchor: ComputeOp) -> None:
    """Compute planes in parallel; along a row, sum a vector of outputs in a register, with the window
    unrolled.

    The padded copy of a plane is made in the loop that computes the plane, so that it stays in cache.
    """
    result = anchor.output(0)
    host = group.host(result)
    pads = group.tagged("pad")
    group.inline_all_but({host.op, *pads})
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    axes = group.axes(host)
    lanes = group.target.lanes(result.dtype)
    loops, vector = _vector(stage, axes, lanes)
    stage.vectorize(vector)
    threads = threads_for(group.target, work_of(anchor), COPY_RATIO)
    planes = product(extent_of(a) for a in axes[:2])
    if len(axes) < 3 or not enough(planes, ENOUGH_PLANES, threads):
        place = stage.fuse(*loops)
        for pad in pads:
            elementwise_loops(group, pad.output(0))
        share(stage, place, threads, "a vector of results")
    else:
        plane = stage.fuse(*loops[:2])
        place = loops[-1] if len(loops) > 2 else plane
        for pad in pads:
            group.stage(pad).compute_at(stage, plane)
            vectorize(group.stage(pad), pad.axis[-1], extent_of(pad.axis[-1]), lanes)
        share(stage, plane, threads, "a plane")
    _sum_windows(group.stage(sums), stage, place)
    schedule_other_outputs(group, host)


def _vector(stage: Stage, axes: list[IterVar], lanes: int) -> tuple[list[IterVar], IterVar]:
    """Split the last axis into vectors; return the outer loops (at least one), and the vector's."""
    width = extent_of(axes[-1])
    if width is None or width > lanes:
        tiles, vector = stage.split(axes[-1], factor=lanes)
        return [*axes[:-1], tiles], vector
    if len(axes) > 1:
        return axes[:-1], axes[-1]
    single, vector = stage.split(axes[-1], nparts=1)
    return [single], vector


def _sum_windows(stage: Stage, host: Stage, place: IterVar) -> None:
    """Compute the sums of one vector of outputs at ``place``."""
    op = compute_of(stage)
    reduce_columns(stage, host, place)
    window = product(extent_of(a) for a in op.reduce_axis)
    if window is not None and window <= UNROLLED_WINDOW:
        for axis in op.reduce_axis:
            stage.unroll(axis)
