"""Places in one block of memory for values that live for a while: those alive at once do not overlap."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT

MOST_PLACEMENTS = 2_000
"""Orders in which values are placed, one by one, until one leaves no gaps."""


@dataclass(frozen=True)
class MemoryPolicy:
    """How a memory plan is made: offsets are multiples of ``alignment``.

    ``compact``: memory is small, so steps run in the order that needs least of it, the scratch memory of a
    kernel lies where no value is alive while it runs, and places are searched.
    """

    alignment: int = WORKSPACE_ALIGNMENT
    compact: bool = False


def place(
    lives: Sequence[tuple[int, int]], sizes: Sequence[int], order: Sequence[int] | None = None
) -> tuple[list[int], int]:
    """Offsets of intervals in time with ``sizes``, and the room they need: in ``order``, or largest first,
    each in the lowest gap."""
    if order is None:
        order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], lives[i]))
    offsets = [0] * len(sizes)
    placed: list[int] = []
    for index in order:
        first, last = lives[index]
        taken = sorted(
            (offsets[other], offsets[other] + sizes[other])
            for other in placed
            if lives[other][0] <= last and first <= lives[other][1]
        )
        start = 0
        for low, high in taken:
            if low - start >= sizes[index]:
                break
            start = max(start, high)
        offsets[index] = start
        placed.append(index)
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)


def place_tightly(lives: Sequence[tuple[int, int]], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets of values with ``sizes`` in times of ``lives``, and the room they need: as ``place``, but
    with other orders tried until no room is between them, or the tries are over."""
    least = most_at_once(lives, sizes)
    count = len(sizes)
    length = [last - first for first, last in lives]
    orders = [
        sorted(range(count), key=lambda i: (-sizes[i], lives[i])),
        sorted(range(count), key=lambda i: (-sizes[i] * (length[i] + 1), lives[i])),
        sorted(range(count), key=lambda i: (-length[i], -sizes[i], lives[i])),
        sorted(range(count), key=lambda i: (lives[i], -sizes[i])),
    ]
    best, order = None, orders[0]
    for one in orders:
        placed = place(lives, sizes, one)
        if best is None or placed[1] < best[1]:
            best, order = placed, one
    assert best is not None
    draw = random.Random(count)
    for _ in range(MOST_PLACEMENTS if count > 2 else 0):
        if best[1] <= least:
            break
        one = list(order)
        i, j = draw.sample(range(count), 2)
        one.insert(j, one.pop(i))
        placed = place(lives, sizes, one)
        if placed[1] <= best[1]:
            best, order = placed, one
    return best


def most_at_once(lives: Sequence[tuple[int, int]], sizes: Sequence[int]) -> int:
    """The bytes that are alive at once where most are: no placement needs less."""
    times = {first for first, _ in lives}
    return max(
        (sum(s for (a, b), s in zip(lives, sizes, strict=True) if a <= t <= b) for t in times), default=0
    )
