"""Random extents over named dimensions: sums, products, quotients, minima, maxima and differences."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tvmlite.relay.ir.types import Binding, Dim, dim, evaluate_dim, normal_dim
from tvmlite.te import expr as te

NAMES = ("a", "b", "c")

MOST = 96
"""The largest value of an extent: there are many graphs, so they must be quick."""

SIZES = ((1, 2, 3, 4), (5, 6, 7, 8, 9), (11, 16, 17, 23))
"""The values that dimensions are drawn from, run by run."""


def extent(rnd: random.Random) -> Dim:
    """Return an extent over one or two of ``NAMES`` that is positive wherever dimensions are."""
    a, b = (dim(name) for name in rnd.sample(NAMES, 2))
    number = rnd.randint(1, 9)
    makers = (
        lambda: a,
        lambda: a + number,
        lambda: a + b,
        lambda: a + b * 2 - 1,
        lambda: a * number,
        lambda: a * number + rnd.randint(1, 3),
        lambda: a * b,
        lambda: a * (b + 1),
        lambda: (a + 1) * (b + 1),
        lambda: (a + rnd.randint(1, 2)) // 2 * b,
        lambda: (a + number - 1) // number,
        lambda: (a - 1) // rnd.randint(2, 4) + 1,
        lambda: (a + 7) // 8 * 8,
        lambda: (a + b) // 2 + rnd.randint(0, 1),
        lambda: a % rnd.randint(2, 5) + 1,
        lambda: te.Min(a, b),
        lambda: te.Max(a, b),
        lambda: te.Min(a, te.const(number, "int64")),
        lambda: te.Max(a, te.const(number, "int64")),
        lambda: te.Max(a - b, te.const(1, "int64")),
        lambda: te.Max(a - number, te.const(0, "int64")) + 1,
        lambda: te.Min(a, b) * 2,
        lambda: te.Max(a, b) - te.Min(a, b) + 1,
    )
    return normal_dim(rnd.choice(makers)())


def fixed_or_open(rnd: random.Random, numbers: Sequence[int], share: float = 0.5) -> Dim:
    """Return one of ``numbers`` or, with probability ``share``, an extent over named dimensions."""
    return extent(rnd) if rnd.random() < share else rnd.choice(numbers)


def bindings(rnd: random.Random, extents: Sequence[Dim]) -> Iterator[Binding]:
    """Yield values of the dimensions for several runs, with no extent below 0 or above ``MOST``."""
    names = [dim(name) for name in NAMES]
    for choices in SIZES:
        for _ in range(20):
            binding = {name: rnd.choice(choices) for name in names}
            if all(0 <= evaluate_dim(one, binding) <= MOST for one in extents):
                yield binding
                break
