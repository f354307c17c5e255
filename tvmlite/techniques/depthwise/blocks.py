"""Poolings and depthwise convolutions with channels in blocks: several vectors of channels at once."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, compute_of, extent_of, nodes_of, product, work_of
from tvmlite.te.templates.share import MEASURED_CORES, enough, is_even, iterations_of, share, threads_for
from tvmlite.te.templates.tile import MOST_ROWS, MOST_TAIL, TAIL_RATIO, tail_fraction, tail_of
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, TensorRead
from tvmlite.techniques.blocked_conv.thread_partition import divides_image_rows
from tvmlite.techniques.common.borders import partition_borders, rows_at_border
from tvmlite.techniques.common.nest import in_registers, unrollable
from tvmlite.techniques.elementwise.injective import elementwise_loops, schedule_other_outputs

UNROLLED_WINDOW = 32
"""Windows of at most this many positions are unrolled entirely."""

OUTPUTS_AT_ONCE = 14
"""The most neighbouring outputs that are computed at once; data that their windows share is read once."""

OUTPUTS_OF_FEW_REGISTERS = 8
"""The same with few registers: shared data stays in the remaining registers and is not spilled. The
depthwise layers of MobileNetV2 are much faster with at most 8, the whole window unrolled and separate loops
for rows at the border, than with 14 and one row of the window per iteration; 4 and 10 are slower than 8."""

WHOLE_WINDOW = 9
"""The most positions of a window that are unrolled by default with few registers: all its rows then read the
data in place, where there is no padding."""

OUTPUTS_OF_UNKNOWN_ROW = 8
"""The outputs computed at once if the row's length is unknown; smaller tiles compute the remainder."""

COPY_RATIO = 4
"""The largest ratio of the whole work, with copied padding and stored sums, to that of the windows."""

ENOUGH_PLANES = 16
"""The least number of planes (of a channel or a block of channels, of all images) to divide among threads;
with fewer, rows are divided as well. The thread pool cuts a loop into at most four chunks per thread, so that
a thread that is done early can take some of another's: this is four for each of four threads."""

LEAST_PARTS = 4
"""The least number of parts of an image's rows, with all blocks each, to divide among threads: one for each
of four. With few blocks there are more parts, so that a loop over both has ``ENOUGH_PLANES`` iterations."""

LEAST_ROWS = 8
"""The least rows that a thread takes at a time if rows at the border have separate loops: each chunk executes
the loops over the first, the last and the other rows, whose overhead shows with few rows."""


def blocks(group: Group, anchor: ComputeOp) -> None:
    """Compute some outputs of a row at once, each a vector of channels.

    Knobs: ``tile`` (rows, outputs of a row), ``padding`` ("row": copied per row of the window, "inline":
    computed where it is read, "whole": stored before), ``unrolled``, the number of innermost axes of the
    window that are unrolled, ``outer``, whether blocks are outside rows, or parts of rows outside blocks,
    ``order`` of the loops over rows and tiles, ``grain``, how many loops over rows are divided among threads
    with blocks.
    """
    result = anchor.output(0)
    host = group.host(result)
    first, last = _border_rows(group, anchor)
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
    threads, lead = threads_for(group.target, work_of(anchor), COPY_RATIO), [batch, block]
    chunk, by_image = _parts(group, anchor, count, bool(first + last), threads)
    if chunk < count:
        part, rows[-1] = stage.split(rows[-1], factor=chunk)
        lead, rows = ([batch, part, block], rows) if by_image else (lead, [*rows[:-1], part, rows[-1]])
    in_registers(stage, inner, lane, [*lead, *rows, tiles])
    kept = 1 if chunk < count else 0
    place = _order_and_parallelize(group, stage, lead, rows, tiles, threads, kept)
    if rows and rows[-1] in stage.leaf_iter_vars:
        partition_borders(stage, rows[-1], chunk, first, last)
    axes = anchor.reduce_axis
    default = _unrolled_by_default(group, axes, bool(pads))
    unrolled = group.knob("unrolled", unrollable(axes, UNROLLED_WINDOW)[::-1], default)
    _sum_windows(group.stage(sums), stage, place, pads, unrolled)
    schedule_other_outputs(group, host)


def _border_rows(group: Group, anchor: ComputeOp) -> tuple[int, int]:
    """The numbers of first and last rows that get separate loops; none on machines with mask registers, where
    that would be more code and no less work."""
    pads = [pad for pad in group.tagged("pad") if pad.output(0) in anchor.inputs]
    if not pads or len(anchor.reduce_axis) < 2 or not group.target.machine.few_registers:
        return 0, 0
    return rows_at_border(anchor, pads[0], len(anchor.axis) - 3)


