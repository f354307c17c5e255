"""Copies of a reduction's operands in which every tile is one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.te.schedules.group import extent_of, number, product, worth_threads
from tvmlite.te.schedules.sketch.access import mentions
from tvmlite.te.schedules.sketch.plan import Plan
from tvmlite.te.schedules.sketch.tiles import Tile
from tvmlite.te.stage import Stage
from tvmlite.te.tensor import ComputeOp, IterVar, TensorRead


def is_packable(read: TensorRead, axis: IterVar) -> bool:
    """Whether one dimension of what is read is indexed by ``axis`` alone, and no other mentions it."""
    return _dimension(read, axis) is not None


def _dimension(read: TensorRead, axis: IterVar) -> int | None:
    places = [n for n, index in enumerate(read.indices) if mentions(index, axis.var)]
    plain = len(places) == 1 and read.indices[places[0]] is axis.var
    known = plain and number(read.tensor.shape[places[0]]) is not None
    return places[0] if known else None


def copy_operand(plan: Plan, reader: Stage, read: TensorRead, tile: Tile, axes: Sequence[IterVar]) -> None:
    """What ``read`` reads as ``reader`` meets it: the tiles of data axes outermost, then what the reduction
    walks, then the elements of one tile, those of a vector last. ``axes`` are what the tile's sizes go along.

    A stage of the sketch's own that nobody else reads is laid out so itself; else there is a copy.
    """
    group, tensor = plan.group, read.tensor
    own = tensor.op in plan.operands and group.readers(group.schedule.current(tensor)) == [reader.op]
    copy = tensor if own else group.schedule.cache_read(tensor, "global", [reader.op])
    stage = group.stage(copy)
    split: dict[int, int] = {}
    for place, axis in enumerate(axes):
        dimension = _dimension(read, axis)
        if dimension is not None:
            split[dimension] = place
    sizes = {d: tile.sizes[place] for d, place in split.items()}
    inner = sorted((d for d in split if sizes[d] > 1), key=lambda d: (split[d] == tile.vector, d))
    outer = [d for d in sorted(split) if sizes[d] == 1 or sizes[d] < (number(read.tensor.shape[d]) or 0)]
    middle = [d for d in range(len(read.indices)) if d not in split]

    def layout(*index: Any) -> list[Any]:
        tiles = [index[d] // sizes[d] if sizes[d] > 1 else index[d] for d in outer]
        return [
            *tiles,
            *(index[d] for d in middle),
            *(index[d] % sizes[d] if d in outer else index[d] for d in inner),
        ]

    if not split:
        return
    loops = stage.transform_layout(layout)
    _loops(stage, loops, [sizes[d] for d in inner], plan.group.target.lanes(tensor.dtype))


def _loops(stage: Stage, loops: list[IterVar], sizes: list[int], lanes: int) -> None:
    """The loops of a copy: the outermost in parallel, the innermost in vectors."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    last = loops[-1]
    if sizes and sizes[-1] > 1:
        if sizes[-1] > lanes and sizes[-1] % lanes == 0:
            _, last = stage.split(last, factor=lanes)
            stage.vectorize(last)
        elif sizes[-1] <= lanes:
            stage.vectorize(last)
    work = product(extent_of(axis) for axis in op.axis)
    if worth_threads(None if work is None else 2 * work) and len(loops) > 1:
        stage.parallel(loops[0])
