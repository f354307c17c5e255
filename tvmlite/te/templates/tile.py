"""Register tiles: the number of accumulators that a loop nest of multiply-adds keeps in vector registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tvmlite.machine.machine import Machine
from tvmlite.machine.target import Target
from tvmlite.te import cost
from tvmlite.te.cost import Loop, Nest, Step
from tvmlite.te.schedule.stage_base import GUARD, SHRINK
from tvmlite.te.templates.share import is_even

MANY = 1 << 20
"""Represents an unknown extent: so large that tails have no weight."""

MOST_TAIL = 0.25
"""The largest fraction of the work of all tiles that may be beyond the end of an axis."""

TAIL_RATIO = 4
"""The ratio of successive tile sizes in the tail of a depthwise layer whose number of pixels is unknown. Each
size has code of its own, which takes time to compile."""

MAX_SLOWDOWN_OF_EVEN = 1.15
"""How many times as long as an uneven tile an even one may take: its stores need no conditions."""

MOST_ROWS = 4
"""The most rows of an image that a tile may span."""


@dataclass(frozen=True)
class RegisterTile:
    """The accumulators of ``rows`` scalars times ``blocks`` of vectors."""

    rows: int
    blocks: int


@dataclass(frozen=True)
class ThreadDivision:
    """The division of tiles among ``threads``: tiles in ``outside`` iterations of outer loops (None:
    unknown), and along a tile's rows unless a thread computes all of these (``rows`` is False)."""

    threads: int
    outside: int | None = 1
    rows: bool = True

    def iterations(self, tile: RegisterTile, rows: int, blocks: int) -> int | None:
        """The number of iterations to divide with ``tile``."""
        if self.outside is None:
            return None
        return self.outside * -(-blocks // tile.blocks) * (-(-rows // tile.rows) if self.rows else 1)


ONE_THREAD = ThreadDivision(1)
"""A single thread computes all tiles."""


def tail_of(extent: int | None) -> str:
    """The tail of a split of an axis of ``extent`` (None: unknown) into register tiles: a tail of unknown
    size justifies further loops."""
    return SHRINK if extent is None else GUARD


def register_tile(
    rows: int | None,
    blocks: int | None,
    vectors: int,
    machine: Machine,
    even: bool = False,
    shared: ThreadDivision = ONE_THREAD,
) -> RegisterTile:
    """The fastest tile for ``rows`` by ``blocks`` (None: unknown), each block ``vectors`` vectors wide.

    Accumulators, the vectors of one step and one broadcast scalar must fit into the registers of ``machine``.
    If ``even``, the rows of a tile divide ``rows``. If that tile cannot be divided evenly among the threads
    of ``shared``, the result is the fastest of those that can.
    """
    best = _fastest(rows, blocks, vectors, machine, even)[0]
    if rows is None or blocks is None or _are_even(best, rows, blocks, shared):
        return best
    return _fastest_balanced(rows, blocks, vectors, machine, even, shared)


def near_even_tile(
    rows: int | None, blocks: int | None, vectors: int, machine: Machine, shared: ThreadDivision = ONE_THREAD
) -> RegisterTile:
    """The fastest tile whose rows divide ``rows``, unless it takes more than ``MAX_SLOWDOWN_OF_EVEN`` times
    as long as the fastest of all: for a prime number of rows, only tiles of one row are even."""
    even, even_time = _fastest(rows, blocks, vectors, machine, True)
    best, best_time = _fastest(rows, blocks, vectors, machine, False)
    tile = even if even_time <= MAX_SLOWDOWN_OF_EVEN * best_time else best
    if rows is None or blocks is None or _are_even(tile, rows, blocks, shared):
        return tile
    return _fastest_balanced(rows, blocks, vectors, machine, False, shared)


def _are_even(tile: RegisterTile, rows: int, blocks: int, shared: ThreadDivision) -> bool:
    """Whether threads get about equal shares of the tiles that cover ``rows`` by ``blocks``."""
    iterations = shared.iterations(tile, rows, blocks)
    high = tile.rows if shared.rows else rows
    total = None if shared.outside is None else shared.outside * rows * blocks
    return is_even(iterations, shared.threads, high * tile.blocks, total)


@cache
def _fastest_balanced(
    rows: int, blocks: int, vectors: int, machine: Machine, even: bool, shared: ThreadDivision
) -> RegisterTile:
    """The tile with the least time of the busiest thread, among those with even shares if there are any."""

    def rank(tile: RegisterTile) -> tuple[bool, bool, float, int]:
        iterations = shared.iterations(tile, rows, blocks)
        assert iterations is not None
        own = () if shared.rows else (Loop(rows, tile.rows, padded=True),)
        nest = Nest(step_of(tile.rows, tile.blocks * vectors), (Loop(iterations, parallel=True), *own))
        time = cost.cycles(nest, machine, shared.threads).total
        uneven = not _are_even(tile, rows, blocks, shared), not is_even(iterations, shared.threads)
        return *uneven, time, -tile.rows * tile.blocks

    registers = machine.vector_registers
    fitting = [
        RegisterTile(high, wide)
        for wide in range(1, min(blocks, registers) + 1)
        for high in range(1, min(rows, registers) + 1)
        if registers_needed(high, wide * vectors, machine) <= registers and not (even and rows % high)
    ]
    return min(fitting, key=rank, default=RegisterTile(1, 1))


@cache
def _fastest(
    rows: int | None, blocks: int | None, vectors: int, machine: Machine, even: bool
) -> tuple[RegisterTile, float]:
    """The tile of ``register_tile``, and the cycles of one step of all tiles."""
    best, best_time = RegisterTile(1, 1), float("inf")
    registers = machine.vector_registers
    total_rows, total_blocks = rows or MANY, blocks or MANY
    for wide in range(1, min(total_blocks, registers) + 1):
        for high in range(1, min(total_rows, registers) + 1):
            if registers_needed(high, wide * vectors, machine) > registers:
                break
            if even and total_rows % high:
                continue
            nest = Nest(step_of(high, wide * vectors), (Loop(total_rows, high), Loop(total_blocks, wide)))
            time = cost.cycles(nest, machine).total
            if time < best_time * 0.999:
                best, best_time = RegisterTile(high, wide), time
    return best, best_time


def registers_needed(rows: int, vectors: int, machine: Machine) -> int:
    """The registers of ``machine`` that a tile of ``rows`` scalars by ``vectors`` needs: the sums, the
    operands of a step that are kept while they are multiplied with all others, and one more. Vectors are kept
    if multiply-adds can broadcast scalars from memory, otherwise the fewer of the two."""
    kept = vectors if machine.multiply_adds_broadcast else min(rows, vectors)
    return rows * vectors + kept + 1


def vectors_first(tile: RegisterTile, block: int | None, target: Target, dtype: str) -> bool:
    """Whether the loop over the blocks of ``tile``, of ``block`` elements of ``dtype``, is outside that over
    its rows: not all vectors fit beside the sums, so the scalars are kept in registers."""
    vectors = tile.blocks * max(1, (block or 1) // target.lanes(dtype))
    return tile.rows * vectors + vectors + 1 > target.vector_registers


def step_of(rows: int, vectors: int) -> Step:
    """One step of the reduction in a tile of ``rows`` scalars times ``vectors``."""
    return Step(rows * vectors, scalars=rows, vectors=vectors)


def tile_for(
    target: Target,
    dtype: str,
    block: int,
    rows: int | None,
    blocks: int | None,
    even: bool = False,
    shared: ThreadDivision = ONE_THREAD,
) -> RegisterTile:
    """The tile for blocks of ``block`` elements of ``dtype`` on ``target``; see ``register_tile``."""
    vectors = max(1, block // target.lanes(dtype))
    return register_tile(rows, blocks, vectors, target.machine, even, shared)


def candidates(
    width: int | None,
    height: int | None,
    blocks: int | None,
    vectors: int,
    machine: Machine,
    default: tuple[int, ...],
) -> list[tuple[int, ...]]:
    """Tiles ``(-1, blocks, rows, pixels)`` that are worth measuring; ``default`` is the first.

    All accumulators, the vectors of a step and a scalar fit into registers; there are enough accumulators
    that multiply-adds do not wait for each other; and tails are at most ``MOST_TAIL`` of the work.
    """
    found, registers = {default: None}, machine.vector_registers
    for wide in range(1, min(blocks or MANY, registers) + 1):
        for high in range(1, min(height or 1, MOST_ROWS) + 1):
            for along in range(1, min(width or MANY, registers) + 1):
                sums = wide * high * along * vectors
                if registers_needed(high * along, wide * vectors, machine) > registers:
                    break
                tail = max(
                    tail_fraction(width, along), tail_fraction(height, high), tail_fraction(blocks, wide)
                )
                few = sums < machine.tile_costs.fewest_sums
                if few or tail > MOST_TAIL:
                    continue
                found[-1, wide, high, along] = None
    return list(found)


def tail_fraction(extent: int | None, size: int) -> float:
    """The fraction of the elements covered by tiles of ``size`` that is beyond ``extent``."""
    return 0.0 if extent is None else 1 - extent / (-(-extent // size) * size)
