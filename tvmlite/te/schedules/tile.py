"""Register tiles: how many accumulators a loop nest of multiply-adds keeps in vector registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tvmlite.core.target import Target
from tvmlite.te.stage_base import GUARD, SHRINK

FMA_PER_CYCLE = 2
LOADS_PER_CYCLE = 2
LATENCY = 4
"""Cycles from a multiply-add to the next on the same accumulator."""

LOAD_WEIGHT = 0.05
"""Cycles that a load from the nearest cache costs even where it hides behind multiply-adds."""

FAR = 4
"""How much dearer a vector is than a scalar: the vectors of a step often come from the second cache."""

MANY = 1 << 20
"""Stands for an extent that is not known: tails weigh nothing."""

TAIL_PENALTY = 2.0
"""How much longer a tile takes that hangs over the end, and is guarded element by element."""

MOST_TAIL = 0.25
"""The most of a tile's work that may lie behind the end, over all tiles."""

MOST_ROWS = 4
"""Rows of an image that a tile may span."""


@dataclass(frozen=True)
class RegisterTile:
    """``rows`` scalars times ``blocks`` of vectors a step."""

    rows: int
    blocks: int


def tail_of(extent: int | None) -> str:
    """The tail of a split of an axis of ``extent`` (None: unknown) into tiles of registers: one that may be
    of any size is worth loops of its own."""
    return SHRINK if extent is None else GUARD


@cache
def register_tile(
    rows: int | None, blocks: int | None, vectors: int, registers: int, even: bool = False
) -> RegisterTile:
    """The quickest tile for ``rows`` by ``blocks`` (None: unknown), each block ``vectors`` vectors wide.

    Accumulators, the vectors of one step and one broadcast scalar must fit into ``registers``. If ``even``,
    the rows of a tile divide ``rows``.
    """
    best, best_time = RegisterTile(1, 1), float("inf")
    total_rows, total_blocks = rows or MANY, blocks or MANY
    for wide in range(1, min(total_blocks, registers) + 1):
        for high in range(1, min(total_rows, registers) + 1):
            if (high + 1) * wide * vectors + 1 > registers:
                break
            if even and total_rows % high:
                continue
            time = _tiles(total_rows, high) * _tiles(total_blocks, wide) * step_cycles(high, wide * vectors)
            if time < best_time * 0.999:
                best, best_time = RegisterTile(high, wide), time
    return best


def _tiles(extent: int, size: int) -> float:
    """How many whole tiles' time covering ``extent`` takes."""
    whole, rest = divmod(extent, size)
    return whole + (TAIL_PENALTY if rest else 0.0)


def step_cycles(rows: int, vectors: int) -> float:
    """Cycles of one step of the reduction in one tile."""
    work = rows * vectors / FMA_PER_CYCLE
    loads = (rows + vectors) / LOADS_PER_CYCLE
    return max(work, loads, LATENCY) + LOAD_WEIGHT * (rows + FAR * vectors)


def tile_for(
    target: Target, dtype: str, block: int, rows: int | None, blocks: int | None, even: bool = False
) -> RegisterTile:
    """The tile for blocks of ``block`` elements of ``dtype`` on ``target``; ``even`` as above."""
    vectors = max(1, block // target.lanes(dtype))
    return register_tile(rows, blocks, vectors, target.vector_registers, even)


def candidates(
    width: int | None,
    height: int | None,
    blocks: int | None,
    vectors: int,
    registers: int,
    default: tuple[int, ...],
) -> list[tuple[int, ...]]:
    """Tiles ``(-1, blocks, rows, pixels)`` that are worth measuring; ``default`` is the first of them.

    All accumulators fit into the registers beside the vectors of a step and a scalar, there are enough of
    them for multiply-adds not to wait for each other, and tails are at most ``MOST_TAIL`` of the work.
    """
    found = {default: None}
    for wide in range(1, min(blocks or MANY, registers) + 1):
        for high in range(1, min(height or 1, MOST_ROWS) + 1):
            for along in range(1, min(width or MANY, registers) + 1):
                sums = wide * high * along * vectors
                if sums + wide * vectors + 1 > registers:
                    break
                tail = max(waste(width, along), waste(height, high), waste(blocks, wide))
                few = sums < FMA_PER_CYCLE * LATENCY
                if few or tail > MOST_TAIL:
                    continue
                found[-1, wide, high, along] = None
    return list(found)


def waste(extent: int | None, size: int) -> float:
    """How much of what tiles of ``size`` cover lies behind the end."""
    return 0.0 if extent is None else 1 - extent / (-(-extent // size) * size)
