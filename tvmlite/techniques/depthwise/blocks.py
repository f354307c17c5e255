"""Poolings and depthwise convolutions of channels in blocks: a vector of channels slides its window along."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, compute_of, extent_of, nodes_of, product, work_of
from tvmlite.te.templates.share import MEASURED_CORES, enough, is_even, iterations_of, share, threads_for
from tvmlite.te.templates.tile import MOST_ROWS, MOST_TAIL, TAIL_RATIO, tail_of, waste
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, TensorRead
from tvmlite.techniques.blocked_conv.thread_partition import image_by_rows
from tvmlite.techniques.common.borders import apart, rows_at_border
from tvmlite.techniques.common.nest import in_registers, unrollable
from tvmlite.techniques.elementwise.injective import elementwise_loops, finish

UNROLLED_WINDOW = 32
"""Windows of at most this many places are unrolled whole."""

ALONG = 14
"""The most neighbouring outputs that are summed up at once; what windows share of the data is read once."""

ALONG_OF_FEW = 8
"""The same where registers are few: what windows share stays in those left, and is not spilled. The
depthwise layers of MobileNetV2 are much quicker with at most 8, the whole window unrolled
and the rows at the border apart, than with 14 and a row of the window an iteration; 4 and 10 are slower than
8."""

WHOLE_WINDOW = 9
"""The most places of a window that are unrolled by default where registers are few: all rows of it then read
data where it lies, where there is no padding."""

ALONG_UNKNOWN = 8
"""The same where the row is of unknown length; tiles of half the size, and so on, take the rest."""

COPIES = 4
"""How many times the work of the windows there may be with padding, which is copied, and with their sums."""

ENOUGH_PLANES = 16
"""Planes of all images, of a channel or a block of channels each, that are enough for threads to share; with
fewer, they share the rows as well. The thread pool cuts a loop into at most four chunks a thread, so that one
that is done early takes some of another's: these are four for each of four threads."""

PARTS = 4
"""Parts of an image's rows, with all blocks each, that are enough for threads to share: one for each of four.
With few blocks there are more parts, so that a loop over both has as many iterations as ``ENOUGH_PLANES``."""

LEAST_ROWS = 8
"""Of rows of which some are apart, a thread takes no fewer at a time: an image's first rows, its last and the
others are loops of their own, and each chunk goes through all three, which takes time between few rows."""


