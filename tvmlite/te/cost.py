"""One analytic cost of a loop nest on a machine, in cycles: what ranks tiles, algorithms and candidates.

The estimate is a roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual performance
model", CACM 2009) with more than one roof, as in the execution-cache-memory model (Stengel, Treibig, Hager
and Wellein, "Quantifying performance bottlenecks of stencil computations", ICS 2015):

- *in the core* a step of straight code takes as long as its multiply-adds need their ports, its loads theirs,
  or a sum waits for the one before; whichever is the most. Loads that hide behind arithmetic still cost a
  little, and so do more streams of memory than are brought near in time;
- *beyond each cache* a nest moves what its loops cannot find there: the data of the most inner loops that
  fit into the cache are found there again, all other uses are too far apart (reuse distances: Mattson et al.,
  "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970). Bytes move at the bandwidth of
  the next cache.

Arithmetic and memory go on side by side, so the slowest of these counts most (``overlapped``).

A nest is described by a ``Nest``. Templates make one from a tile's parameters, without lowering anything;
``autotune.model.loop_features`` reads the same numbers off loop IR.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tvmlite.machine.machine import Machine

CALL = 16
"""Multiply-adds of a vector in the time that a function such as ``exp`` takes for one."""

SCATTERED = 2
"""Steps of a reduction in the time that it takes to store the sums of a tile one by one, not in vectors."""

COPIED = 1.5
"""Cycles in which an element is copied to where vectors can load it."""

MOST_STREAMS = 12
"""More rows of a tensor that a step reads from than these are not brought near in time."""

FAR_STREAM = 0.5
"""Cycles that each of the others costs."""

PART_VECTOR = 0.1
"""The part of a step's time that vectors cost besides where hardly any of their lanes are used."""

OVERLAP = 4.0
"""How exclusively the slowest resource counts: the exponent of a norm."""

BANDWIDTHS = (1.0, 1.0, 0.5, 1 / 16)
"""Of the first cache, the second, the last, and memory, relative to the first, where nobody measured them. A
Zen 5 of 4.5 GHz, whose first cache gives 128 bytes a cycle, reads 38 GB/s from memory: 8 of those."""


@dataclass(frozen=True)
class Step:
    """Straight code that a loop repeats, as one step of a reduction in a tile of registers.

    Numbers of vectors: ``multiply_adds`` (or two other operations each), ``calls`` of costly functions; of
    loads: ``scalars`` that are broadcast, ``vectors``, and ``spills``, further accesses for what is apart in
    memory or finds no register. ``wait`` are the cycles from one step to the next that adds to the same sums;
    None: those of one multiply-add to each sum, whose vectors often come from the second cache. ``streams``
    are, of each tensor, the rows of memory that vectors come from, ``filled`` the part of a vector's lanes
    that are used.
    """

    multiply_adds: float
    scalars: float = 0.0
    vectors: float = 0.0
    spills: float = 0.0
    calls: float = 0.0
    wait: float | None = None
    streams: tuple[int, ...] = ()
    filled: float = 1.0


@dataclass(frozen=True)
class Loop:
    """``extent`` elements, ``size`` of which are one iteration's. What hangs over the end has code of its own
    and takes longer, or (``padded``) is computed like all others. Threads share it if it is ``parallel``."""

    extent: int
    size: int = 1
    padded: bool = False
    parallel: bool = False


@dataclass(frozen=True)
class Nest:
    """``step`` inside ``loops``, the outermost first.

    ``touched`` are the bytes that the innermost 0, 1, 2, .. loops read and write, each counted once; empty
    where everything stays in the first cache. ``copied`` are elements that are put in order before.
    """

    step: Step
    loops: tuple[Loop, ...] = ()
    touched: tuple[float, ...] = ()
    copied: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Cycles of the busiest thread: in the core by ``arithmetic``, ``loads`` and the ``wait`` for sums; what
    hides behind none of them (``overhead``); by ``memory`` beyond each cache; and altogether (``total``)."""

    arithmetic: float
    loads: float
    wait: float
    overhead: float
    memory: tuple[float, ...]
    total: float


def cycles(nest: Nest, machine: Machine, threads: int = 1) -> Estimate:
    """How long ``nest`` takes on ``machine``, its parallel loops shared by ``threads``."""
    costs, step = machine.tile_costs, nest.step
    arithmetic = (step.multiply_adds + CALL * step.calls) / costs.multiply_adds
    loads = (step.scalars + step.vectors + step.spills) / costs.loads
    wait = max(costs.step, costs.far * step.vectors) if step.wait is None else step.wait
    overhead = costs.scalar * step.scalars + costs.vector * step.vectors
    overhead += FAR_STREAM * sum(max(0, rows - MOST_STREAMS) for rows in step.streams)
    each = max(arithmetic, loads, wait) + overhead
    each *= 1.0 + PART_VECTOR * (1.0 - step.filled)
    counts = [iterations(loop, machine, threads) for loop in nest.loops]
    count = math.prod(counts)
    memory: tuple[float, ...] = ()
    if nest.touched:
        beyond = zip(moved(nest.touched, counts, sizes(machine)), bytes_per_cycle(machine), strict=True)
        memory = tuple(amount / bandwidth for amount, bandwidth in beyond)
    total = overlapped([each * count, *memory]) + COPIED * nest.copied
    parts = (arithmetic * count, loads * count, wait * count, overhead * count)
    return Estimate(*parts, memory, total)


def iterations(loop: Loop, machine: Machine, threads: int = 1) -> float:
    """How many whole iterations' time the busiest thread takes for ``loop``."""
    whole, rest = divmod(loop.extent, loop.size)
    if loop.parallel:
        return -(-(whole + (rest > 0)) // threads)
    return whole + ((1 if loop.padded else machine.tile_costs.tail) if rest else 0)


def moved(touched: Sequence[float], counts: Sequence[float], caches: Sequence[float]) -> list[float]:
    """The bytes that come from beyond a cache of each size: the most loops whose data fit into it find them
    there, and each time that all of them run again their data have to come."""
    found = []
    runs = [math.prod(counts[: len(counts) - inner]) for inner in range(len(touched))]
    for size in caches:
        fitting = 0
        while fitting + 1 < len(touched) and touched[fitting + 1] <= size:
            fitting += 1
        found.append(runs[fitting] * touched[fitting])
    return found


def overlapped(parts: Sequence[Any]) -> Any:
    """The time of what goes on side by side, by the times of each part (numbers, or arrays of them): a little
    more than the longest."""
    if len(parts) == 1:
        return parts[0]
    return sum(part**OVERLAP for part in parts) ** (1 / OVERLAP)


@cache
def sizes(machine: Machine) -> tuple[int, ...]:
    """The bytes of each cache of ``machine`` whose size is known, the nearest first."""
    return tuple(one.size for one in machine.caches if one.size)


@cache
def bytes_per_cycle(machine: Machine) -> tuple[float, ...]:
    """The bytes that come in a cycle from beyond each of ``sizes``: what the next cache, or memory, gives, in
    proportion to the first, whose bandwidth is that of the ports of loads."""
    known = [one.bandwidth for one in machine.caches] + [machine.memory_bandwidth]
    first, nearest = known[0], machine.tile_costs.loads * machine.vector_bits / 8
    usual = [*BANDWIDTHS[: len(machine.caches)], BANDWIDTHS[-1]]
    speeds = [
        nearest * (one / first if one and first else usually)
        for one, usually in zip(known, usual, strict=True)
    ]
    beyond = speeds[1:]
    return tuple(speed for speed, one in zip(beyond, machine.caches, strict=True) if one.size)
