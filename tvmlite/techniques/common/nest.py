"""The loops around a tile of accumulators: their order, their panels, and what of them threads share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import PARALLEL
from tvmlite.te.space.choices import ReorderChoice
from tvmlite.te.templates.group import Group, extent_of, product
from tvmlite.te.templates.share import is_even, iterations_of, share
from tvmlite.te.tensor.tensor import IterVar

ENOUGH_COLUMN_TILES = 8
"""Tiles of columns, each with all rows, that are enough for threads to share; with fewer, they share the rows
as well. These are four for each of two threads, of which one that is done early takes some of another's; more
are not asked for, since threads that share the rows of a tile read its weights once each."""

PANELS = (1, 2, 4, 8, 16)
"""How many tiles a panel may be long."""

AHEAD = (0, 1, 2, 4, 8, 16)
"""How many iterations ahead an operand may be asked for."""

STEPS = (1, 2, 4, 8, 16)
"""How many steps of a reduction one iteration may take."""

ENOUGH_TURNS = 8
"""A parallel loop of fewer iterations takes in the loop over tiles as well: these are four for each of two
threads."""


@dataclass(frozen=True)
class Panel:
    """Turns of the loop at ``place``, over ``elements`` elements (None: unknown), whose data stays in a
    cache; by default ``iterations``."""

    place: int
    elements: int | None
    iterations: int = 1


def shared_out(
    group: Group,
    stage: Stage,
    lead: Sequence[IterVar],
    loops: Sequence[IterVar],
    panels: Mapping[str, Panel],
    threads: int,
    grain: int,
    least: int = 0,
    first: int = 0,
) -> IterVar:
    """Put ``loops``, which follow ``lead``, in order and share the outer ones out among the ``threads``, if
    there are several; gives the innermost, in which a tile is computed.

    Knobs: ``panel_NAME`` for each of ``panels``, how many iterations of its loop make a panel (1: no panel);
    ``order`` of the loops, those of a panel inside that over panels, by default with ``first`` outside all
    others; ``grain``, how many of them, from the innermost on, one thread keeps: at least ``least``, by
    default ``grain``, or as many fewer as leave enough iterations for all threads.
    """
    config, count = group.config, len(loops)
    slots: list[IterVar | None] = list(loops)
    groups = [[place] for place in range(count)]
    for name, panel in panels.items():
        lengths = [n for n in PANELS if n == 1 or 2 * n <= (panel.elements or 1)]
        size, inner = group.knob(f"panel_{name}", lengths, panel.iterations), None
        if size > 1:
            slots[panel.place], inner = stage.split(loops[panel.place], factor=size)
        groups[panel.place].append(len(slots))
        slots.append(inner)
    config.define_reorder("order", range(len(slots)), "interleave", groups=groups)
    config.suggest("order", ReorderChoice((first, *(n for n in range(len(slots)) if n != first))))
    ordered = [axis for place in config["order"].permutation if (axis := slots[place]) is not None]
    stage.reorder(*ordered)
    if threads == 1:
        return ordered[-1]
    iterations = [iterations_of(stage, axis) for axis in (*lead, *ordered)]
    fitting = [
        n for n in range(least, grain + 1) if is_even(product(iterations[: len(iterations) - n]), threads)
    ]
    kept = group.knob("grain", range(least, count), max(fitting, default=least))
    shared = stage.fuse(*lead, *ordered[: len(ordered) - kept])
    share(stage, shared, threads, "a panel of tiles" if kept else "a tile")
    return ordered[-1] if kept else shared


def shared_loops(stage: Stage) -> list[IterVar]:
    """The loops of ``stage`` whose iterations threads share."""
    return [axis for axis in stage.leaf_iter_vars if stage.loop_kinds.get(axis) == PARALLEL]


def in_registers(stage: Stage, tile: Sequence[IterVar], lane: IterVar, outer: Sequence[IterVar] = ()) -> None:
    """Inside loops ``outer`` those over a ``tile`` of vectors, written out, that over a vector's elements its
    ``lane``; without ``outer`` loops stay in order."""
    if outer:
        stage.reorder(*outer, *tile, lane)
    for axis in tile:
        stage.unroll(axis)
    stage.vectorize(lane)


def several_vectors(stage: Stage, axis: IterVar, lanes: int | None) -> tuple[list[IterVar], IterVar]:
    """The loop ``axis`` as one over vectors of ``lanes`` and one over their elements; None: as one vector."""
    if lanes is None:
        return [], axis
    vectors, lane = stage.split(axis, factor=lanes)
    return [vectors], lane


def unrollable(axes: Sequence[IterVar], most: int) -> list[int]:
    """How many of ``axes``, from the last on, may be unrolled, with at most ``most`` iterations in all."""
    found, iterations = [0], 1
    for count, axis in enumerate(reversed(axes), 1):
        extent = extent_of(axis)
        if extent is None or iterations * extent > most:
            break
        iterations *= extent
        found.append(count)
    return found


def whole_steps(axis: IterVar) -> list[int]:
    """How many steps of ``axis`` an iteration may take: all iterations the same."""
    extent = extent_of(axis)
    return [n for n in STEPS if n == 1 or (extent is not None and extent % n == 0)]
