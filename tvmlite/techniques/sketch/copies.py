"""Copies of a reduction's operands in which every tile is contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import number, product
from tvmlite.te.templates.share import share, threads_for
from tvmlite.te.tensor.tensor import IterVar, TensorRead
from tvmlite.techniques.sketch.access import mentions
from tvmlite.techniques.sketch.plan import Plan
from tvmlite.techniques.sketch.tiles import Tile


def is_packable(read: TensorRead, axis: IterVar) -> bool:
    """Whether exactly one dimension of the tensor depends on ``axis``, and its index is ``axis`` alone."""
    return _dimension(read, axis) is not None


def _dimension(read: TensorRead, axis: IterVar) -> int | None:
    places = [n for n, index in enumerate(read.indices) if mentions(index, axis.var)]
    plain = len(places) == 1 and read.indices[places[0]] is axis.var
    known = plain and number(read.tensor.shape[places[0]]) is not None
    return places[0] if known else None


def contiguous_reduction_axis(read: TensorRead, axes: Sequence[IterVar | None], lanes: int) -> int | None:
    """The contiguous dimension of the tensor that is read, if only the reduction runs along it and it is at
    least a vector long, so that a copy may load along it; else None."""
    extents = [number(extent) for extent in read.tensor.shape]
    last = next((d for d in reversed(range(len(extents))) if extents[d] != 1), None)
    if last is None or any(axis is not None and _dimension(read, axis) == last for axis in axes):
        return None
    extent = extents[last]
    return last if extent is None or extent >= lanes else None


def copy_operand(
    plan: Plan,
    reader: Stage,
    read: TensorRead,
    tile: Tile,
    axes: Sequence[IterVar | None],
    transposed: bool,
) -> None:
    """Store the tensor of ``read`` in the order in which ``reader`` reads it: tiles of data axes outermost,
    then the dimensions of the reduction, then the elements of a tile, those of a vector last. ``axes`` are
    the axes of the tile's sizes, None for several fused ones.

    An unscheduled stage without other readers gets this layout itself. Else there is a copy, which loads
    vectors along the dimension ``contiguous_reduction_axis`` if ``transposed``, and else stores vectors.
    """
    group, tensor = plan.group, read.tensor
    split: dict[int, int] = {}
    for place, axis in enumerate(axes):
        dimension = None if axis is None else _dimension(read, axis)
        if dimension is not None:
            split[dimension] = place
    if not split:
        return
    own = tensor.op in plan.operands and group.readers(group.schedule.current(tensor)) == [reader.op]
    stage = group.stage(tensor if own else group.schedule.cache_read(tensor, "global", [reader.op]))
    sizes = {d: tile.sizes[place] for d, place in split.items()}
    inner = sorted((d for d in split if sizes[d] > 1), key=lambda d: (split[d] == tile.vector, d))
    outer = [d for d in sorted(split) if sizes[d] == 1 or sizes[d] < (number(read.tensor.shape[d]) or 0)]
    middle = [d for d in range(len(read.indices)) if d not in split]

    def layout(*index: Any) -> list[Any]:
        tiles = [index[d] // sizes[d] if sizes[d] > 1 else index[d] for d in outer]
        elements = [index[d] % sizes[d] if d in outer else index[d] for d in inner]
        return [*tiles, *(index[d] for d in middle), *elements]

    loops = stage.transform_layout(layout)
    lanes = group.target.lanes(tensor.dtype)
    along = contiguous_reduction_axis(read, axes, lanes) if transposed and inner else None
    if along is not None and not own:
        steps, lane = stage.split(loops[len(outer) + middle.index(along)], factor=lanes)
        stage.reorder(steps, *loops[len(outer) + len(middle) :], lane)
        stage.vectorize(lane)
    elif inner:
        _in_vectors(stage, loops[-1], sizes[inner[-1]], lanes)
    work = product(number(extent) for extent in tensor.shape)
    threads = threads_for(group.target, None if work is None else 2 * work)
    if len(loops) > 1:
        share(stage, loops[0], threads, "a row of tiles")


def _in_vectors(stage: Stage, loop: IterVar, size: int, lanes: int) -> None:
    """Vectorize the loop over the elements of a tile along its last axis."""
    if size <= lanes:
        stage.vectorize(loop)
    elif size % lanes == 0:
        _, lane = stage.split(loop, factor=lanes)
        stage.vectorize(lane)
