"""The loops around a tile of accumulators: their order, their panels, and which are divided among threads."""

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
"""The least number of tiles of columns, each with all rows, to divide among threads; with fewer, rows are
divided as well. It is four for each of two threads, so that a thread that is done early can take some of the
other's. It is not larger because threads that share the rows of a tile each read its weights."""

PANELS = (1, 2, 4, 8, 16)
"""The lengths of a panel, in tiles."""

PREFETCH_DISTANCES = (0, 1, 2, 4, 8, 16)
"""The prefetch distances of an operand, in iterations."""

STEPS_PER_ITERATION = (1, 2, 4, 8, 16)
"""The numbers of reduction steps that one iteration may take."""

ENOUGH_ITERATIONS = 8
"""A parallel loop of fewer iterations is fused with the loop over tiles: four for each of two threads."""


@dataclass(frozen=True)
class Panel:
    """A panel: iterations of the loop at position ``place``, over ``elements`` elements (None: unknown),
    whose data stays in a cache. It has ``iterations`` by default."""

    place: int
    elements: int | None
    iterations: int = 1


def order_and_parallelize(
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
    """Order ``loops``, which are inside ``lead``, and divide the outer ones among ``threads``, if there are
    several; return the innermost loop, in which a tile is computed.

    Knobs: ``panel_NAME`` for each of ``panels``, how many iterations of its loop make a panel (1: no panel);
    ``order`` of the loops, a panel's inside the loop over panels, by default with ``first`` outside all
    others; ``grain``, how many of the innermost loops one thread executes alone: at least ``least``, by
    default ``grain``, or fewer if the outer loops would not have enough iterations for all threads.
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
    """The parallel loops of ``stage``."""
    return [axis for axis in stage.leaf_iter_vars if stage.loop_kinds.get(axis) == PARALLEL]


def in_registers(stage: Stage, tile: Sequence[IterVar], lane: IterVar, outer: Sequence[IterVar] = ()) -> None:
    """Put the loops of ``tile``, unrolled, and ``lane``, vectorized, inside the loops ``outer``; without
    ``outer`` the loops keep their order."""
    if outer:
        stage.reorder(*outer, *tile, lane)
    for axis in tile:
        stage.unroll(axis)
    stage.vectorize(lane)


def several_vectors(stage: Stage, axis: IterVar, lanes: int | None) -> tuple[list[IterVar], IterVar]:
    """Split the loop ``axis`` into one over vectors of ``lanes`` elements and one over their elements; with
    ``lanes`` None it is one vector."""
    if lanes is None:
        return [], axis
    vectors, lane = stage.split(axis, factor=lanes)
    return [vectors], lane


def unrollable(axes: Sequence[IterVar], most: int) -> list[int]:
    """The numbers of innermost ``axes`` that may be unrolled, with at most ``most`` iterations in all."""
    found, iterations = [0], 1
    for count, axis in enumerate(reversed(axes), 1):
        extent = extent_of(axis)
        if extent is None or iterations * extent > most:
            break
        iterations *= extent
        found.append(count)
    return found


def dividing_steps(axis: IterVar) -> list[int]:
    """Those of ``STEPS_PER_ITERATION`` that divide the extent of ``axis``."""
    extent = extent_of(axis)
    return [n for n in STEPS_PER_ITERATION if n == 1 or (extent is not None and extent % n == 0)]
