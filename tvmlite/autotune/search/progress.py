"""The progress of tuning a task, and its best records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tvmlite.autotune.records.records import Record
from tvmlite.te.space import ConfigEntity, Task

LEADERS = 4
"""The number of best records that are kept: as many as are compared with the default at the end."""


@dataclass
class Progress:
    """The progress of tuning a task: ``trials`` done of ``total``, ``failures`` by kind of error.

    ``curve`` has the best seconds so far after each trial (infinity if there are none), ``predicted`` the
    tuner's prediction for each candidate and its operations a second. ``weight`` is how often the task's
    kernel runs in the model, ``share`` its part of the model's time by default (0: unknown). ``busy`` has the
    share of the machine that other processes used while each candidate was timed, if known; ``in_force`` the
    winners of earlier runs' comparisons, the last first; ``default`` the default's trial, if it succeeded.
    """

    task: Task
    total: int
    weight: float = 1.0
    share: float = 0.0
    trials: int = 0
    leaders: list[Record] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    first_failure: str = ""
    since_best: int = 0
    curve: list[float] = field(default_factory=list)
    predicted: list[tuple[float, float]] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    in_force: Sequence[ConfigEntity] = ()
    default: Record | None = None

    @property
    def best(self) -> Record | None:
        """The fastest so far."""
        return self.leaders[0] if self.leaders else None

    @property
    def best_flops(self) -> float:
        """Operations a second of the best so far; 0 if there is none."""
        return 0.0 if self.best is None else self.task.flop / self.best.cost

    @property
    def gain(self) -> float:
        """The gain of the best so far over the default, which is tried first; 1 while that is unknown."""
        known = self.best is not None and self.curve and math.isfinite(self.curve[0])
        return self.curve[0] / self.curve[-1] if known else 1.0

    def finalists(self, most: int, slowest: float = math.inf) -> list[ConfigEntity]:
        """The configurations to compare with the default: the best, at most ``most``, that took less than
        ``slowest`` seconds. Those in force are always among them, so that a later run never replaces them by
        something slower without a comparison."""
        default = self.task.default.settings
        found = [r.config for r in self.leaders if r.cost < slowest and r.config.settings != default][:most]
        required = [one.settings for one in self.in_force[:most]]
        best = [one for one in found if one.settings not in required][: most - len(required)]
        selected = [one for one in found if one in best or one.settings in required]
        selected_settings = [one.settings for one in selected]
        return [*selected, *(one for one in self.in_force[:most] if one.settings not in selected_settings)]

    def take(self, record: Record) -> None:
        """Count one more trial."""
        self.trials += 1
        self.since_best += 1
        if record.error:
            self.fail(record.error, record.message)
        else:
            if self.best is None or record.cost < self.best.cost:
                self.since_best = 0
            self.leaders = sorted([*self.leaders, record], key=lambda r: r.cost)[:LEADERS]
            if record.config.settings == self.task.default.settings:
                self.default = record
        self.curve.append(float("inf") if self.best is None else self.best.cost)

    def fail(self, error: str, message: str) -> None:
        """Count a failure."""
        self.failures[error] = self.failures.get(error, 0) + 1
        self.first_failure = self.first_failure or f"{error}: {message}"
