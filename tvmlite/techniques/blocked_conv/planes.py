"""Channels-first convolutions with unpacked weights: vectors of pixels times scalars of the weight."""

from __future__ import annotations

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, compute_of, extent_of, product, work_of
from tvmlite.te.templates.share import is_even, iterations_of, share, threads_for
from tvmlite.te.templates.tile import ThreadDivision, register_tile, tail_of
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.common.nest import ENOUGH_ITERATIONS, in_registers, several_vectors
from tvmlite.techniques.elementwise.injective import elementwise_loops, schedule_other_outputs

PLAIN_VECTORS = 2
"""The number of vectors of neighbouring outputs that each scalar of an unpacked weight is multiplied by."""


def plain(group: Group, anchor: ComputeOp) -> None:
    """Multiply vectors along the output's last axis by scalars of the weight, for some channels at once."""
    result = anchor.output(0)
    host = group.host(result)
    copies = [*group.tagged("pad"), *group.tagged("pack")]
    group.inline_all_but({host.op, *copies})
    for copy in copies:
        elementwise_loops(group, copy.output(0))
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    lanes = group.target.lanes(result.dtype)
    batch, channel, *rest = group.axes(host)
    threads = threads_for(group.target, work_of(anchor))
    width, outside = extent_of(rest[-1]), product(map(extent_of, (batch, *rest[:-1])))
    outer, inner = stage.split(channel, factor=_channels_at_once(anchor, outside, threads))
    if width is not None and width <= lanes:
        stage.reorder(batch, outer, *rest[:-1], inner, rest[-1])
        place = parallel = stage.fuse(batch, outer, *rest[:-1])
        in_registers(stage, [inner], rest[-1])
    else:
        several = PLAIN_VECTORS if width is None or width >= PLAIN_VECTORS * lanes else 1
        place, along = stage.split(rest[-1], factor=several * lanes, tail=tail_of(width))
        vectors, vector = stage.split(along, factor=lanes)
        in_registers(stage, [inner, vectors], vector, [batch, outer, *rest[:-1], place])
        parallel = stage.fuse(batch, outer, *rest[:-1])
    share(stage, parallel, threads, "a row of pixels")
    _accumulate_plain(group.stage(sums), stage, place, lanes if place is not parallel else None)
    schedule_other_outputs(group, host)


def pointwise(group: Group, anchor: ComputeOp) -> None:
    """Compute a matrix product per group: vectors of pixels times scalars of the weight, in a register tile.

    Images and tiles of channels are divided among threads, and if these are few, tiles of pixels as well.
    """
    host = group.host(group.readers(anchor.output(0))[0].output(0))
    group.inline_all_but({host.op})
    stage, lanes = group.stage(host), group.target.lanes(anchor.output(0).dtype)
    batch, channel, *rest = group.axes(host)
    pixels, per_group = product(extent_of(a) for a in rest), _channels_of_a_group(anchor)
    vectors = None if pixels is None else -(-pixels // lanes)
    threads = threads_for(group.target, work_of(anchor))
    shared = ThreadDivision(threads, product([extent_of(batch), dict(anchor.attrs).get("groups", 1)]))
    tile = register_tile(per_group or 1, vectors, 1, group.target.machine, True, shared)
    outer, inner = stage.split(channel, factor=tile.rows)
    place, along = stage.split(stage.fuse(*rest), factor=tile.blocks * lanes)
    several, vector = stage.split(along, factor=lanes)
    in_registers(stage, [inner, several], vector, [batch, outer, place])
    whole = stage.fuse(batch, outer)
    planes = product(map(extent_of, anchor.axis[:2]))
    few = planes is not None and planes < ENOUGH_ITERATIONS * tile.rows
    if threads > 1 and (few or not is_even(iterations_of(stage, whole), threads)):
        whole = place = stage.fuse(whole, place)
    share(stage, whole, threads, "a tile")
    _accumulate_plain(group.stage(anchor), stage, place, lanes)
    schedule_other_outputs(group, host)


def _channels_of_a_group(anchor: ComputeOp) -> int | None:
    channels = extent_of(anchor.axis[1])
    return None if channels is None else channels // dict(anchor.attrs).get("groups", 1)


def _channels_at_once(anchor: ComputeOp, outside: int | None, threads: int) -> int:
    """How many output channels share the vectors of data: the largest number up to 8 that divides a group's
    channels and gives ``threads`` even shares, with loops of ``outside`` iterations; else 1."""
    per_group = _channels_of_a_group(anchor)
    if per_group is None:
        return 1
    whole = product([outside, extent_of(anchor.axis[1])])
    fitting = [n for n in (8, 7, 6, 5, 4, 3, 2, 1) if per_group % n == 0]
    even = [n for n in fitting if is_even(None if whole is None else whole // n, threads)]
    return even[0] if even else fitting[-1]


def _accumulate_plain(stage: Stage, host: Stage, place: IterVar, lanes: int | None) -> None:
    """Compute the sums of some channels for a row of outputs: one vector, or several of ``lanes``."""
    op = compute_of(stage)
    batch, channel, *rest = op.axis
    stage.compute_at(host, place)
    vectors, vector = several_vectors(stage, rest[-1], lanes)
    in_registers(stage, [channel, *vectors], vector, [batch, *rest[:-1], *op.reduce_axis])
    stage.fuse(*op.reduce_axis)
