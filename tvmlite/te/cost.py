"""An analytic cost model of loop nests, in cycles: it ranks tiles, algorithms and tuning candidates.

The estimate is a roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual performance
model", CACM 2009) with more than one roof, as in the execution-cache-memory model (Stengel, Treibig, Hager
and Wellein, "Quantifying performance bottlenecks of stencil computations", ICS 2015):

- *in the core* a step of straight-line code takes the longest of three times: of its multiply-adds on their
  ports, of its loads on theirs, and the latency of the accumulation. Loads hidden behind arithmetic still
  cost a little, and so do memory streams beyond the number that is prefetched in time;
- *beyond each cache* a nest moves the data that its loops do not find in that cache: the data of as many
  inner loops as fit stay in the cache, and all other reuse is too distant (reuse distances: Mattson et al.,
  "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970). Bytes move at the bandwidth of
  the next cache.

Arithmetic and memory traffic overlap, so the slowest of these dominates (``overlapped``).

A ``Nest`` describes a loop nest. Templates create one from a tile's parameters, without lowering anything;
``autotune.model.loop_features`` extracts the same numbers from loop IR.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tvmlite.machine.machine import Machine

CALL = 16
"""The cost of a function such as ``exp`` of one vector, in multiply-adds of a vector."""

SCATTERED = 2
"""The time to store a tile's sums element by element instead of in vectors, in steps of the reduction."""

COPIED = 1.5
"""Cycles to copy an element to where vectors can load it."""

MOST_STREAMS = 12
"""The most rows of a tensor read in a step that are prefetched in time."""

FAR_STREAM = 0.5
"""Cycles that each row beyond ``MOST_STREAMS`` costs."""

PART_VECTOR = 0.1
"""The extra time of a step whose vectors use hardly any of their lanes, as a fraction of the step's time."""

OVERLAP = 4.0
"""The exponent of the norm that combines the times; the higher, the more the slowest resource dominates."""

BANDWIDTHS = (1.0, 1.0, 0.5, 1 / 16)
"""Bandwidths of the first cache, the second, the last, and memory relative to the first, if not measured. A
core of 4.5 GHz whose first cache gives 128 bytes a cycle reads 38 GB/s from memory, 8 bytes a cycle."""


@dataclass(frozen=True)
class Step:
    """Straight-line code that a loop repeats, such as one step of a reduction in a register tile.

    All counts are of vectors: ``multiply_adds`` (each may also be two other operations), ``calls`` of
    expensive functions, and loads: broadcast ``scalars``, ``vectors``, and ``spills``, the additional
    accesses for elements that are not adjacent in memory or do not fit in registers. ``latency`` is the
    latency in cycles from a step to the next that adds to the same sums; None means one multiply-add to each
    sum, whose vectors often come from the second cache. ``streams`` holds, for each tensor, the number of
    rows in memory that vectors are loaded from; ``filled`` is the fraction of a vector's lanes that are used.
    """

    multiply_adds: float
    scalars: float = 0.0
    vectors: float = 0.0
    spills: float = 0.0
    calls: float = 0.0
    latency: float | None = None
    streams: tuple[int, ...] = ()
    filled: float = 1.0


@dataclass(frozen=True)
class Loop:
    """A loop over ``extent`` elements, ``size`` in each iteration. A partial last tile has its own, slower
    code, or is computed like a full one (``padded``). A ``parallel`` loop is divided among the threads."""

    extent: int
    size: int = 1
    padded: bool = False
    parallel: bool = False


