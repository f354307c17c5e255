"""A model of how the thread pool divides a parallel loop, to predict the work of each thread."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

CHUNKS_A_THREAD = 4
"""The most chunks per thread, as in ``pool.c``."""


def begin_of(chunk: int, chunks: int, extent: int) -> int:
    """The first iteration of ``chunk``, with ``extent`` iterations in ``chunks``, as in ``pool.c``."""
    return chunk * (extent // chunks) + chunk * (extent % chunks) // chunks


def busiest(work: Sequence[float], threads: int) -> float:
    """The work of the busiest thread for a parallel loop with the ``work`` of each iteration.

    Each thread executes the chunks of its own share, then remaining chunks of other shares; the thread that
    becomes free first takes the next chunk.
    """
    extent = len(work)
    if extent == 0:
        return 0.0
    chunks = min(extent, threads * CHUNKS_A_THREAD)
    threads = min(extent, threads)
    begins = [begin_of(chunk, chunks, extent) for chunk in range(chunks + 1)]
    sizes = [sum(work[a:b]) for a, b in pairwise(begins)]
    shares = [owner * chunks // threads for owner in range(threads + 1)]
    ahead, free = list(shares[:-1]), [(0.0, thread) for thread in range(threads)]
    latest = 0.0
    while free:
        time, thread = heapq.heappop(free)
        latest = max(latest, time)
        for k in range(threads):
            owner = (thread + k) % threads
            if ahead[owner] < shares[owner + 1]:
                heapq.heappush(free, (time + sizes[ahead[owner]], thread))
                ahead[owner] += 1
                break
    return latest
