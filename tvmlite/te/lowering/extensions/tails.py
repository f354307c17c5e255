"""The remainder of a split with ``tail="shrink"``: further loops over smaller and smaller tiles.

Each of these loops is lowered separately, as if the split were by its smaller size only, and placed after the
loop over whole tiles. So every loop has tiles of a known size and no guard, and the iterations are executed
once each, in the order of the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import substitute
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.schedule.relations import Number, Ranges, derived_from
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, SHRINK, Split
from tvmlite.te.tensor.tensor import IterVar

Build: TypeAlias = Callable[[Schedule, IterVar], ir.Stmt]
"""Lowers a schedule and returns only the given loop."""


class Tiles(NamedTuple):
    """``iterations`` tiles of ``size``, from ``begin`` on."""

    size: int
    begin: Number
    iterations: Number


def shrinking(extent: Number, factor: Any, ratio: int) -> list[Tiles]:
    """The tiles of an axis of ``extent``: as many of ``factor`` as fit, then one for the remainder if that is
    known. Otherwise, each further size is the one before divided by ``ratio``, or else by 2 where these
    divide it, or else 1."""
    size = int(factor)
    if isinstance(extent, int):
        size = max(1, min(size, extent))
        rest = extent % size
        whole = Tiles(size, 0, extent // size)
        return [whole, Tiles(rest, extent - rest, 1)] if rest else [whole]
    found = [Tiles(size, 0, extent // size)]
    while size > 1:
        begin = extent // size * size
        size = next((size // by for by in (ratio, 2) if size % by == 0), 1)
        found.append(Tiles(size, begin, (extent - begin) // size))
    return found


def smaller_tiles(
    schedule: Schedule, ranges: Ranges, within: Collection[IterVar] | None, build: Build
) -> dict[IterVar, list[ir.Stmt]]:
    """The statements after each loop over whole tiles, or after those in ``within``."""
    after: dict[IterVar, list[ir.Stmt]] = {}
    for number, stage in enumerate(schedule.stages):
        for place, split in enumerate(stage.relations):
            if not isinstance(split, Split) or split.tail != SHRINK or split.piece:
                continue
            _check_outer(stage, split)
            if within is None or split.outer in within:
                tiles = shrinking(ranges[split.parent].extent, split.factor, split.ratio)
                after[split.outer] = [
                    _renamed(build(_with_tail_piece(schedule, number, place, piece), split.outer))
                    for piece in range(1, len(tiles))
                    if not arith.equal(tiles[piece].iterations, 0)
                ]
    return after


def _with_tail_piece(schedule: Schedule, number: int, place: int, piece: int) -> Schedule:
    """A copy of ``schedule`` in which one split uses the tile size of its tail's ``piece``."""
    made = schedule.copy()
    split = made.stages[number].relations[place]
    assert isinstance(split, Split)
    relations = list(made.stages[number].relations)
    relations[place] = replace(split, piece=piece)
    made.stages[number].change(relations=tuple(relations))
    return made


def _renamed(loop: ir.Stmt) -> ir.Stmt:
    if not isinstance(loop, ir.For):
        return loop
    var = e.Var(loop.var.name, loop.var.dtype)
    return replace(loop, var=var, body=substitute(loop.body, {loop.var: var}))


def _check_outer(stage: Stage, split: Split) -> None:
    name = split.outer.var.name
    if not any(leaf is split.outer for leaf in stage.leaf_iter_vars):
        raise ScheduleError(
            f"split: axis {name} of stage {stage.name} must stay a loop, because "
            'tail="shrink" adds loops after it',
            split.span,
        )
    within = derived_from(stage.relations, [split.inner])
    place = stage.leaf_iter_vars.index(split.outer)
    for leaf in stage.leaf_iter_vars[:place]:
        if leaf in within:
            raise ScheduleError(
                f"split: axis {leaf.var.name} of stage {stage.name}, which runs over a part of a tile, is "
                f'outside {name}; with tail="shrink" tiles differ in size, so it must be inside',
                split.span,
            )


def inside(schedule: Schedule, loop: IterVar) -> tuple[set[IterVar], list[Stage]]:
    """The loops inside ``loop``, and the stages computed there."""
    loops: set[IterVar] = set()
    stages = []
    for stage in reversed(schedule.stages):
        leaves = stage.leaf_iter_vars
        if loop in leaves:
            loops.update(leaves[leaves.index(loop) + 1 :])
        elif stage.attach_type == AT and (stage.attach_ivar is loop or stage.attach_ivar in loops):
            loops.update(leaves)
            stages.append(stage)
    return loops, stages
