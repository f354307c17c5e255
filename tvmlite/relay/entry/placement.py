"""Place values with lifetimes in one block of memory: those alive at the same time do not overlap."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT

MOST_PLACEMENTS = 2_000
"""The maximum number of orders of values that are tried after the first ones."""


@dataclass(frozen=True)
class MemoryPolicy:
    """How a memory plan is made: offsets are multiples of ``alignment``.

    ``compact``: memory is small, so steps run in the order that needs the least memory, the scratch memory of
    a kernel may overlap values that are not alive while it runs, and several placements are tried.
    """

    alignment: int = WORKSPACE_ALIGNMENT
    compact: bool = False


def place(
    lifetimes: Sequence[tuple[int, int]], sizes: Sequence[int], order: Sequence[int] | None = None
) -> tuple[list[int], int]:
    """Offsets of values with ``lifetimes`` and ``sizes``, and the total size. Values are placed in ``order``,
    or largest first, each in the lowest gap."""
    if order is None:
        order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], lifetimes[i]))
    offsets = [0] * len(sizes)
    placed: list[int] = []
    for index in order:
        first, last = lifetimes[index]
        occupied = sorted(
            (offsets[other], offsets[other] + sizes[other])
            for other in placed
            if lifetimes[other][0] <= last and first <= lifetimes[other][1]
        )
        start = 0
        for low, high in occupied:
            if low - start >= sizes[index]:
                break
            start = max(start, high)
        offsets[index] = start
        placed.append(index)
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)


def place_tightly(lifetimes: Sequence[tuple[int, int]], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Like ``place``, but tries several orders, until the total is the lower bound ``peak_memory`` or the
    number of tries is used up."""
    lower_bound = peak_memory(lifetimes, sizes)
    count = len(sizes)
    length = [last - first for first, last in lifetimes]
    orders = [
        sorted(range(count), key=lambda i: (-sizes[i], lifetimes[i])),
        sorted(range(count), key=lambda i: (-sizes[i] * (length[i] + 1), lifetimes[i])),
        sorted(range(count), key=lambda i: (-length[i], -sizes[i], lifetimes[i])),
        sorted(range(count), key=lambda i: (lifetimes[i], -sizes[i])),
    ]
    best, order = None, orders[0]
    for candidate in orders:
        placed = place(lifetimes, sizes, candidate)
        if best is None or placed[1] < best[1]:
            best, order = placed, candidate
    assert best is not None
    draw = random.Random(count)
    for _ in range(MOST_PLACEMENTS if count > 2 else 0):
        if best[1] <= lower_bound:
            break
        candidate = list(order)
        i, j = draw.sample(range(count), 2)
        candidate.insert(j, candidate.pop(i))
        placed = place(lifetimes, sizes, candidate)
        if placed[1] <= best[1]:
            best, order = placed, candidate
    return best


def peak_memory(lifetimes: Sequence[tuple[int, int]], sizes: Sequence[int]) -> int:
    """The largest number of bytes that are alive at the same time: a lower bound for any placement."""
    times = {first for first, _ in lifetimes}
    return max(
        (sum(s for (a, b), s in zip(lifetimes, sizes, strict=True) if a <= t <= b) for t in times), default=0
    )
