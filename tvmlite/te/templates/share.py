"""How finely a kernel is cut for the threads that share it: one rule for all schedule templates.

A template says what it would share on two cores, for which its own numbers are measured. Where a machine has
more, the loops it shares must also have iterations enough for all threads to have a like share: then it
shares more of its loops, or makes its tiles smaller; and where neither is possible, the loop says so
(``share``).
"""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te.loop.chunks import UNEVEN, WORTH_A_THREAD
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import Fuse, Singleton, Split
from tvmlite.te.templates.group import extent_of, number
from tvmlite.te.tensor.tensor import IterVar

MEASURED_CORES = 2
"""Templates' own numbers hold for as many threads."""

MOST_UNEVEN = 1.15
"""The most that the thread with most to do may have of a kernel, divided by what each has on average."""


def threads_for(target: Target, work: int | None, copies: int = 2) -> int:
    """How many threads are to share ``work`` (None: unknown): 1 where one is quicker, as many as there are
    cores where each has enough of it to do; with copies, which are not counted, there may be ``copies`` times
    as much."""
    if work is None:
        return max(MEASURED_CORES, target.machine.cores)
    if work < MEASURED_CORES * WORTH_A_THREAD:
        return 1
    if copies * work >= target.machine.cores * WORTH_A_THREAD:
        return max(MEASURED_CORES, target.machine.cores)
    return max(MEASURED_CORES, work // WORTH_A_THREAD)


def is_even(iterations: int | None, threads: int, longest: int = 1, total: float | None = None) -> bool:
    """Whether ``threads`` that share ``iterations`` (None: unknown) have like shares, where the longest
    iteration is of ``longest`` units and all together have ``total`` of them (None: all are as long)."""
    if threads <= MEASURED_CORES or iterations is None:
        return True
    whole = iterations * longest if total is None else total
    return -(-iterations // threads) * threads * longest <= MOST_UNEVEN * whole


def enough(iterations: int | None, least: int, threads: int) -> bool:
    """Whether loops of ``iterations`` are enough for ``threads`` to share, where ``least`` are on two
    cores."""
    return iterations is None or (iterations >= least and is_even(iterations, threads))


def part_for(extent: int | None, outside: int | None, most: int, threads: int) -> int:
    """How many iterations of a loop of ``extent``, inside others of ``outside``, one part of it takes:
    ``most``, or fewer where that makes shares alike; what comes nearest to that if nothing does."""
    if extent is None or outside is None or threads <= MEASURED_CORES:
        return most

    def uneven(size: int) -> float:
        return -(-outside * -(-extent // size) // threads) * size

    sizes = range(min(most, extent), 0, -1)
    even = [n for n in sizes if is_even(outside * -(-extent // n), threads, n, outside * extent)]
    return even[0] if even else min(sizes, key=uneven)


def iterations_of(stage: Stage, axis: IterVar) -> int | None:
    """The iterations of the loop ``axis`` of ``stage``; None if that is not known."""
    iterations = _iterations(stage, axis)
    return None if iterations is None else iterations[0]


def _iterations(stage: Stage, axis: IterVar) -> tuple[int, float] | None:
    """The iterations of a loop, and how many whole ones have as much to do: the last of a split may be
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
    """``threads`` share the loop ``axis``, each iteration of which computes ``part``, unless they are but
    one.

    A loop whose iterations are too few, or of an odd number, for all to have like shares says so.
    """
    if threads == 1:
        return
    stage.parallel(axis)
    iterations = _iterations(stage, axis)
    if iterations is not None and not is_even(iterations[0], threads, 1, iterations[1]):
        stage.pragma(axis, UNEVEN, f"{iterations[0]} iterations for {threads} threads: each is {part}")
