"""How cold what a candidate reads and writes is: in a model, other kernels run between two calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core.abi.symbols import align
from tvmlite.machine.machine import BEYOND_CACHES
from tvmlite.runtime.tensor import side_by_side

LEAST_COLD = 64 << 10
"""Bytes of an array that is worth a copy: smaller ones come in at once."""

LARGE = 4 << 20
"""Bytes of memory for which, or for more, numpy asks for large pages."""

PAGE = 2 << 20
"""Bytes of one."""


@dataclass(frozen=True)
class Footprint:
    """The bytes that are touched between two calls: of weights, and of the values that kernels hand on."""

    weights: int
    values: int


EVERYTHING = Footprint(weights=BEYOND_CACHES, values=0)
"""What is taken where it is not known: weights come from memory, and results stay near."""


def as_in_a_model(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Copies of ``arrays`` that lie as the values of a model do: side by side in one block of large pages.

    By themselves they would lie in small pages of which caches hold parts by chance, and some schedules are
    slower there by a tenth and others not.
    """
    return side_by_side(arrays, PAGE, LARGE)


def further_arguments(
    arrays: Sequence[np.ndarray], cold: Collection[int], results: Collection[int], footprint: Footprint
) -> list[list[np.ndarray]]:
    """Lists of arguments to take after ``arrays``, alternately: those at the places ``cold`` are as cold as
    weights, and ``results`` are written where values were some calls ago.

    A schedule that writes parts of cache lines in any order is as fast as others in the near cache, and half
    as fast outside of it; one that waits for distant lines is slow where there are none.
    """
    weights = _copies(arrays, [place for place in cold if place not in results], footprint.weights)
    values = _copies(arrays, results, footprint.values)
    own = dict(enumerate(arrays))
    return [
        list((own | weights[n % len(weights)] | values[n % len(values)]).values())
        for n in range(1, max(len(weights), len(values)))
    ]


def _copies(arrays: Sequence[np.ndarray], places: Collection[int], total: int) -> list[dict[int, np.ndarray]]:
    """Copies of ``arrays`` by their ``places``, first of none, until all are about ``total`` bytes.

    They lie in one block, as a model's weights do.
    """
    large = [place for place in sorted(places) if arrays[place].nbytes >= LEAST_COLD]
    size = sum(align(arrays[place].nbytes) for place in large)
    count = max(-(-min(total, BEYOND_CACHES) // size), 1) if size else 1
    copies = iter(side_by_side([arrays[place] for place in large] * (count - 1)))
    return [{}, *({place: next(copies) for place in large} for _ in range(count - 1))]
