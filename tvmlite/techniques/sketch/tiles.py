"""Register tiles of any reduction: which fit the registers, and which are likely quick."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tvmlite.machine.table import estimate
from tvmlite.te.space.knobs import divisors
from tvmlite.te.templates.tile import MANY
from tvmlite.techniques.sketch.access import ABSENT, NEAR, STRIDED, UNIT

MOST_TILES = 160
"""A space offers so many tiles, those of least predicted time."""

SLOWEST = 2.5
"""A tile predicted to take so many times as long as the best is not offered."""

COSTS = estimate(512, 32).tile_costs
"""What the times of tiles were fitted with."""

MOST_ALONG = 32
"""The most steps along one axis, vectors or scalars, in a tile."""

WASTE = 1.15
"""Tiles that do not divide an axis may cover so many times as much as there is."""

LOAD_WEIGHT = 0.05
"""Cycles of a load that hides behind arithmetic, as in ``te.templates.tile``."""

PICKED = 4.0
"""How many loads a vector of elements that are a few apart takes."""

MANY_STREAMS = 12
"""More rows of vectors that a step goes through than these are not brought near in time."""

FAR_STREAM = 0.5
"""Cycles that each of the others costs."""

COPIED = 1.5
"""Cycles in which an element is copied to where vectors can load it."""


WORTH_A_COPY = 6
"""An operand is copied where each of its elements is used so many times."""


@dataclass(frozen=True)
class Operand:
    """One read of a reduction: how it walks along each data axis, how large the tensor is."""

    walks: tuple[str, ...]
    size: int | None
    packable: tuple[bool, ...]


@dataclass(frozen=True)
class Tile:
    """``sizes`` along each data axis, in elements; ``vector`` is the axis that is cut into vectors of
    ``lanes``."""

    sizes: tuple[int, ...]
    vector: int
    lanes: int

    @property
    def sums(self) -> int:
        """How many vectors of accumulators it has."""
        return max(1, math.prod(self.sizes) // self.lanes)


@dataclass(frozen=True)
class Reduction:
    """What the choice of a tile depends on: data extents (None: unknown), steps of the reduction, reads.

    ``stored`` is the axis along which results lie side by side, if there is one.
    """

    extents: tuple[int | None, ...]
    steps: int
    operands: tuple[Operand, ...]
    stored: int | None
    lanes: int
    registers: int

    @cached_property
    def vector_axes(self) -> list[int]:
        """The axes that can be cut into vectors: those that need no copies, alone if one is whole vectors;
        else also those along which reads stand in the way that can be copied."""
        able = [axis for axis, extent in enumerate(self.extents) if extent != 1 and self._vectors(axis)]
        plain = [n for n in able if all(one.walks[n] in (ABSENT, UNIT) for one in self.operands)]
        whole = any((extent := self.extents[n]) is None or extent % self.lanes == 0 for n in plain)
        return plain if whole else able

    def _vectors(self, axis: int) -> bool:
        walks = [operand.walks[axis] for operand in self.operands]
        if all(one == ABSENT for one in walks):
            return False
        return all(one.walks[axis] != STRIDED or self.copied(one, axis) for one in self.operands)

    def copied(self, operand: Operand, axis: int) -> bool:
        """Whether a copy of ``operand`` in vectors along ``axis`` is worth its time: each element is used for
        many results."""
        if operand.walks[axis] != STRIDED or not operand.packable[axis] or operand.size is None:
            return False
        points = math.prod(extent or MANY for extent in self.extents) * self.steps
        return points >= WORTH_A_COPY * operand.size

    def lanes_along(self, axis: int) -> int:
        """The elements of one vector along ``axis``."""
        extent = self.extents[axis]
        return self.lanes if extent is None else min(self.lanes, extent)

    def tiles(self) -> tuple[Tile, ...]:
        """The tiles on offer, the best by prediction first; none if no axis can be cut into vectors."""
        return _tiles_of(self)

    def ranked(self) -> tuple[Tile, ...]:
        """``tiles``, worked out."""
        timed: dict[tuple[int, ...], tuple[float, Tile]] = {}
        for vector in self.vector_axes:
            for tile in self._tiles_along(vector):
                if self.vector_of(tile.sizes) == vector:
                    timed[tile.sizes] = (self._time(tile), tile)
        ordered = sorted(timed.values(), key=lambda pair: (pair[0], pair[1].sizes))
        return tuple(tile for time, tile in ordered if time <= SLOWEST * ordered[0][0])[:MOST_TILES]

    def vector_of(self, sizes: Sequence[int]) -> int:
        """The vector axis of a tile: the first of those there are that it cuts into whole vectors."""
        return next(axis for axis in self.vector_axes if sizes[axis] % self.lanes_along(axis) == 0)

    def _tiles_along(self, vector: int) -> Iterator[Tile]:
        lanes = self.lanes_along(vector)
        others = [n for n, extent in enumerate(self.extents) if n != vector and extent != 1]
        for vectors in _lengths(self.extents[vector], lanes):
            for sizes in _some_of(others, self.extents, self.registers // vectors):
                whole = [1] * len(self.extents)
                whole[vector] = vectors * lanes
                for axis, size in sizes:
                    whole[axis] = size
                tile = Tile(tuple(whole), vector, lanes)
                if self._registers(tile) <= self.registers:
                    yield tile

    def _loads(self, tile: Tile) -> list[tuple[int, bool]]:
        """For each read how many values a step loads, and whether those are vectors."""
        found = []
        for operand in self.operands:
            count = 1
            for axis, size in enumerate(tile.sizes):
                if operand.walks[axis] != ABSENT:
                    count *= size // tile.lanes if axis == tile.vector else size
            found.append((max(1, count), operand.walks[tile.vector] != ABSENT))
        return found

    def _registers(self, tile: Tile) -> int:
        """Accumulators, the vectors that are kept for a step, and one more."""
        sums = tile.sums
        kept = [count for count, vectors in self._loads(tile) if vectors and count < sums]
        return sums + max(kept, default=1) + 1

    def _time(self, tile: Tile) -> float:
        """Predicted cycles of the whole reduction, by the loads and multiply-adds of one step of one tile."""
        sums = math.prod(tile.sizes) / tile.lanes
        loads = self._loads(tile)
        slow = [PICKED if operand.walks[tile.vector] == NEAR else 1.0 for operand in self.operands]
        taken = sum(count * times for (count, _), times in zip(loads, slow, strict=True))
        step = max(sums / COSTS.multiply_adds, taken / COSTS.loads, COSTS.step)
        step += LOAD_WEIGHT * sum(count * (4 if vectors else 1) for count, vectors in loads)
        beside = tile.sizes[tile.vector] // tile.lanes
        streams = [count // beside for count, vectors in loads if vectors]
        step += FAR_STREAM * sum(max(0, count - MANY_STREAMS) for count in streams)
        if tile.lanes < self.lanes:
            step *= 1.0 + 0.1 * (self.lanes - tile.lanes) / self.lanes
        total = step * self.steps
        for axis, (extent, size) in enumerate(zip(self.extents, tile.sizes, strict=True)):
            whole, rest = divmod(MANY if extent is None else extent, size)
            total *= whole + (COSTS.tail if rest else 0.0)
            if axis == self.stored and axis != tile.vector and size == 1:
                total *= 1.0 + 2.0 / self.steps
        return total + sum(COPIED * (o.size or 0) for o in self.operands if self.copied(o, tile.vector))


@lru_cache(maxsize=256)
def _tiles_of(reduction: Reduction) -> tuple[Tile, ...]:
    return reduction.ranked()


def _lengths(extent: int | None, unit: int) -> list[int]:
    """How many times ``unit`` a tile may be along an axis: divisors first of all, and what wastes little."""
    if extent is None:
        return [1, 2, 3, 4, 6, 8, 12, 14]
    whole = -(-extent // unit)
    fitting = [
        count
        for count in range(1, min(whole, MOST_ALONG) + 1)
        if -(-extent // (count * unit)) * count * unit <= WASTE * max(extent, unit)
    ]
    return fitting or [d for d in divisors(whole) if d <= MOST_ALONG]


def _some_of(
    axes: Sequence[int], extents: Sequence[int | None], most: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Lengths above 1 along at most two of ``axes``, with no more than ``most`` in all."""
    yield ()
    for place, first in enumerate(axes):
        for size in _lengths(extents[first], 1):
            if not 1 < size <= most:
                continue
            yield ((first, size),)
            for second in axes[place + 1 :]:
                for other in _lengths(extents[second], 1):
                    if other > 1 and size * other <= most:
                        yield ((first, size), (second, other))
