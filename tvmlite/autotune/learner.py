"""The tuner that learns: a cost model of loops says what to measure next.

Three things are known of a configuration at three prices. Its knobs cost nothing, so that a model of knobs
can go through the whole space; its loops cost a few milliseconds of lowering, and tell much more
(``loop_features``); its time costs a measurement. So the model of loops learns from measurements, beginning
with what it knew before (``prior``), the model of knobs learns from what the model of loops says of all that
was lowered, and what the model of knobs thinks best is lowered next, with neighbours of the best measured: a
model that knows much beforehand sees little difference between those it likes. What cannot be built is found
out by lowering, and costs no trial.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.autotune.build import Lowered
from tvmlite.autotune.features import KnobFeatures
from tvmlite.autotune.loop_features import loop_features
from tvmlite.autotune.model import CostModel, Prior
from tvmlite.autotune.search import most_promising
from tvmlite.autotune.transfer import estimate, known_beforehand
from tvmlite.autotune.tuners import GATuner, GridSearchTuner, RandomTuner, Tuner
from tvmlite.te.space import Task

POOL = 64
"""Configurations that are lowered before anything is measured."""

LOWERED = 20
"""How many more are lowered while a batch is measured; half of them neighbours of the best."""

PARENTS = 4
"""The best measured, whose neighbours are looked at."""

TRUST = 24
"""After so many measurements what was known beforehand counts half."""


class XGBTuner(Tuner):
    """Measures what a cost model thinks quickest, and learns from it.

    Half of the first ``first`` are random (of 16 if nothing was ever learned, else of none), and later one in
    ``1 / explore``: the model knows only what it has seen. ``prior`` is what is known beforehand of the loops
    of whatever task; the model that comes with the package, unless another is given.
    """

    name = "xgboost"

    def __init__(
        self,
        task: Task,
        seed: int = 0,
        loss_type: str = "rank",
        first: int | None = None,
        explore: float = 0.1,
        prior: Prior | None = None,
    ) -> None:
        super().__init__(task, seed)
        self.explore, self.prior = explore, prior or known_beforehand()
        self.first = (16 if self.prior is estimate else 0) if first is None else first
        self.knobs = KnobFeatures(self.space)
        self.model = CostModel(loss_type, seed)
        self._rows: dict[int, np.ndarray] = {}
        self._priors: dict[int, float] = {}
        self._refused: dict[int, None] = {}

    def ponder(self) -> None:
        """Lower what the model of knobs thinks best."""
        if not self._rows:
            return
        numbers, scores = self._scored()
        least = float(scores.min()) - 1.0
        known = np.array([*numbers, *self._refused])
        of_knobs = CostModel("reg", self.seed)
        of_knobs.fit_scores(self.knobs(known), np.concatenate([scores, np.full(len(self._refused), least)]))
        parents = np.array(numbers)[np.argsort(-scores, kind="stable")]
        near = self._neighbours(LOWERED // 2)
        best = most_promising(
            self.space,
            lambda some: of_knobs.predict(self.knobs(some)),
            LOWERED - len(near),
            {*self._rows, *self._refused, *near},
            parents,
            self.generator,
        )
        self._lower([*near, *best])

    def prediction(self, index: int) -> float | None:
        """What was thought beforehand of what was lowered: the logarithm of its speed by the best's."""
        return self._priors.get(index)

    def learn(self, indices: Sequence[int], speeds: Sequence[float]) -> None:
        """See ``Tuner``."""
        super().learn(indices, speeds)
        self._lower([number for number in indices if number not in self._rows])
        measured = [number for number in self.speeds if number in self._rows]
        if measured:
            self.model.fit(
                np.stack([self._rows[n] for n in measured]),
                np.array([self.speeds[n] for n in measured]),
                self._trusted(measured),
            )

    def _choose(self, count: int) -> list[int]:
        if not self._rows:
            self._lower(self._fresh(POOL))
            self.ponder()
        random = int(self.generator.binomial(count, self.explore))
        if len(self.speeds) < self.first:
            random = count // 2
        chosen = self._best(count - random)
        while len(chosen) < count:
            unseen = [n for n in self._fresh(count - len(chosen)) if n not in chosen]
            if not unseen:
                break
            self._lower(unseen)
            chosen += [n for n in unseen if n in self._rows]
            self.proposed.update(dict.fromkeys(n for n in unseen if n not in self._rows))
        return chosen

    def _best(self, count: int) -> list[int]:
        """Of what was lowered and not measured, the best by the model; of those that look alike, their
        features the same to a power of two, one: there is more to be learned from the next."""
        numbers, scores = self._scored()
        chosen: list[int] = []
        looks: set[bytes] = set()
        for place in np.argsort(-scores, kind="stable").tolist():
            number = numbers[place]
            look = np.round(self._rows[number]).tobytes()
            if number not in self.proposed and look not in looks and len(chosen) < count:
                chosen.append(number)
                looks.add(look)
        return chosen

    def _scored(self) -> tuple[list[int], np.ndarray]:
        """All that was lowered, and what the model says of each."""
        numbers = list(self._rows)
        if not numbers:
            return numbers, np.zeros(0)
        return numbers, self.model.predict(np.stack([self._rows[n] for n in numbers]), self._trusted(numbers))

    def _trusted(self, numbers: Sequence[int]) -> np.ndarray:
        """What was thought of configurations beforehand, the less the more was measured."""
        known = np.array([self._priors[n] for n in numbers], np.float32)
        return known * np.float32(TRUST / (TRUST + len(self.speeds)))

    def _neighbours(self, count: int) -> list[int]:
        """Configurations that differ in one knob from one of the best measured, and were not looked at."""
        best = sorted((n for n in self.speeds if self.speeds[n]), key=lambda n: (-self.speeds[n], n))[
            :PARENTS
        ]
        dims = np.array(self.space.dims)
        movable = np.flatnonzero(dims > 1)
        if not best or not len(movable):
            return []
        places = self.space.places(self.generator.choice(np.array(best), 4 * count))
        knob = self.generator.choice(movable, len(places))
        places[np.arange(len(places)), knob] = self.generator.integers(0, dims[knob])
        found = dict.fromkeys(self.space.numbers(places).tolist())
        return [n for n in found if n not in self._rows and n not in self._refused][:count]

    def _lower(self, numbers: Sequence[int]) -> None:
        made = []
        for number in numbers:
            lowered = self.builder.lowered(self.space.get(number))
            if isinstance(lowered, Lowered):
                self._rows[number] = loop_features(lowered.function, self.task.target, self.task.flop)
                made.append(number)
            else:
                self._refused[number] = None
        if made:
            priors = self.prior(np.stack([self._rows[n] for n in made]))
            self._priors.update(zip(made, priors.tolist(), strict=True))


TUNERS: dict[str, type[Tuner]] = {
    tuner.name: tuner for tuner in (XGBTuner, RandomTuner, GridSearchTuner, GATuner)
}
"""The tuners by the names users give them."""
