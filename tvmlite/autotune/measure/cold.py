"""The cache state of a candidate's operands and results: in a model, other kernels run between two calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core.abi.symbols import align
from tvmlite.machine.machine import BEYOND_CACHES
from tvmlite.runtime.tensor import copy_to_one_block

SMALLEST_COPIED = 64 << 10
"""The least bytes of an array that is worth a copy: smaller ones are loaded into cache at once."""

LARGE_ALLOCATION = 4 << 20
"""The bytes of an allocation from which on numpy asks for large pages."""

LARGE_PAGE = 2 << 20
"""The bytes of a large page."""


@dataclass(frozen=True)
class Footprint:
    """The bytes that a model touches between two calls of a kernel: of weights, and of other values."""

    weights: int
    values: int


DEFAULT_FOOTPRINT = Footprint(weights=BEYOND_CACHES, values=0)
"""The default if the footprint is unknown: weights come from memory, and results stay in cache."""


def copies_in_one_block(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return copies of ``arrays`` laid out as a model's values are: side by side in one block of large pages.

    Separate arrays would be allocated in small pages, of which caches hold parts by chance. This slows down
    some schedules by a tenth and others not at all.
    """
    return copy_to_one_block(arrays, LARGE_PAGE, LARGE_ALLOCATION)


def further_arguments(
    arrays: Sequence[np.ndarray], cold: Collection[int], results: Collection[int], footprint: Footprint
) -> list[list[np.ndarray]]:
    """Return the lists of arguments to alternate with ``arrays``, so that calls find operands cold.

    Arrays at the positions ``cold`` are as cold as weights; those at ``results`` are written where values
    were some calls ago. A schedule that writes parts of cache lines in any order is as fast as others in the
    near cache, and half as fast outside of it; one that prefetches distant lines is slow if there are none.
    """
    weights = _copies(arrays, [place for place in cold if place not in results], footprint.weights)
    values = _copies(arrays, results, footprint.values)
    own = dict(enumerate(arrays))
    return [
        list((own | weights[n % len(weights)] | values[n % len(values)]).values())
        for n in range(1, max(len(weights), len(values)))
    ]


def _copies(arrays: Sequence[np.ndarray], places: Collection[int], total: int) -> list[dict[int, np.ndarray]]:
    """Copies of ``arrays`` by position, the first without any, until all together take about ``total`` bytes.

    The copies are stored in one block, as a model's weights are.
    """
    large = [place for place in sorted(places) if arrays[place].nbytes >= SMALLEST_COPIED]
    size = sum(align(arrays[place].nbytes) for place in large)
    count = max(-(-min(total, BEYOND_CACHES) // size), 1) if size else 1
    copies = iter(copy_to_one_block([arrays[place] for place in large] * (count - 1)))
    return [{}, *({place: next(copies) for place in large} for _ in range(count - 1))]
