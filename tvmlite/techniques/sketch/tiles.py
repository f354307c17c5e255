"""Register tiles of any reduction: which fit in the registers, and which are predicted to be fast."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tvmlite.machine.machine import Machine
from tvmlite.te import cost
from tvmlite.te.cost import Loop, Nest, Step
from tvmlite.te.space.knobs import divisors
from tvmlite.te.templates.tile import MANY
from tvmlite.techniques.sketch.access import ABSENT, NEAR, STRIDED, UNIT

MOST_TILES = 160
"""The most tiles in a config space, those with the least predicted time."""

MOST_SLOWDOWN = 2.5
"""Tiles predicted to take more than this many times as long as the best are left out."""

MOST_ALONG = 32
"""The largest size of a tile along one axis, in vectors or scalars."""

MOST_WASTE = 1.15
"""How much larger than the axis the area covered by tiles that do not divide it may be."""

LOADS_OF_NEAR = 4.0
"""The number of loads for a vector of elements with a small stride (``NEAR``)."""

IN_FLIGHT = 4
"""Vectors that are loaded before their use if each is used for one sum only: with 16 registers, depthwise
convolutions with 14 sums take up to 1.5 times as long as with 8, because LLVM spills some."""

WORTH_A_COPY = 6
"""The number of uses per element from which on an operand is worth copying."""


@dataclass(frozen=True)
class Operand:
    """One read of a reduction: its access pattern along each data axis, the size of the tensor, and along
    which axes it can be packed."""

    patterns: tuple[str, ...]
    size: int | None
    packable: tuple[bool, ...]


@dataclass(frozen=True)
class Tile:
    """A tile: its ``sizes`` along each data axis, in elements, and the axis ``vector``, which is split into
    vectors of ``lanes``."""

    sizes: tuple[int, ...]
    vector: int
    lanes: int

    @property
    def sums(self) -> int:
        """The number of vectors of accumulators."""
        return max(1, math.prod(self.sizes) // self.lanes)


@dataclass(frozen=True)
class Reduction:
    """The inputs of the choice of a tile: data extents (None: unknown), steps of the reduction, reads.

    ``stored`` is the axis along which results are contiguous, if there is one.
    """

    extents: tuple[int | None, ...]
    steps: int
    operands: tuple[Operand, ...]
    stored: int | None
    lanes: int
    machine: Machine

    @cached_property
    def vector_axes(self) -> list[int]:
        """The axes that can be split into vectors: those that need no copies, if one of them consists of
        whole vectors; else also those along which strided operands can be copied."""
        able = [axis for axis, extent in enumerate(self.extents) if extent != 1 and self._vectors(axis)]
        plain = [n for n in able if all(one.patterns[n] in (ABSENT, UNIT) for one in self.operands)]
        whole = any((extent := self.extents[n]) is None or extent % self.lanes == 0 for n in plain)
        return plain if whole else able

    def _vectors(self, axis: int) -> bool:
        patterns = [operand.patterns[axis] for operand in self.operands]
        if all(one == ABSENT for one in patterns):
            return False
        return all(one.patterns[axis] != STRIDED or self.copied(one, axis) for one in self.operands)

    def copied(self, operand: Operand, axis: int) -> bool:
        """Whether ``operand`` is strided along ``axis`` and a copy with vectors along it is worth its time,
        since each element is used often."""
        if operand.patterns[axis] != STRIDED or not operand.packable[axis] or operand.size is None:
            return False
        points = math.prod(extent or MANY for extent in self.extents) * self.steps
        return points >= WORTH_A_COPY * operand.size

    def lanes_along(self, axis: int) -> int:
        """The elements of one vector along ``axis``."""
        extent = self.extents[axis]
        return self.lanes if extent is None else min(self.lanes, extent)

    def tiles(self) -> tuple[Tile, ...]:
        """The candidate tiles, the fastest by prediction first; none if no axis can be split into vectors."""
        return _tiles_of(self)

    def ranked(self) -> tuple[Tile, ...]:
        """Compute ``tiles``, which caches the result."""
        timed: dict[tuple[int, ...], tuple[float, Tile]] = {}
        for vector in self.vector_axes:
            for tile in self._tiles_along(vector):
                if self.vector_of(tile.sizes) == vector:
                    timed[tile.sizes] = (self._time(tile), tile)
        ordered = sorted(timed.values(), key=lambda pair: (pair[0], pair[1].sizes))
        return tuple(tile for time, tile in ordered if time <= MOST_SLOWDOWN * ordered[0][0])[:MOST_TILES]

    def vector_of(self, sizes: Sequence[int]) -> int:
        """The vector axis of a tile of ``sizes``: the first one that it splits into whole vectors."""
        return next(axis for axis in self.vector_axes if sizes[axis] % self.lanes_along(axis) == 0)

    def _tiles_along(self, vector: int) -> Iterator[Tile]:
        lanes = self.lanes_along(vector)
        others = [n for n, extent in enumerate(self.extents) if n != vector and extent != 1]
        for vectors in _sizes_along(self.extents[vector], lanes):
            for sizes in _size_pairs(others, self.extents, self.machine.vector_registers // vectors):
                whole = [1] * len(self.extents)
                whole[vector] = vectors * lanes
                for axis, size in sizes:
                    whole[axis] = size
                tile = Tile(tuple(whole), vector, lanes)
                if self._registers(tile) <= self.machine.vector_registers:
                    yield tile

    def _loads(self, tile: Tile) -> list[tuple[int, bool]]:
        """For each read, the number of values that a step loads, and whether they are vectors."""
        found = []
        for operand in self.operands:
            count = 1
            for axis, size in enumerate(tile.sizes):
                if operand.patterns[axis] != ABSENT:
                    count *= size // tile.lanes if axis == tile.vector else size
            found.append((max(1, count), operand.patterns[tile.vector] != ABSENT))
        return found

    def _registers(self, tile: Tile) -> int:
        """The registers for accumulators, for the vectors kept during a step (of those used for one sum each,
        only the ones in flight), and one more."""
        sums = tile.sums
        vectors = [count if count < sums else min(sums, IN_FLIGHT) for count, are in self._loads(tile) if are]
        return sums + max(vectors, default=1) + 1

    def _time(self, tile: Tile) -> float:
        """Predicted cycles of the whole reduction."""
        loads, beside = self._loads(tile), tile.sizes[tile.vector] // tile.lanes
        rows = [count for count, vectors in loads if vectors]
        near = [operand.patterns[tile.vector] == NEAR for operand in self.operands]
        step = Step(
            math.prod(tile.sizes) / tile.lanes,
            scalars=sum(count for count, vectors in loads if not vectors),
            vectors=sum(rows),
            spills=sum(
                (LOADS_OF_NEAR - 1) * count for (count, _), apart in zip(loads, near, strict=True) if apart
            ),
            streams=tuple(count // beside for count in rows),
            filled=tile.lanes / self.lanes,
        )
        scattered = self.stored not in (None, tile.vector) and tile.sizes[self.stored] == 1
        loops = [Loop(self.steps + (cost.SCATTERED if scattered else 0))]
        loops += [Loop(extent or MANY, size) for extent, size in zip(self.extents, tile.sizes, strict=True)]
        copied = sum(operand.size or 0 for operand in self.operands if self.copied(operand, tile.vector))
        return cost.cycles(Nest(step, tuple(loops), copied=copied), self.machine).total


@lru_cache(maxsize=256)
def _tiles_of(reduction: Reduction) -> tuple[Tile, ...]:
    return reduction.ranked()


def _sizes_along(extent: int | None, unit: int) -> list[int]:
    """The sizes of a tile along an axis, in multiples of ``unit``, that waste little; else the divisors."""
    if extent is None:
        return [1, 2, 3, 4, 6, 8, 12, 14]
    whole = -(-extent // unit)
    fitting = [
        count
        for count in range(1, min(whole, MOST_ALONG) + 1)
        if -(-extent // (count * unit)) * count * unit <= MOST_WASTE * max(extent, unit)
    ]
    return fitting or [d for d in divisors(whole) if d <= MOST_ALONG]


def _size_pairs(
    axes: Sequence[int], extents: Sequence[int | None], most: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sizes above 1 along at most two of ``axes``, whose product is at most ``most``."""
    yield ()
    for place, first in enumerate(axes):
        for size in _sizes_along(extents[first], 1):
            if not 1 < size <= most:
                continue
            yield ((first, size),)
            for second in axes[place + 1 :]:
                for other in _sizes_along(extents[second], 1):
                    if other > 1 and size * other <= most:
                        yield ((first, size), (second, other))
