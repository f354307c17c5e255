"""Tuners that choose configurations by their numbers only, not by measurements."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.autotvm.tuner.tuner import Tuner


class IndexBaseTuner(Tuner):
    """Proposes configurations with numbers in ``range_idx``, both ends included; None means all."""

    def __init__(self, task: Any, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task)
        last = self.space.range_length - 1
        if range_idx is None:
            range_idx = 0, last
        match range_idx:
            case (int() as first, int() as end) if 0 <= first <= end <= last:
                self.begin_idx, self.end_idx = first, end + 1
            case _:
                raise InputError(f"range_idx is {range_idx!r}, expected two numbers from 0 to {last}")
        self.range_length = self.end_idx - self.begin_idx
        self.index_offset = self.begin_idx
        self.visited_max = self.space.subrange_length(self.begin_idx, self.end_idx)
        self.visited: list[int] = []

    @property
    def counter(self) -> int:
        """The number of proposed configurations."""
        return len(self.visited)

    def has_next(self) -> bool:
        """See ``Tuner``."""
        return len(self.visited) < self.visited_max

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Do nothing: proposals do not depend on measurements."""


class GridSearchTuner(IndexBaseTuner):
    """Proposes all configurations in order; ``index`` is the next."""

    def __init__(self, task: Any, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task, range_idx)
        self.index = self.begin_idx
        if not self.space.is_index_valid(self.index):
            self.index = self.space.get_next_index(self.index, start=self.begin_idx, end=self.end_idx)

    def next_batch(self, batch_size: int) -> list[Any]:
        """See ``Tuner``."""
        chosen = []
        while len(chosen) < batch_size and self.has_next():
            chosen.append(self.space.get(self.index))
            self.visited.append(self.index)
            self.index = self.space.get_next_index(self.index, start=self.begin_idx, end=self.end_idx)
        return chosen


class RandomTuner(IndexBaseTuner):
    """Proposes configurations uniformly at random, without repetition."""

    def next_batch(self, batch_size: int) -> list[Any]:
        """See ``Tuner``."""
        chosen = []
        while len(chosen) < batch_size and self.has_next():
            index = self.space.get_rand_index(self.begin_idx, self.end_idx, to_exclude=set(self.visited))
            self.visited.append(index)
            chosen.append(self.space.get(index))
        return chosen
