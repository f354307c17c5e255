"""Configurations that were fast in tasks of other shapes, mapped to the space of this one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from tvmlite.autotune.records.records import FINAL, Record
from tvmlite.te.space import Choice, ConfigEntity, ConfigSpace, SplitChoice, Task, rule_of

TASKS = 3
"""The number of other tasks considered, those of the most similar shapes."""

BEST = 4
"""The number of the fastest configurations considered of each."""

_NUMBER = re.compile(r"\d{1,18}")
"""At most 18 digits: no extent has more, but a line of a file may."""


def configurations(records: Iterable[Record], task: Task) -> list[int]:
    """Numbers of configurations of ``task`` that are most similar to the fastest of tasks that differ from it
    only in numbers, by ``records``.

    The best of each such task come first, in the order of similar shapes, then the second best of each, and
    so on, without duplicates. Only records of trials on the task's target count.
    """
    pattern, shape = _split_numbers(task.key)
    of_task: dict[str, list[Record]] = {}
    for record in records:
        if record.ok and record.origin != FINAL and record.target == str(task.target):
            of_task.setdefault(record.task_key, []).append(record)
    distances: dict[str, float] = {}
    for key in of_task:
        other, numbers = _split_numbers(key)
        if other == pattern and key != task.key:
            distances[key] = sum(
                abs(math.log2((1 + a) / (1 + b))) for a, b in zip(shape, numbers, strict=True)
            )
    ranks: list[list[ConfigEntity]] = [[] for _ in range(BEST)]
    for key in sorted(distances, key=lambda one: (distances[one], one))[:TASKS]:
        ordered = sorted(of_task[key], key=lambda record: (record.cost, str(record.config)))
        for rank, record in zip(ranks, ordered, strict=False):
            rank.append(record.config)
    counterpart = Counterparts(task.config_space)
    found = [counterpart(config) for rank in ranks for config in rank]
    return list(dict.fromkeys(number for number in found if number is not None))


class Counterparts:
    """Maps a configuration of another space to the number of that in ``space`` whose loops are split most
    similarly and whose other knobs are equal; None if there is none."""

    def __init__(self, space: ConfigSpace) -> None:
        self.space = space
        self._inner: dict[tuple[str | None, str], np.ndarray] = {}

    def __call__(self, config: ConfigEntity) -> int | None:
        """Return the number of the configuration most similar to ``config``; None if there is none."""
        knobs = self.space.knobs_of(config)
        if config.settings.keys() != knobs.keys():
            return None
        rule = rule_of(config)
        found: dict[str, Choice] = {}
        for name, wanted in config.settings.items():
            choice = self._setting(rule, name, knobs[name], wanted)
            if choice is None:
                return None
            found[name] = choice
        return self.space.index_of(found)

    def _setting(
        self, rule: str | None, name: str, choices: Sequence[Choice], wanted: Choice
    ) -> Choice | None:
        if wanted in choices:
            return wanted
        if not isinstance(wanted, SplitChoice):
            return None
        splits = [
            one for one in choices if isinstance(one, SplitChoice) and len(one.size) == len(wanted.size)
        ]
        if not splits:
            return None
        if (rule, name) not in self._inner:
            self._inner[rule, name] = np.stack([_inner(one) for one in splits])
        return splits[int(np.argmin(np.abs(self._inner[rule, name] - _inner(wanted)).sum(axis=1)))]


def _inner(split: SplitChoice) -> np.ndarray:
    """The logarithms of the inner loops' lengths, and of the lengths of the tiles they form, the innermost
    first."""
    lengths = np.log2(np.array(split.size[1:], float))
    return np.concatenate([lengths, np.cumsum(lengths[::-1])])


def _split_numbers(key: str) -> tuple[str, list[int]]:
    """The key of a task with its numbers replaced by 0, and the numbers."""
    return _NUMBER.sub("0", key), [int(number) for number in _NUMBER.findall(key)]
