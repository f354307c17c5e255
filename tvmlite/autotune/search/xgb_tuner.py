"""A tuner with a learned cost model of loops, which selects what to measure next.

There are three levels of information about a configuration. Its knobs cost nothing, so that a model of knobs
can search the whole space; its loops cost a few milliseconds of lowering, and say much more
(``loop_features``); its time costs a measurement. So the model of loops learns from measurements, starting
from its ``prior``, and the model of knobs learns the predictions of the model of loops for all that was
lowered. The best predictions of the model of knobs are lowered next, and so are neighbours of the best
measured: a model with a strong prior sees little difference between its favourites. Candidates that cannot be
built are detected by lowering, and cost no trial.

The best predictions are much alike, and so are their errors. So the uncertainty of the model counts as well
(Srinivas et al., "Gaussian Process Optimization in the Bandit Setting", ICML 2010): less for each measurement
of a tile of the same kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tvmlite.autotune.measure.build import Lowered
from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.autotune.model.loop_features import NAMES, STATEMENTS, loop_features
from tvmlite.autotune.model.model import CostModel, Prior
from tvmlite.autotune.model.transfer import shipped_prior
from tvmlite.autotune.search.search import Mutations, Score, most_promising
from tvmlite.autotune.search.tuners import GATuner, GridSearchTuner, RandomTuner, Tuner
from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.te.space import Task

POOL = 48
"""The number of random configurations that are lowered before anything is measured."""

ROUNDS = 8
"""The number of rounds that then lower ``LOWERED_PER_BATCH`` more, each time those predicted to be the best:
random configurations are far less often as good."""

LOWERED_PER_BATCH = 24
"""The number of configurations lowered while a batch is measured, half of them neighbours of the best."""

NODES_AT_FIRST = 20_000
"""Nodes of loops and expressions lowered before anything is measured, at most half for random configurations:
kernels with long bodies, as for short vectors or Winograd, take proportionally longer."""

NODES_PER_BATCH = 2_400
"""The number of nodes lowered while a batch is measured."""

FEW_NODES = 1_000
"""The nodes of one candidate above which lowering takes more than linear time: 60 ms for 600, 550 ms for
2600."""

CHILDREN = 24
"""The number of mutations of one configuration, of which the best by the model of knobs is lowered."""

SIMILAR_PER_BATCH = 6
"""The most configurations of a batch that were fast in other shapes: the rest shows what is fast in this
one."""

UNCERTAINTY = 0.2
"""The model's error for a kind of tile without measurements, as a power of two."""

PRIOR_TRIALS = 24
"""The number of measurements after which the prior counts half."""

_TILE = [
    NAMES.index(f"{n}: {name}")
    for n in range(STATEMENTS)
    for name in ("lanes", "full", "unrolled", "kept", "contiguous", "broadcast", "scattered", "store", "held")
]
"""The features that distinguish kinds of tiles."""


MOST_REFUSED = 64
"""The number of configurations in a batch that cannot be built after which further ones are trials, which
fail: their errors are reported and counted, and the search ends."""


