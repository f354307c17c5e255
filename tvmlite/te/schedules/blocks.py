"""Poolings and depthwise convolutions of channels in blocks: a vector of channels slides its window along."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.schedules.group import Group, extent_of, product, work_of, worth_threads
from tvmlite.te.schedules.injective import elementwise_loops
from tvmlite.te.schedules.tile import tail_of
from tvmlite.te.stage import Stage
from tvmlite.te.tensor import ComputeOp, IterVar

UNROLLED_WINDOW = 32
"""Windows of at most this many places are unrolled whole."""

ALONG = 14
"""The most neighbouring outputs that are summed up at once; what windows share of the data is read once."""

ALONG_UNKNOWN = 8
"""The same where the row is of unknown length; tiles of half the size, and so on, take the rest."""

ENOUGH_CHUNKS = 16
"""A parallel loop of fewer iterations takes in the loop over rows as well."""


def blocks(group: Group, anchor: ComputeOp) -> None:
    """Some outputs of a row at once, each a vector of channels; the padding is where the windows read it."""
    result = anchor.output(0)
    host = group.host(result)
    pads = group.tagged("pad") if len(anchor.reduce_axis) > 1 else []
    group.inline_all_but({host.op, *pads})
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    batch, block, *rows, along, lane = group.axes(host)
    tiles, pixel = stage.split(along, factor=_along(extent_of(along)), tail=tail_of(extent_of(along)))
    stage.unroll(pixel)
    stage.vectorize(lane)
    outer = [batch, block]
    known = product(extent_of(a) for a in outer)
    if known is not None and known < ENOUGH_CHUNKS:
        outer += rows
    whole = stage.fuse(*outer)
    if worth_threads(work_of(anchor)):
        stage.parallel(whole)
    _slide(group.stage(sums), stage, tiles, [group.stage(pad) for pad in pads])
    for tensor in group.outputs:
        if tensor is not host:
            elementwise_loops(group, tensor)


def _along(extent: int | None) -> int:
    """How many outputs of a row of ``extent`` are computed at once: as even tiles as there are."""
    if extent is None:
        return ALONG_UNKNOWN
    tiles = -(-extent // ALONG)
    return -(-extent // tiles)


def _slide(stage: Stage, host: Stage, place: IterVar, pads: Sequence[Stage]) -> None:
    """The sums of some outputs, at ``place``; padded data that several windows read is read once a row."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    stage.compute_at(host, place)
    *outer, along, lane = op.axis
    stage.reorder(*outer, *op.reduce_axis, along, lane)
    stage.unroll(along)
    stage.vectorize(lane)
    for pad in pads:
        assert isinstance(pad.op, ComputeOp)
        pad.compute_at(stage, op.reduce_axis[-2])
        pad.unroll(pad.op.axis[-2])
        pad.vectorize(pad.op.axis[-1])
    window = product(extent_of(a) for a in op.reduce_axis)
    if window is not None and window <= UNROLLED_WINDOW:
        for axis in op.reduce_axis[-1:] if pads else op.reduce_axis:
            stage.unroll(axis)
