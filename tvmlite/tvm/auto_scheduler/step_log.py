"""Log lines of TVM's auto-scheduler: a workload, the primitives of one of its states, and the measurement.

They are read from TVM's logs, and written for states whose primitives were called directly, which have no
knob settings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvmlite.core.errors import InputError

_START, _VERSION = '{"i":', "v0.6"
"""The start of a line, and the version of the format that is written."""


@dataclass(frozen=True)
class StepRecord:
    """``steps`` are rows for ``steps.replay``, ``costs`` the seconds per call, one number per run; ``target``
    and ``target_host`` are strings."""

    workload_key: str
    target: str
    target_host: str
    steps: list[Any]
    costs: tuple[float, ...]
    error_no: int
    all_cost: float
    timestamp: float

    def to_json(self) -> str:
        """Return the record as a line of a log. TVM's hardware parameters are written as 0, their default."""
        task = [self.workload_key, self.target, [0] * 8, self.target_host, 1, []]
        result = [list(self.costs), self.error_no, self.all_cost, self.timestamp]
        return json.dumps({"i": [task, [[], self.steps]], "r": result, "v": _VERSION})

    @staticmethod
    def from_json(line: str) -> StepRecord:
        """Parse the record in ``line``; an InputError if it is not one."""
        try:
            fields = json.loads(line)
            (key, target, *more), (_, steps) = fields["i"]
            costs, error_no, all_cost, timestamp = fields["r"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{line[:60]!r} is no record of TVM's auto-scheduler: {error}") from None
        host = more[1] if len(more) > 1 else ""
        return StepRecord(key, target, host, steps, tuple(costs), error_no, all_cost, timestamp)


def is_step_line(line: str) -> bool:
    """Whether ``line`` is a record of TVM's auto-scheduler."""
    return line.replace(" ", "").startswith(_START)


def read(path: Any) -> Iterator[StepRecord]:
    """Yield the records of this format in the file ``path``, in order; other lines are skipped."""
    with Path(os.fsdecode(path)).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if is_step_line(line):
                yield StepRecord.from_json(line)