def _parts(group: Group, anchor: ComputeOp, rows: int, border: bool, threads: int) -> tuple[int, bool]:
    """The number of ``rows`` in a part, all of them if there are no parts, and whether parts are outside
    blocks. ``border``: some rows have separate loops."""
    planes, least = product(map(extent_of, anchor.axis[:2])), LEAST_ROWS if border else 1
    parts = max(LEAST_PARTS, -(-ENOUGH_PLANES // planes)) if planes else LEAST_PARTS
    part = _rows_per_chunk(1, rows, least, parts, threads)
    if _outer(group, anchor, part < rows) == "rows" and part < rows:
        return part, True
    return (_rows_per_chunk(planes, rows, least, ENOUGH_PLANES, threads) if border else rows), False


def _outer(group: Group, anchor: ComputeOp, parts: bool) -> str:
    """The knob ``outer``: whether blocks are outside rows, or parts of rows outside blocks. Without ``parts``
    both settings are the same schedule, and "blocks" is the default."""
    if len(anchor.axis) != 5:
        return "blocks"
    return group.knob(
        "outer", ("blocks", "rows"), "rows" if parts and divides_image_rows(group, anchor) else None
    )


def _rows_per_chunk(blocks: int | None, count: int, least: int, parts: int, threads: int) -> int:
    """How many of the ``count`` rows of each of ``blocks`` blocks a thread takes at a time: all if there are
    enough blocks (``parts``); else the most, at least ``least``, that leave enough chunks for ``threads``; if
    there is no such number, fewer if that makes shares even, else all."""
    if blocks is None or enough(blocks, parts, threads):
        return count
    fitting = [n for n in range(1, count) if count % n == 0 and enough(blocks * (count // n), parts, threads)]
    several = [n for n in fitting if n >= least]
    if several:
        return max(several)
    return max(fitting, default=count) if threads > MEASURED_CORES else count


def _padding(group: Group, anchor: ComputeOp) -> list[Stage]:
    """Apply the knob ``padding``. Return the stages of padded data to be copied per row of the window; the
    length of what a row reads must be known, since the copy is unrolled."""
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
    """Whether the index of ``anchor`` along a row of ``pads`` depends only on its own axes, and the window's
    length is known."""
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
    """The knob ``tile`` (rows, outputs): its sums, one vector of weights and one of data fit in registers."""
    width, height = extent_of(along), extent_of(rows[-1]) if rows else 1
    block, lanes = extent_of(lane), group.target.lanes("float32")
    vectors = 1 if block is None else max(1, block // lanes)
    default = (-1, 1, _outputs_at_once(width, group.target))
    made: dict[tuple[int, ...], None] = {default: None}
    if width is not None and height is not None:
        for high in range(1, min(height, MOST_ROWS) + 1):
            for wide in range(1, min(width, (group.target.vector_registers - 2) // (high * vectors)) + 1):
                if max(tail_fraction(width, wide), tail_fraction(height, high)) <= MOST_TAIL:
                    made[-1, high, wide] = None
    high, wide = group.tile(width, list(made), default)
    return high, wide


def _order_and_parallelize(
    group: Group,
    stage: Stage,
    lead: list[IterVar],
    rows: list[IterVar],
    tiles: IterVar,
    threads: int,
    kept: int,
) -> IterVar:
    """Apply the knobs ``order`` and ``grain``: divide blocks among threads, and if they are few also rows, in
    all loops over rows but the last ``kept``; return the loop in which a tile is computed."""
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
    """The default number of unrolled axes of a window: only the last if padding is copied per row, or if the
    window is large and registers are few; else all."""
    most, places = unrollable(axes, UNROLLED_WINDOW)[-1], product(map(extent_of, axes)) or 0
    large = group.target.machine.few_registers and places > WHOLE_WINDOW
    return min(most, 1) if row_by_row or large else most


def _outputs_at_once(extent: int | None, target: Target) -> int:
    """How many outputs of a row of ``extent`` are computed at once, with tiles as even as possible."""
    if extent is None:
        return OUTPUTS_OF_UNKNOWN_ROW
    tiles = -(-extent // (OUTPUTS_OF_FEW_REGISTERS if target.machine.few_registers else OUTPUTS_AT_ONCE))
    return -(-extent // tiles)


def _sum_windows(stage: Stage, host: Stage, place: IterVar, pads: Sequence[Stage], unrolled: int) -> None:
    """Compute the sums of some outputs at ``place``; ``pads`` are copied once per row of the window."""
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
