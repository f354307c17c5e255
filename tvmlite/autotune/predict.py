"""A schedule without a measurement: the best of some candidates by the cost model that was trained ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tvmlite.autotune.build import Builder, Lowered
from tvmlite.autotune.loop_features import loop_features
from tvmlite.autotune.model import Prior
from tvmlite.autotune.transfer import known_beforehand
from tvmlite.te.space import ConfigEntity, Task

POOL = 48
"""Candidates that are lowered at random, in some 6 ms each."""

ROUNDS = 2
"""How often the best of them are then varied: as many again, a knob changed in each."""

PARENTS = 8
"""The best, whose neighbours are looked at."""

DOUBT = 0.3
"""A template's own choice stays unless another is predicted to be quicker by more than this power of two:
about what predictions are off by."""


@dataclass(frozen=True)
class Predicted:
    """``config`` is predicted to be ``gain`` times as quick as the default; the default itself, and 1, if
    nothing is predicted to be quicker beyond doubt.

    ``loss`` is how much slower the default is expected to be than ``config`` or the best there was, 0.1 being
    a tenth.
    """

    config: ConfigEntity
    gain: float
    loss: float


def predicted(task: Task, seed: int = 0, model: Prior | None = None) -> Predicted:
    """What to schedule ``task`` with where nothing of it was measured.

    ``model`` predicts logarithms of speeds from features of loops; the one of the package if None. The same
    ``seed`` gives the same.
    """
    pool = _Pool(task, model or known_beforehand())
    default = pool.add_config(task.default)
    generator = np.random.default_rng(seed)
    pool.add(task.config_space.sample(POOL, generator))
    for _ in range(ROUNDS):
        pool.add(pool.neighbours(generator))
    number, score = pool.best()
    gain = float(2.0 ** (score - default)) if np.isfinite(default) else float("inf")
    if number is None or score - default <= DOUBT:
        return Predicted(task.default, 1.0, max(gain - 1.0, 0.0))
    return Predicted(task.config_space.get(number), gain, gain - 1.0)


class _Pool:
    """Candidates and what the model says of them."""

    def __init__(self, task: Task, model: Prior) -> None:
        self.task, self.model, self.builder = task, model, Builder(task)
        self.scores: dict[int, float] = {}

    def add_config(self, config: ConfigEntity) -> float:
        """What is said of ``config``; minus infinity if it cannot be built."""
        lowered = self.builder.lowered(config)
        if not isinstance(lowered, Lowered):
            return float("-inf")
        return float(self.model(loop_features(lowered.function, self.task.target, self.task.flop)[None])[0])

    def add(self, numbers: np.ndarray) -> None:
        """Lower the configurations of these numbers that were not lowered yet."""
        for number in dict.fromkeys(numbers.tolist()):
            if number not in self.scores:
                self.scores[number] = self.add_config(self.task.config_space.get(number))

    def neighbours(self, generator: np.random.Generator) -> np.ndarray:
        """The best with one knob changed, ``POOL`` of them."""
        space = self.task.config_space
        ordered = sorted(self.scores, key=lambda number: (-self.scores[number], number))[:PARENTS]
        places = space.places(generator.choice(np.array(ordered), POOL))
        dims = np.array(space.dims)
        movable = np.flatnonzero(dims > 1)
        if not len(movable):
            return np.zeros(0, np.int64)
        knob = generator.choice(movable, POOL)
        places[np.arange(POOL), knob] = generator.integers(0, dims[knob])
        return space.numbers(places)

    def best(self) -> tuple[int | None, float]:
        """The number of the best, and what is said of it; None if none could be built."""
        number = max(self.scores, key=lambda one: (self.scores[one], -one), default=None)
        score = float("-inf") if number is None else self.scores[number]
        return (number, score) if np.isfinite(score) else (None, score)
