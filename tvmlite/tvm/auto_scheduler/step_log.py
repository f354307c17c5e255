"""Lines of TVM's auto-scheduler: a workload, the primitives of a state of it, and what was measured.

They are read from logs that TVM wrote, and written of states whose primitives were called by hand, which
have no settings of knobs.
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
"""How lines begin, and the version of their form that is written."""


@dataclass(frozen=True)
class StepRecord:
    """``steps`` are rows as of ``steps.replay``, ``costs`` the seconds of a call, a number a run; ``target``
    and ``target_host`` are text."""

    workload_key: str
    target: str
    target_host: str
    steps: list[Any]
    costs: tuple[float, ...]
    error_no: int
    all_cost: float
    timestamp: float

    def to_json(self) -> str:
        """The record as a line of a log. What TVM says of the machine is left to its default: 0."""
        task = [self.workload_key, self.target, [0] * 8, self.target_host, 1, []]
        result = [list(self.costs), self.error_no, self.all_cost, self.timestamp]
        return json.dumps({"i": [task, [[], self.steps]], "r": result, "v": _VERSION})

    @staticmethod
    def from_json(line: str) -> StepRecord:
        """The record that ``line`` is; an InputError if it is none."""
        try:
            fields = json.loads(line)
            (key, target, *more), (_, steps) = fields["i"]
            costs, error_no, all_cost, timestamp = fields["r"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{line[:60]!r} is no record of TVM's auto-scheduler: {error}") from None
        host = more[1] if len(more) > 1 else ""
        return StepRecord(key, target, host, steps, tuple(costs), error_no, all_cost, timestamp)


def is_step_line(line: str) -> bool:
    """Whether ``line`` is one of TVM's auto-scheduler."""
    return line.replace(" ", "").startswith(_START)


def read(path: Any) -> Iterator[StepRecord]:
    """The records of that kind in the file ``path``, in order; lines of others are left to their reader."""
    with Path(os.fsdecode(path)).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if is_step_line(line):
                yield StepRecord.from_json(line)