def blocks(group: Group, anchor: ComputeOp) -> None:
    """Some outputs of a row at once, each a vector of channels; the padding is where the windows read it.

    Knobs: ``tile`` (rows, outputs of a row), ``padding`` (read by the window row, computed where it is read,
    or stored whole before), ``unrolled`` (how many axes of the window, from the last on), ``outer``, whether
    blocks are outside rows, or parts of rows outside blocks, ``order`` of the loops over rows and tiles,
    ``grain``, how many of the loops over rows threads share besides blocks.
    """
    result = anchor.output(0)
    host = group.host(result)
    first, last = _border(group, anchor)
    pads = _padding(group, anchor)
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(host)
    batch, block, *rows, along, lane = group.axes(host)
    high, wide = _tile(group, rows, along, lane)
    tiles, pixel = stage.split(along, factor=wide, tail=tail_of(extent_of(along)), ratio=TAIL_RATIO)
    inner = [pixel]
    count = (extent_of(rows[-1]) or 0) if rows else 0
    first, last, count = -(-first // high), -(-count // high) - (count - last) // high, -(-count // high)
    if high > 1:
        rows[-1], inner_row = stage.split(rows[-1], factor=high)
        inner = [inner_row, pixel]
    threads, lead = threads_for(group.target, work_of(anchor), COPIES), [batch, block]
    chunk, by_image = _parts(group, anchor, count, bool(first + last), threads)
    if chunk < count:
        part, rows[-1] = stage.split(rows[-1], factor=chunk)
        lead, rows = ([batch, part, block], rows) if by_image else (lead, [*rows[:-1], part, rows[-1]])
    in_registers(stage, inner, lane, [*lead, *rows, tiles])
    kept = 1 if chunk < count else 0
    place = _shared_out(group, stage, lead, rows, tiles, threads, kept)
    if rows and rows[-1] in stage.leaf_iter_vars:
        apart(stage, rows[-1], chunk, first, last)
    axes = anchor.reduce_axis
    default = _unrolled_by_default(group, axes, bool(pads))
    unrolled = group.knob("unrolled", unrollable(axes, UNROLLED_WINDOW)[::-1], default)
    _slide(group.stage(sums), stage, place, pads, unrolled)
    finish(group, host)


def _border(group: Group, anchor: ComputeOp) -> tuple[int, int]:
    """How many rows at the border stand in loops of their own: none where masks have registers of their own,
    for which loops would be more code and no less work."""
    pads = [pad for pad in group.tagged("pad") if pad.output(0) in anchor.inputs]
    if not pads or len(anchor.reduce_axis) < 2 or not group.target.machine.few_registers:
        return 0, 0
    return rows_at_border(anchor, pads[0], len(anchor.axis) - 3)


def _parts(group: Group, anchor: ComputeOp, rows: int, border: bool, threads: int) -> tuple[int, bool]:
    """How many of the ``rows`` a part has, all of them where there are no parts; whether parts are outside
    blocks. ``border``: some rows stand in loops of their own."""
    planes, least = product(map(extent_of, anchor.axis[:2])), LEAST_ROWS if border else 1
    parts = max(PARTS, -(-ENOUGH_PLANES // planes)) if planes else PARTS
    part = _rows_a_chunk(1, rows, least, parts, threads)
    if _outer(group, anchor, part < rows) == "rows" and part < rows:
        return part, True
    return (_rows_a_chunk(planes, rows, least, ENOUGH_PLANES, threads) if border else rows), False


def _outer(group: Group, anchor: ComputeOp, parts: bool) -> str:
    """The knob ``outer``: whether blocks are outside rows, or parts of rows outside blocks, if there are
    ``parts``: else both are one schedule, by default named for what it is."""
    if len(anchor.axis) != 5:
        return "blocks"
    return group.knob("outer", ("blocks", "rows"), "rows" if parts and image_by_rows(group, anchor) else None)


def _rows_a_chunk(blocks: int | None, count: int, least: int, parts: int, threads: int) -> int:
    """How many of the ``count`` rows of each of ``blocks`` blocks a thread takes at a time: where blocks are
    fewer than ``parts`` as many, ``least`` or more, as leave enough chunks for ``threads``; if none do, fewer
    where that makes shares alike, else all."""
    if blocks is None or enough(blocks, parts, threads):
        return count
    fitting = [n for n in range(1, count) if count % n == 0 and enough(blocks * (count // n), parts, threads)]
    several = [n for n in fitting if n >= least]
    if several:
        return max(several)
    return max(fitting, default=count) if threads > MEASURED_CORES else count


def _padding(group: Group, anchor: ComputeOp) -> list[Stage]:
    """The knob ``padding``; the stages of padded data to be read by the window row, whose length must be
    known: what is read is written out."""
    pads, how = group.tagged("pad"), "inline"
    host = group.host(anchor.output(0))
    if pads:
        by_row = len(anchor.reduce_axis) > 1 and _row_read_is_known(anchor, pads)
        choices = ("row", "inline", "whole") if by_row else ("inline",)
        how = group.knob("padding", choices, "inline" if group.target.machine.few_registers else None)
    group.inline_all_but({host.op} if how == "inline" else {host.op, *pads})
    if how == "whole":
        for pad in pads:
            elementwise_loops(group, pad.output(0))
    return [group.stage(pad) for pad in pads] if how == "row" else []


def _row_read_is_known(anchor: ComputeOp, pads: Sequence[ComputeOp]) -> bool:
    """Whether the place where ``anchor`` reads along a row of ``pads`` moves by numbers alone, over a window
    of known length."""
    axes = {axis.var: extent_of(axis) for axis in (*anchor.axis[2:-1], *anchor.reduce_axis)}
    results = {pad.output(0) for pad in pads}
    for node in nodes_of(anchor):
        if isinstance(node, TensorRead) and node.tensor in results:
            along = node.indices[-2]
            moving = [n for n in postorder(along) if isinstance(n, e.Var)]
            if any(n not in axes or (n is not anchor.axis[-2].var and axes[n] is None) for n in moving):
                return False
    return True


def _tile(group: Group, rows: Sequence[IterVar], along: IterVar, lane: IterVar) -> tuple[int, int]:
    """The knob ``tile``: all its sums, a vector of weights and one of data fit into the registers."""
    width, height = extent_of(along), extent_of(rows[-1]) if rows else 1
    block, lanes = extent_of(lane), group.target.lanes("float32")
    vectors = 1 if block is None else max(1, block // lanes)
    default = (-1, 1, _along(width, group.target))
    made: dict[tuple[int, ...], None] = {default: None}
    if width is not None and height is not None:
        for high in range(1, min(height, MOST_ROWS) + 1):
            for wide in range(1, min(width, (group.target.vector_registers - 2) // (high * vectors)) + 1):
                if max(waste(width, wide), waste(height, high)) <= MOST_TAIL:
                    made[-1, high, wide] = None
    high, wide = group.tile(width, list(made), default)
    return high, wide


def _shared_out(
    group: Group,
    stage: Stage,
    lead: list[IterVar],
    rows: list[IterVar],
    tiles: IterVar,
    threads: int,
    kept: int,
) -> IterVar:
    """The knobs ``order`` and ``grain``: blocks are divided among threads, and rows, all loops over them
    but ``kept``, where blocks are few; gives the loop in which a tile is computed."""
    known = product(extent_of(a) for a in lead)
    few = not enough(known, ENOUGH_PLANES, threads)
    shared = group.knob("grain", range(len(rows) + 1), len(rows) - kept if few else 0)
    own = [*rows[shared:], tiles]
    if group.knob("order", ("rows first", "tiles first")) == "tiles first":
        own = [tiles, *rows[shared:]]
    whole = stage.fuse(*lead, *rows[:shared])
    stage.reorder(whole, *own)
    if not is_even(iterations_of(stage, whole), threads) and shared == len(rows):
        own = [whole := stage.fuse(whole, *own)]
    share(stage, whole, threads, "a tile of a row" if own == [whole] else "a row")
    return own[-1]


def _unrolled_by_default(group: Group, axes: Sequence[IterVar], row_by_row: bool) -> int:
    """How many axes of a window are: all, but where its rows are read one by one, or where registers are few
    and it is large, the last."""
    most, places = unrollable(axes, UNROLLED_WINDOW)[-1], product(map(extent_of, axes)) or 0
    large = group.target.machine.few_registers and places > WHOLE_WINDOW
    return min(most, 1) if row_by_row or large else most


def _along(extent: int | None, target: Target) -> int:
    """How many outputs of a row of ``extent`` are computed at once: as even tiles as there are."""
    if extent is None:
        return ALONG_UNKNOWN
    tiles = -(-extent // (ALONG_OF_FEW if target.machine.few_registers else ALONG))
    return -(-extent // tiles)


def _slide(stage: Stage, host: Stage, place: IterVar, pads: Sequence[Stage], unrolled: int) -> None:
    """The sums of some outputs, at ``place``; padded data that several windows read is read once a row."""
    op = compute_of(stage)
    stage.compute_at(host, place)
    batch, block, *pixels, lane = op.axis
    in_registers(stage, pixels, lane, [batch, block, *op.reduce_axis])
    for pad in pads:
        pad.compute_at(stage, op.reduce_axis[-2])
        *_, lane = axes = compute_of(pad).axis
        in_registers(pad, axes[2:-1], lane)
    for axis in op.reduce_axis[len(op.reduce_axis) - unrolled :]:
        stage.unroll(axis)