class XGBTuner(Tuner):
    """Measures what a cost model predicts to be the fastest, and learns from it.

    One in ``1 / explore`` is a random one of those that can be built: the model knows only what it has seen.
    ``prior`` predicts the speed of any task's loops in advance; by default it is the model that comes with
    the package for the task's target. ``handed`` are numbers of configurations similar to those that were
    fast in other shapes (``similar_tasks``): they are measured first.
    """

    name = "xgboost"

    def __init__(
        self,
        task: Task,
        seed: int = 0,
        loss_type: str = "reg",
        explore: float = 0.05,
        prior: Prior | None = None,
        handed: Sequence[int] = (),
    ) -> None:
        super().__init__(task, seed)
        if not isinstance(explore, (int, float)) or not 0 <= explore <= 1:
            raise arguments.refused("XGBTuner: explore", explore, "a number from 0 to 1", InputError)
        if prior is not None:
            arguments.function("XGBTuner: prior", prior, InputError)
        for one in arguments.listed("XGBTuner: handed", handed, "numbers of configurations", InputError):
            arguments.whole("XGBTuner: handed", one, InputError, least=0)
        self.explore, self.prior = explore, prior or shipped_prior(task.target)
        self.handed = list(handed)
        self.knobs = KnobFeatures(self.space)
        self.mutations = Mutations(self.knobs)
        self.model = CostModel(loss_type, seed)
        self._rows: dict[int, np.ndarray] = {}
        self._priors: dict[int, float] = {}
        self._kinds: dict[int, bytes] = {}
        self._refused: dict[int, None] = {}
        self._nodes = 0.0

    def propose_next(self) -> None:
        """Lower the configurations that the model of knobs predicts to be the fastest."""
        if not self._rows:
            return
        numbers, scores = self._scored()
        least = float(scores.min()) - 1.0
        known = np.array([*numbers, *self._refused])
        knob_model = CostModel("reg", self.seed)
        knob_model.fit_scores(self.knobs(known), np.concatenate([scores, np.full(len(self._refused), least)]))
        ordered = np.array(numbers)[np.argsort(-scores, kind="stable")]

        def score(some: np.ndarray) -> np.ndarray:
            return knob_model.predict(self.knobs(some))

        mean = self._nodes / len(self._rows)
        count = max(min(LOWERED_PER_BATCH, int(NODES_PER_BATCH / mean)), self.batch)
        mutations = self._best_mutations(count // 2, score)
        known_or_mutated = {*self._rows, *self._refused, *mutations}
        best = most_promising(
            self.space, score, count - len(mutations), known_or_mutated, ordered, self.generator
        )
        self._lower([*mutations, *best])

    def prediction(self, index: int) -> float | None:
        """The prior's prediction for a lowered configuration: the logarithm of its speed by the best's."""
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
                self._weighted_priors(measured),
            )

    def _choose(self, count: int) -> list[int]:
        if not self._rows:
            self._begin()
        random = int(self.generator.binomial(count, self.explore))
        chosen = self._best(count - random, self._next_similar(min(count, SIMILAR_PER_BATCH)))
        while len(chosen) < count and (left := self._distinct(chosen)):
            chosen.append(left[int(self.generator.integers(len(left)))])
        refused = 0
        while len(chosen) < count:
            unseen = [n for n in self._fresh(count - len(chosen)) if n not in chosen]
            if not unseen:
                break
            self._lower(unseen)
            failed = [n for n in unseen if n in self._refused]
            refused += len(failed)
            chosen += [n for n in unseen if n in self._rows]
            if refused < MOST_REFUSED:
                self.proposed.update(dict.fromkeys(failed))
            else:
                chosen += failed
        return chosen

    def _begin(self) -> None:
        """Lower the candidates for the first measurements."""
        self._lower(self.handed)
        pool = self._fresh(POOL)
        while pool and self._nodes < NODES_AT_FIRST // 2:
            self._lower(pool[: self.batch])
            pool = pool[self.batch :]
        for _ in range(ROUNDS):
            seen = len(self._rows) + len(self._refused)
            self.propose_next()
            if len(self._rows) + len(self._refused) == seen or self._nodes > NODES_AT_FIRST:
                break

    def _next_similar(self, count: int) -> list[int]:
        """The next ``count`` of ``handed``, without those that cannot be built or have the same features as
        others."""
        chosen: list[int] = []
        while self.handed and len(chosen) < count:
            number = self.handed.pop(0)
            if number in self._rows and number in self._distinct(chosen):
                chosen.append(number)
        return chosen

    def _best(self, count: int, chosen: list[int]) -> list[int]:
        """Extend ``chosen`` up to ``count`` by the best of what was lowered and not proposed, by predicted
        score plus uncertainty.

        The uncertainty of a kind of tile decreases with the number that are measured or chosen: otherwise a
        batch would be variations of one, and so would the next.
        """
        numbers, scores = self._scored()
        predicted = dict(zip(numbers, scores.tolist(), strict=True))
        counts = self._proposed_by_kind()
        counts.update(self._kinds[number] for number in chosen)
        while len(chosen) < count and (left := self._distinct(chosen)):
            chosen.append(max(left, key=lambda n: (predicted[n] + self._uncertainty(counts, n), -n)))
            counts[self._kinds[chosen[-1]]] += 1
        return chosen

    def _distinct(self, chosen: Sequence[int]) -> list[int]:
        """The lowered configurations whose features differ from all that are proposed or ``chosen``: some
        knobs have no effect, such as the order of loops of one iteration."""
        taken = [n for n in (*self.proposed, *chosen) if n in self._rows]
        known_rows = {self._rows[n].tobytes() for n in taken}
        return [n for n, row in self._rows.items() if row.tobytes() not in known_rows]

    def _proposed_by_kind(self) -> Counter[bytes]:
        """The number of proposed configurations of each kind of tile."""
        return Counter(self._kinds[n] for n in self.proposed if n in self._kinds)

    def _uncertainty(self, counts: Counter[bytes], number: int) -> float:
        """The uncertainty of the model for a configuration, if ``counts`` of each kind of tile are known."""
        return UNCERTAINTY / (1 + counts[self._kinds[number]]) ** 0.5

    def _scored(self) -> tuple[list[int], np.ndarray]:
        """All lowered configurations, and the model's score for each."""
        numbers = list(self._rows)
        if not numbers:
            return numbers, np.zeros(0)
        return numbers, self.model.predict(
            np.stack([self._rows[n] for n in numbers]), self._weighted_priors(numbers)
        )

    def _weighted_priors(self, numbers: Sequence[int]) -> np.ndarray:
        """The prior's predictions, with less weight the more was measured."""
        known = np.array([self._priors[n] for n in numbers], np.float32)
        return known * np.float32(PRIOR_TRIALS / (PRIOR_TRIALS + len(self.speeds)))

    def _best_mutations(self, count: int, score: Score) -> list[int]:
        """Mutations that were not lowered yet: one of the best configuration of each kind of tile, for the
        ``count`` most promising kinds."""
        numbers, scores = self._scored()
        counts = self._proposed_by_kind()
        upper_bounds = [float(s) + self._uncertainty(counts, n) for n, s in zip(numbers, scores, strict=True)]
        parents: dict[bytes, int] = {}
        for place in np.argsort(-np.array(upper_bounds), kind="stable").tolist():
            parents.setdefault(self._kinds[numbers[place]], numbers[place])
        seen = {*self._rows, *self._refused}
        broods = [
            self.mutations.children(parent, CHILDREN, self.generator).tolist()
            for parent in list(parents.values())[:count]
        ]
        children = list(dict.fromkeys(n for brood in broods for n in brood if n not in seen))
        if not children:
            return []
        predicted = dict(zip(children, score(np.array(children, np.int64)).tolist(), strict=True))
        found: dict[int, None] = {}
        for brood in broods:
            new = [n for n in brood if n in predicted and n not in found]
            if new:
                found[max(new, key=predicted.__getitem__)] = None
        return list(found)

    def _lower(self, numbers: Sequence[int]) -> None:
        made = []
        for number in numbers:
            lowered = self.builder.lowered(self.space.get(number))
            if isinstance(lowered, Lowered):
                row = loop_features(lowered.function, self.task.target, self.task.flop)
                self._rows[number], self._kinds[number] = row, row[_TILE].tobytes()
                self._nodes += lowered.nodes * max(1.0, lowered.nodes / FEW_NODES)
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
