"""How a kernel is divided among threads: one rule for all schedule templates.

A template chooses its parallel loops for two cores, for which its own numbers were measured. On machines with
more cores, these loops must also have enough iterations for an even division among all threads. If not, the
template makes more of its loops parallel, or its tiles smaller; if neither is possible, the loop is annotated
as uneven (``share``).
"""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te.loop.chunks import MIN_WORK_PER_THREAD, UNEVEN
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import Fuse, Singleton, Split
from tvmlite.te.templates.group import extent_of, number
from tvmlite.te.tensor.tensor import IterVar

MEASURED_CORES = 2
"""The number of threads for which the templates' own numbers were measured."""

MOST_UNEVEN = 1.15
"""The greatest allowed load imbalance: the largest share of a thread divided by the average share."""


def threads_for(target: Target, work: int | None, copies: int = 2) -> int:
    """The number of threads for ``work`` (None: unknown): 1 if that is faster, all cores if each has enough
    work. Copies are not counted in ``work``: with them there may be ``copies`` times as much."""
    if work is None:
        return max(MEASURED_CORES, target.machine.cores)
    if work < MEASURED_CORES * MIN_WORK_PER_THREAD:
        return 1
    if copies * work >= target.machine.cores * MIN_WORK_PER_THREAD:
        return max(MEASURED_CORES, target.machine.cores)
    return max(MEASURED_CORES, work // MIN_WORK_PER_THREAD)


def is_even(iterations: int | None, threads: int, longest: int = 1, total: float | None = None) -> bool:
    """Whether ``threads`` get about equal shares of ``iterations`` (None: unknown), if the longest iteration
    has ``longest`` units of work and all together ``total`` (None: all are equally long)."""
    if threads <= MEASURED_CORES or iterations is None:
        return True
    whole = iterations * longest if total is None else total
    return -(-iterations // threads) * threads * longest <= MOST_UNEVEN * whole


def enough(iterations: int | None, least: int, threads: int) -> bool:
    """Whether loops of ``iterations`` are enough for ``threads``, given that two cores need ``least``."""
    return iterations is None or (iterations >= least and is_even(iterations, threads))


def chunk_size(extent: int | None, outside: int | None, most: int, threads: int) -> int:
    """The size of one part of a loop of ``extent``, inside others of ``outside`` iterations: ``most``, or
    less if that makes shares even; the most even size if none does."""
    if extent is None or outside is None or threads <= MEASURED_CORES:
        return most

    def uneven(size: int) -> float:
        return -(-outside * -(-extent // size) // threads) * size

    sizes = range(min(most, extent), 0, -1)
    even = [n for n in sizes if is_even(outside * -(-extent // n), threads, n, outside * extent)]
    return even[0] if even else min(sizes, key=uneven)


def iterations_of(stage: Stage, axis: IterVar) -> int | None:
    """The iterations of the loop ``axis`` of ``stage``; None if unknown."""
    iterations = _iterations(stage, axis)
    return None if iterations is None else iterations[0]


def _iterations(stage: Stage, axis: IterVar) -> tuple[int, float] | None:
    """The iterations of a loop, and the equivalent number of full ones: the last iteration of a split may be
    shorter."""
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner, factor, nparts) if axis is outer or axis is inner:
                size, whole = number(factor if nparts is None else nparts), _iterations(stage, parent)
                if size is None or ((axis is inner) == (nparts is None)):
                    return None if size is None else (size, float(size))
                return None if whole is None else (-(-whole[0] // size), whole[1] / size)
            case Fuse(outer, inner, fused) if axis is fused:
                first, second = _iterations(stage, outer), _iterations(stage, inner)
                if first is None or second is None:
                    return None
                return first[0] * second[0], first[1] * second[1]
            case Singleton(single) if axis is single:
                return 1, 1.0
    extent = extent_of(axis)
    return None if extent is None else (extent, float(extent))


def share(stage: Stage, axis: IterVar, threads: int, part: str) -> None:
    """Divide the loop ``axis``, whose iterations each compute ``part``, among ``threads`` if more than 1.

    A loop whose iterations cannot be divided evenly, as they are too few or leave a remainder, is annotated.
    """
    if threads == 1:
        return
    stage.parallel(axis)
    iterations = _iterations(stage, axis)
    if iterations is not None and not is_even(iterations[0], threads, 1, iterations[1]):
        stage.pragma(axis, UNEVEN, f"{iterations[0]} iterations for {threads} threads: each is {part}")
