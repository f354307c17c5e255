"""The genetic tuner, over the one of ``tvmlite.autotune``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.autotune.search import tuners
from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.tuner.tuner import Tuner, flops_of


class GATuner(Tuner):
    """Combines the knob settings of two fast parents and mutates some of them.

    ``genes`` are the configurations of a generation of ``pop_size``, as positions of their knobs' settings;
    ``visited`` are the numbers of all proposed configurations. ``elite_num`` has no effect: all of the best
    ``pop_size`` are parents.
    """

    def __init__(
        self, task: Any, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1
    ) -> None:
        super().__init__(task)
        pop_size = arguments.whole("GATuner: pop_size", pop_size, InputError, least=2)
        if not arguments.whole("GATuner: elite_num", elite_num, InputError, least=0) <= pop_size:
            raise InputError(f"GATuner: elite_num is {elite_num}, expected at most pop_size, {pop_size}")
        self.pop_size, self.elite_num, self.mutation_prob = (
            min(pop_size, len(self.space)),
            elite_num,
            mutation_prob,
        )
        self._core = tuners.GATuner(task.core, population=max(2, self.pop_size), mutation=mutation_prob)
        self._core.space = self.space
        self.visited: set[int] = set()
        self.trial_pt = 0
        self._breed()

    def has_next(self) -> bool:
        """See ``Tuner``."""
        return self.trial_pt < len(self._generation) or len(self.visited) < len(self.space)

    def next_batch(self, batch_size: int) -> list[Any]:
        """See ``Tuner``; a generation is measured completely before the next is derived from it."""
        if self.trial_pt >= len(self._generation):
            self._breed()
        chosen = self._generation[self.trial_pt : self.trial_pt + batch_size]
        self.trial_pt += len(chosen)
        return [self.space.get(index) for index in chosen]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """See ``Tuner``."""
        speeds = [flops_of(inp, res) for inp, res in zip(inputs, results, strict=True)]
        self._core.learn([inp.config.index for inp in inputs], speeds)

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Do nothing: parents come from this tuner's own measurements only."""

    def _breed(self) -> None:
        self._generation = self._core.propose(self.pop_size)
        self.genes = [self.space.point2knob(index) for index in self._generation]
        self.visited.update(self._generation)
        self.trial_pt = 0
