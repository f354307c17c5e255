"""Finds a cost model's best predictions: a small space is enumerated, a large one searched by annealing."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.te.space import ConfigSpace

SMALL_SPACE = 1 << 15
"""The largest space of which all configurations are predicted, in some 15 ms."""

NEIGHBOURS = 8
"""The number of a knob's settings that count as near to another."""

RANDOM_SETTING = 0.25
"""The probability that a knob is set to any of its settings instead."""

CHAINS, STEPS = 128, 60
"""The number of chains that annealing runs at once, and of the steps of each."""

Score = Callable[[np.ndarray], np.ndarray]
"""Maps configuration numbers to scores."""


def most_promising(
    space: ConfigSpace,
    score: Score,
    count: int,
    known: Collection[int],
    parents: np.ndarray,
    generator: np.random.Generator,
) -> list[int]:
    """The ``count`` configurations of highest score that are not ``known``, best first; fewer if that is all.

    A large space is searched from ``parents`` and random configurations.
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
    """Simulated annealing in parallel chains: a step changes one knob; worse ones are accepted ever less."""
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
        temperature = spread * (1 - step / STEPS) + 1e-9
        accepted = generator.random(CHAINS) < np.exp(np.minimum((found - scores) / temperature, 0))
        points[accepted], scores[accepted] = moved[accepted], found[accepted]
    fresh = (number for number in seen if number not in known and space.is_index_valid(number))
    ordered = sorted(fresh, key=lambda n: (-seen[n], n))
    return ordered[:count]


class Mutations:
    """Mutates configurations of a space, mostly a little: a knob takes one of the ``NEIGHBOURS`` settings
    most similar to its own by the cost model's features (``KnobFeatures``)."""

    def __init__(self, knobs: KnobFeatures) -> None:
        self.space = knobs.space
        self._tables = knobs.tables
        self._dims = np.array(self.space.dims)
        self._movable = np.flatnonzero(self._dims > 1)
        self._near: dict[tuple[int, int], np.ndarray] = {}

    def children(self, parent: int, count: int, generator: np.random.Generator) -> np.ndarray:
        """Return at most ``count`` different configurations, ``parent`` with one knob or two changed."""
        if not len(self._movable):
            return np.zeros(0, np.int64)
        places = self.space.positions(np.full(count, parent))
        for row in places:
            for knob in generator.choice(self._movable, int(generator.integers(1, 3))).tolist():
                row[knob] = self._mutated(knob, int(row[knob]), generator)
        numbers = dict.fromkeys(self.space.numbers(places).tolist())
        return np.array([n for n in numbers if self.space.is_index_valid(n)], np.int64)

    def _mutated(self, knob: int, place: int, generator: np.random.Generator) -> int:
        if generator.random() < RANDOM_SETTING:
            return int(generator.integers(0, self._dims[knob]))
        near = self._near.get((knob, place))
        if near is None:
            table = self._tables[knob]
            distances = np.abs(table - table[place]).sum(axis=1)
            near = self._near[knob, place] = np.argsort(distances, kind="stable")[1 : NEIGHBOURS + 1]
        return int(generator.choice(near))
