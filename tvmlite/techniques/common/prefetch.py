"""Weights come from memory while the tile before theirs is computed, and from the second cache in time."""

from __future__ import annotations

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import PARALLEL
from tvmlite.te.templates.group import Group
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, PlaceholderOp
from tvmlite.techniques.common.dot import is_paired

STEPS = 32
"""Steps of a reduction between one request for lines and the next. A processor waits for some twenty lines at
once, which must be enough for what the tile itself reads: an encoder with 340 MB of weights gains most with
32, less with 8 and 128, and loses with all lines at once."""

MOST_STEPS = 64
"""The most steps from one request to the next where an iteration takes several: of four, sixteen iterations.
The products of an encoder are slower with thirty-two."""

WINDOWS = 4
"""How many whole windows may be that many steps, where windows stay whole: with two of 3x3 places, layers of
14x14 pixels are slower."""


def fetch_ahead(
    stage: Stage,
    host: Stage,
    place: IterVar,
    steps: IterVar,
    iterations: int | None,
    whole: int = 1,
    near: int = 0,
    several: int = 1,
) -> None:
    """While the tiles of one panel of weights are computed, the next panel is asked for; and this one's
    weights, from the second cache, ``near`` iterations before their use (0: not).

    ``place`` is the loop of ``host`` in which ``stage`` computes a tile, by ``iterations`` iterations of the
    loop ``steps``; the weights are what it reads last. All iterations of ``place``, and of the loops around
    it that one thread keeps, read the same ones, and those of the loop around them others. A model's weights
    do not fit in the caches: without this, each panel's first tile waits for them. From one request to the
    next are as many iterations as ``whole`` divides; an iteration takes ``several`` steps.
    """
    loops = host.leaf_iter_vars
    position = next(n for n, loop in enumerate(loops) if loop is place)
    shared = [n for n in range(position) if host.loop_kinds.get(loops[n]) == PARALLEL]
    panel = shared[-1] if shared else position - 1
    weight = stage.op.inputs[-1]
    most = max(1, min(STEPS, MOST_STEPS // several))
    at_once = 1 if iterations is None else _iterations_between(iterations, whole, most)
    if position and isinstance(weight.op, PlaceholderOp) and at_once >= most // 2:
        outer, steps = stage.split(steps, factor=at_once)
        stage.prefetch(weight, loops[panel], share=[*loops[panel + 1 : position + 1], outer])
    if near:
        stage.prefetch(weight, steps, near)


def near_distance(group: Group, anchor: ComputeOp) -> int:
    """How many iterations before its use a weight of ``anchor`` is asked for from the second cache. Layers
    with a panel on its way gain as well."""
    stands = isinstance(anchor.inputs[-1].op, PlaceholderOp) and not is_paired(anchor)
    return group.target.machine.prefetch_near if stands else 0


def _iterations_between(iterations: int, whole: int, most: int) -> int:
    """The most iterations, of about ``most``, that divide ``iterations`` and are a multiple of ``whole``."""
    most = most if whole == 1 else max(most, WINDOWS * whole)
    fitting = [n for n in range(whole, most + 1, whole) if iterations % n == 0]
    return max(fitting, default=1)
