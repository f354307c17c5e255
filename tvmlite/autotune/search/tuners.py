"""Tuners, which propose configurations and learn from their measurements: random, grid and genetic."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tvmlite.autotune.measure import LocalRunner, Runner
from tvmlite.autotune.measure.build import Builder
from tvmlite.autotune.search import engine
from tvmlite.autotune.search.progress import Progress
from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.te.space import ConfigSpace, Task


class Tuner:
    """Proposes configurations of a task, none twice. ``seed`` determines all random choices."""

    name = ""
    """The name that users give it."""

    batch = 8
    """Configurations to propose at a time: fewer learn more often, more keep the machine busier."""

    def __init__(self, task: Task, seed: int = 0) -> None:
        arguments.instance(f"{type(self).__name__}: task", task, Task, "a task", InputError)
        arguments.whole(f"{type(self).__name__}: seed", seed, InputError, least=0)
        self.task, self.seed = task, seed
        self.space: ConfigSpace = task.config_space
        self.generator = np.random.default_rng(seed)
        self.builder = Builder(task)
        self.proposed: dict[int, None] = {}
        self.speeds: dict[int, float] = {}

    def propose(self, count: int) -> list[int]:
        """Return at most ``count`` configurations to measure next; none when the space is exhausted."""
        count = arguments.whole("propose: count", count, InputError, least=0)
        chosen = list(dict.fromkeys(self._choose(count)))[:count]
        self.proposed.update(dict.fromkeys(chosen))
        return chosen

    def take(self, index: int) -> None:
        """Count configuration ``index`` as proposed: it is measured without a proposal."""
        self.proposed[index] = None

    def propose_next(self) -> None:
        """Prepare the next batch; called while a batch is being measured."""

    def prediction(self, index: int) -> float | None:
        """The predicted score of a configuration, higher for faster ones; None if there is none."""
        return None

    def learn(self, indices: Sequence[int], speeds: Sequence[float]) -> None:
        """Learn from the measured ``speeds`` of configurations: operations a second, 0 for failures."""
        self.speeds.update(zip(indices, speeds, strict=True))

    def tune(
        self,
        n_trial: int,
        measure_option: Runner | None = None,
        early_stopping: int | None = None,
        callbacks: Sequence[engine.Callback] = (),
    ) -> Progress:
        """Try ``n_trial`` configurations; ``measure_option`` is the machine to measure on, else this one.

        ``callbacks`` are called after each batch (``autotune.callback`` has some). Stops early when
        ``early_stopping`` trials in a row have not improved the best.
        """
        n_trial = arguments.whole("tune: n_trial", n_trial, InputError, least=1)
        engine.check_options(measure_option, "measure_option", early_stopping, callbacks)
        runner = measure_option or LocalRunner()
        try:
            return engine.run(self, runner, n_trial, early_stopping=early_stopping, callbacks=callbacks)
        finally:
            runner.close()

    def _choose(self, count: int) -> list[int]:
        raise NotImplementedError

    def _fresh(self, count: int) -> list[int]:
        """Random configurations that were not proposed yet."""
        left = len(self.space) - len(self.proposed)
        if left <= count * 4:
            rest = [i for i in self.space.indices() if i not in self.proposed]
            return self.generator.permutation(rest)[:count].astype(int).tolist() if rest else []
        found: dict[int, None] = {}
        while len(found) < count:
            for number in self.space.sample(count, self.generator).tolist():
                if number not in self.proposed and len(found) < count:
                    found[number] = None
        return list(found)


class RandomTuner(Tuner):
    """Proposes all configurations with equal probability."""

    name = "random"

    def _choose(self, count: int) -> list[int]:
        return self._fresh(count)


class GridSearchTuner(Tuner):
    """Proposes all configurations in order."""

    name = "grid"

    def _choose(self, count: int) -> list[int]:
        left = (number for number in self.space.indices() if number not in self.proposed)
        return list(itertools.islice(left, count))


class GATuner(Tuner):
    """A genetic algorithm: combines the knobs of two fast parents, with occasional mutations."""

    name = "genetic"

    def __init__(self, task: Task, seed: int = 0, population: int = 48, mutation: float = 0.1) -> None:
        super().__init__(task, seed)
        arguments.whole("GATuner: population", population, InputError, least=2)
        if not isinstance(mutation, (int, float)) or not 0 <= mutation <= 1:
            raise arguments.refused("GATuner: mutation", mutation, "a number from 0 to 1", InputError)
        self.population, self.mutation = population, mutation

    def _choose(self, count: int) -> list[int]:
        if len(self.speeds) < min(self.population, len(self.space)):
            return self._fresh(count)
        elite = sorted(self.speeds, key=lambda n: (-self.speeds[n], n))[: self.population]
        places = self.space.positions(np.array(elite))
        weights = np.array([self.speeds[n] for n in elite]) + 1e-9
        children: dict[int, None] = {}
        for _ in range(count * 20):
            pair = self.generator.choice(len(elite), 2, p=weights / weights.sum())
            mask = self.generator.random(places.shape[1]) < 0.5
            child = np.where(mask, places[pair[0]], places[pair[1]])
            changed = self.generator.random(len(child)) < self.mutation
            child = np.where(changed, self.generator.integers(0, self.space.dims), child)
            number = int(self.space.numbers(child[None])[0])
            if number not in self.proposed and self.space.is_index_valid(number):
                children[number] = None
            if len(children) == count:
                break
        return [*children, *self._fresh(count - len(children))] if len(children) < count else list(children)
