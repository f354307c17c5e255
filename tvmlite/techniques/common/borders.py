"""Separate loops for the rows at an image's border, whose windows read padding."""

from __future__ import annotations

from collections.abc import Mapping

from tvmlite.core.node import substitute
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import extent_of, nodes_of, number
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor, TensorRead

MOST_AT_BORDER = 0.5
"""The largest part of iterations at the border: with more, a separate loop is not worth its code."""


def rows_at_border(anchor: ComputeOp, pad: ComputeOp, row: int) -> tuple[int, int]:
    """How many of the first and of the last rows of ``anchor`` have windows that read the padding added by
    ``pad``; ``row`` is the index of the row axis in both. Zeros if not known."""
    rows, data = extent_of(anchor.axis[row]), pad.inputs[0]
    height = number(data.shape[row])
    read, source = _index_along(anchor, pad.output(0), row), _index_along(pad, data, row)
    if rows is None or height is None or read is None or source is None:
        return 0, 0
    begin = _evaluated(source, {pad.axis[row].var: 0})
    least = {axis.var: 0 for axis in anchor.reduce_axis}
    most = {axis.var: (extent_of(axis) or 1) - 1 for axis in anchor.reduce_axis}
    var = anchor.axis[row].var
    spans = [(_evaluated(read, {**least, var: n}), _evaluated(read, {**most, var: n})) for n in range(rows)]
    first = last = 0
    for top, bottom in spans:
        if begin is None or top is None or bottom is None:
            return 0, 0
        first += top + begin < 0
        last += bottom + begin >= height
    return first, last


def padding_before(pad: ComputeOp, axis: int) -> int | None:
    """The padding that ``pad`` adds before the first element along ``axis``, a negative index; None if not
    known, as if phases of strides have their own axes."""
    source = _index_along(pad, pad.inputs[0], axis)
    first = None if source is None else _evaluated(source, {pad.axis[axis].var: 0})
    return None if first is None else -first


def _index_along(op: ComputeOp, tensor: Tensor, axis: int) -> e.Expr | None:
    """The index with which ``op`` reads ``tensor`` along ``axis``; None unless there is exactly one read."""
    places = [
        node.indices[axis] for node in nodes_of(op) if isinstance(node, TensorRead) and node.tensor is tensor
    ]
    return places[0] if len(places) == 1 else None


def _evaluated(place: e.Expr, values: Mapping[e.Var, int]) -> int | None:
    """The index ``place`` for these ``values`` of its variables; None if it depends on others."""
    found = arith.simplify(substitute(place, {var: e.const(n, e.INDEX) for var, n in values.items()}))
    return int(found.value) if isinstance(found, e.Const) else None


def partition_borders(stage: Stage, axis: IterVar, iterations: int, first: int, last: int) -> None:
    """Partition the loop ``axis`` of ``iterations`` iterations: its ``first`` iterations, its ``last``, and
    the others, which then need no masks for padding."""
    if first + last and first + last <= MOST_AT_BORDER * iterations:
        stage.loop_partition(axis, [*([first] if first else []), None, *([last] if last else [])])
