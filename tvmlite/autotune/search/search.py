"""Where a cost model's best predictions are: a small space is searched in full, a large one by annealing."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.te.space import ConfigSpace

SMALL_SPACE = 1 << 15
"""So many configurations are all predicted, in some 15 ms."""

NEAR = 8
"""Of a knob so many settings count as near to another."""

FAR = 0.25
"""How often a knob is set to anything at all instead."""

CHAINS, STEPS = 128, 60
"""Chains that annealing runs at once, and the steps of each."""

Score = Callable[[np.ndarray], np.ndarray]
"""Configuration numbers to scores."""


def most_promising(
    space: ConfigSpace,
    score: Score,
    count: int,
    known: Collection[int],
    parents: np.ndarray,
    generator: np.random.Generator,
) -> list[int]:
    """The ``count`` configurations of highest score that are not ``known``, best first; fewer if that is all.

    In a large space they are looked for among the descendants of ``parents`` and of random configurations.
    """
    if len(space) <= SMALL_SPACE:
        numbers = np.array(space.indices(), np.int64)
        numbers = numbers[~np.isin(numbers, np.fromiter(known, np.int64, len(known)))]
        return numbers[np.argsort(-score(numbers), kind="stable")[:count]].tolist()
    return _anneal(space, score, count, known, parents, generator)


def _anneal(
    space: ConfigSpace,
    score: Score,
    count: int,
    known: Collection[int],
    parents: np.ndarray,
    generator: np.random.Generator,
) -> list[int]:
    """Simulated annealing in parallel chains: one knob changes in a step, worse is taken ever less."""
    dims = np.array(space.dims)
    start = np.concatenate([parents[: CHAINS // 2], space.sample(CHAINS, generator)])[:CHAINS]
    points = space.positions(start)
    scores = score(start)
    seen: dict[int, float] = {}
    spread = float(np.std(scores)) or 1.0
    for step in range(STEPS):
        moved = points.copy()
        knob = generator.integers(0, len(dims), CHAINS)
        moved[np.arange(CHAINS), knob] = generator.integers(0, dims[knob])
        numbers = space.numbers(moved)
        found = score(numbers)
        seen.update(zip(numbers.tolist(), found.tolist(), strict=True))
        heat = spread * (1 - step / STEPS) + 1e-9
        taken = generator.random(CHAINS) < np.exp(np.minimum((found - scores) / heat, 0))
        points[taken], scores[taken] = moved[taken], found[taken]
    fresh = (number for number in seen if number not in known and space.is_index_valid(number))
    ordered = sorted(fresh, key=lambda n: (-seen[n], n))
    return ordered[:count]


class Mutations:
    """Changes of configurations of a space, small ones mostly: a knob goes to one of the ``NEAR`` settings
    most like the one it has, by what a cost model sees of it (``KnobFeatures``)."""

    def __init__(self, knobs: KnobFeatures) -> None:
        self.space = knobs.space
        self._tables = knobs.tables
        self._dims = np.array(self.space.dims)
        self._movable = np.flatnonzero(self._dims > 1)
        self._near: dict[tuple[int, int], np.ndarray] = {}

    def children(self, parent: int, count: int, generator: np.random.Generator) -> np.ndarray:
        """At most ``count`` numbers, each once: of ``parent`` with a knob changed or two."""
        if not len(self._movable):
            return np.zeros(0, np.int64)
        places = self.space.positions(np.full(count, parent))
        for row in places:
            for knob in generator.choice(self._movable, int(generator.integers(1, 3))).tolist():
                row[knob] = self._moved(knob, int(row[knob]), generator)
        numbers = dict.fromkeys(self.space.numbers(places).tolist())
        return np.array([n for n in numbers if self.space.is_index_valid(n)], np.int64)

    def _moved(self, knob: int, place: int, generator: np.random.Generator) -> int:
        if generator.random() < FAR:
            return int(generator.integers(0, self._dims[knob]))
        near = self._near.get((knob, place))
        if near is None:
            table = self._tables[knob]
            away = np.abs(table - table[place]).sum(axis=1)
            near = self._near[knob, place] = np.argsort(away, kind="stable")[1 : NEAR + 1]
        return int(generator.choice(near))
