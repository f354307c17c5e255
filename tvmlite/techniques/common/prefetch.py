"""Prefetching of weights: from memory while the panel before theirs is used, and from the second cache."""

from __future__ import annotations

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import PARALLEL
from tvmlite.te.templates.group import Group
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, PlaceholderOp
from tvmlite.techniques.common.dot import is_paired

STEPS_PER_REQUEST = 32
"""The number of reduction steps between requests for lines. A processor can have some twenty lines in flight,
which must also serve the reads of the tile itself: an encoder with 340 MB of weights gains most with
32, less with 8 and 128, and loses if all lines are requested at once."""

MOST_STEPS = 64
"""The most reduction steps from one request to the next if an iteration takes several: sixteen iterations of
four steps. The products of an encoder are slower with thirty-two iterations."""

MOST_WINDOWS = 4
"""If windows stay whole, up to this many of them may be between two requests, even if that is more than the
steps above: with two windows of 3x3, layers of 14x14 pixels are slower."""


def prefetch_next_panel(
    stage: Stage,
    host: Stage,
    place: IterVar,
    steps: IterVar,
    iterations: int | None,
    whole: int = 1,
    near: int = 0,
    several: int = 1,
) -> None:
    """Prefetch the next panel of weights while the tiles of one panel are computed; and the weights of the
    current panel, from the second cache, ``near`` iterations before their use (0: not).

    ``stage`` computes a tile in the loop ``place`` of ``host``, by ``iterations`` iterations of the loop
    ``steps``; the weights are its last input. All iterations of ``place``, and of the loops around it that
    one thread executes, read the same panel; iterations of the next loop further out read other panels. A
    model's weights do not fit in the caches: without prefetching, each panel's first tile waits for memory.
    The iterations from one request to the next are a multiple of ``whole``; an iteration takes ``several``
    steps.
    """
    loops = host.leaf_iter_vars
    position = next(n for n, loop in enumerate(loops) if loop is place)
    shared = [n for n in range(position) if host.loop_kinds.get(loops[n]) == PARALLEL]
    panel = shared[-1] if shared else position - 1
    weight = stage.op.inputs[-1]
    most = max(1, min(STEPS_PER_REQUEST, MOST_STEPS // several))
    at_once = 1 if iterations is None else _iterations_between(iterations, whole, most)
    if position and isinstance(weight.op, PlaceholderOp) and at_once >= most // 2:
        outer, steps = stage.split(steps, factor=at_once)
        stage.prefetch(weight, loops[panel], share=[*loops[panel + 1 : position + 1], outer])
    if near:
        stage.prefetch(weight, steps, near)


def near_prefetch_distance(group: Group, anchor: ComputeOp) -> int:
    """The distance in iterations at which weights of ``anchor`` are prefetched from the second cache. Layers
    whose next panel is prefetched gain as well."""
    is_stored = isinstance(anchor.inputs[-1].op, PlaceholderOp) and not is_paired(anchor)
    return group.target.machine.prefetch_near if is_stored else 0


def _iterations_between(iterations: int, whole: int, most: int) -> int:
    """The largest multiple of ``whole`` up to about ``most`` that divides ``iterations``; else 1."""
    most = most if whole == 1 else max(most, MOST_WINDOWS * whole)
    fitting = [n for n in range(whole, most + 1, whole) if iterations % n == 0]
    return max(fitting, default=1)