@dataclass(frozen=True)
class Nest:
    """``step`` inside ``loops``, the outermost first.

    ``touched`` holds the bytes that the innermost 0, 1, 2, .. loops read and write, each counted once; it is
    empty where everything stays in the first cache. ``copied`` is the number of elements packed in advance.
    """

    step: Step
    loops: tuple[Loop, ...] = ()
    touched: tuple[float, ...] = ()
    copied: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Cycles of the busiest thread: in the core for ``arithmetic``, ``loads`` and the ``latency`` for sums,
    with ``overhead`` that none of them hides; for ``memory`` traffic beyond each cache; and the ``total``."""

    arithmetic: float
    loads: float
    latency: float
    overhead: float
    memory: tuple[float, ...]
    total: float


def cycles(nest: Nest, machine: Machine, threads: int = 1) -> Estimate:
    """Estimate the cycles of ``nest`` on ``machine``, its parallel loops divided among ``threads``."""
    costs, step = machine.tile_costs, nest.step
    arithmetic = (step.multiply_adds + CALL * step.calls) / costs.multiply_adds
    loads = (step.scalars + step.vectors + step.spills) / costs.loads
    latency = max(costs.step, costs.far * step.vectors) if step.latency is None else step.latency
    overhead = costs.scalar * step.scalars + costs.vector * step.vectors
    overhead += FAR_STREAM * sum(max(0, rows - MOST_STREAMS) for rows in step.streams)
    each = max(arithmetic, loads, latency) + overhead
    each *= 1.0 + PART_VECTOR * (1.0 - step.filled)
    counts = [iterations(loop, machine, threads) for loop in nest.loops]
    count = math.prod(counts)
    memory: tuple[float, ...] = ()
    if nest.touched:
        beyond = zip(
            cache_traffic(nest.touched, counts, cache_sizes(machine)), bytes_per_cycle(machine), strict=True
        )
        memory = tuple(amount / bandwidth for amount, bandwidth in beyond)
    total = overlapped([each * count, *memory]) + COPIED * nest.copied
    parts = (arithmetic * count, loads * count, latency * count, overhead * count)
    return Estimate(*parts, memory, total)


def iterations(loop: Loop, machine: Machine, threads: int = 1) -> float:
    """The time of the busiest thread in ``loop``, in full iterations."""
    whole, rest = divmod(loop.extent, loop.size)
    if loop.parallel:
        return -(-(whole + (rest > 0)) // threads)
    return whole + ((1 if loop.padded else machine.tile_costs.tail) if rest else 0)


def cache_traffic(touched: Sequence[float], counts: Sequence[float], caches: Sequence[float]) -> list[float]:
    """The bytes that come from beyond a cache of each size. The data of the most inner loops that fit into
    the cache are loaded once each time that these loops run as a whole."""
    found = []
    runs = [math.prod(counts[: len(counts) - inner]) for inner in range(len(touched))]
    for size in caches:
        fitting = 0
        while fitting + 1 < len(touched) and touched[fitting + 1] <= size:
            fitting += 1
        found.append(runs[fitting] * touched[fitting])
    return found


def overlapped(parts: Sequence[Any]) -> Any:
    """The combined time of parts that overlap, from the time of each (numbers or arrays): slightly more than
    the longest."""
    if len(parts) == 1:
        return parts[0]
    return sum(part**OVERLAP for part in parts) ** (1 / OVERLAP)


@cache
def cache_sizes(machine: Machine) -> tuple[int, ...]:
    """The bytes of each cache of ``machine`` whose size is known, innermost first."""
    return tuple(one.size for one in machine.caches if one.size)


@cache
def bytes_per_cycle(machine: Machine) -> tuple[float, ...]:
    """The bytes a cycle from beyond each of ``cache_sizes``: the bandwidth of the next cache, or of memory,
    scaled relative to the first cache, whose bandwidth follows from the load ports."""
    known = [one.bandwidth for one in machine.caches] + [machine.memory_bandwidth]
    first, nearest = known[0], machine.tile_costs.loads * machine.vector_bits / 8
    usual = [*BANDWIDTHS[: len(machine.caches)], BANDWIDTHS[-1]]
    speeds = [
        nearest * (one / first if one and first else usually)
        for one, usually in zip(known, usual, strict=True)
    ]
    beyond = speeds[1:]
    return tuple(speed for speed, one in zip(beyond, machine.caches, strict=True) if one.size)
