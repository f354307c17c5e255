"""Records of decisions about a graph: which alternative was taken, and what each was measured to take.

They stand as lines of JSON in the file of the kernels' records (``records``), told apart by the field
``decision``. What is decided is a name here, which the compiler's passes know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvmlite.autotune.records.fields import seconds, time
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target
from tvmlite.runtime import timing

VERSION = 1


@dataclass(frozen=True)
class DecisionRecord:
    """That ``taken`` is the alternative to take for the decision ``name`` on ``target``.

    ``costs`` are seconds of the kernels concerned in each run of the model, by alternative, all taken in
    turns with those of ``default``; empty where nothing was measured. ``note`` says why what was quicker is
    not taken, ``threads`` how many it was measured with.
    """

    name: str
    target: str
    taken: str
    default: str
    costs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    note: str = ""
    seed: int = 0
    code: str = ""
    time: float = 0.0
    threads: int = 1

    def cost(self, alternative: str) -> float:
        """The median seconds of an alternative; infinity if it was not measured."""
        costs = self.costs.get(alternative, ())
        return timing.median(sorted(costs)) if costs else math.inf

    def to_json(self) -> str:
        """One line, without its end; ``decoded`` gives the record back."""
        fields = {
            "v": VERSION,
            "decision": self.name,
            "target": self.target,
            "taken": self.taken,
            "default": self.default,
            "costs": {name: list(costs) for name, costs in self.costs.items()},
            "note": self.note,
            "seed": self.seed,
            "code": self.code,
            "time": self.time,
            "threads": self.threads,
        }
        return json.dumps(fields, allow_nan=False)


_FIELDS: dict[str, Any] = {
    "v": int,
    "decision": str,
    "target": str,
    "taken": str,
    "default": str,
    "costs": dict,
    "note": str,
    "seed": int,
    "code": str,
    "time": (int, float),
    "threads": int,
}


def is_line(fields: object) -> bool:
    """Whether a line's ``fields`` are meant as a decision."""
    return isinstance(fields, dict) and "decision" in fields


def decoded(fields: Mapping[str, Any]) -> DecisionRecord:
    """The record that a line's ``fields`` are; a ParseError says what is amiss."""
    if fields.get("v") != VERSION:
        raise ParseError(f"not a decision of version {VERSION}")
    unknown, missing = sorted(fields.keys() - _FIELDS.keys()), sorted(_FIELDS.keys() - fields.keys())
    if unknown or missing:
        raise ParseError(f"unknown fields {unknown}" if unknown else f"fields {missing} are missing")
    for name, kind in _FIELDS.items():
        if not isinstance(fields[name], kind) or isinstance(fields[name], bool):
            raise ParseError(f"field {name!r} is {fields[name]!r}")
    costs = {name: _seconds(name, given) for name, given in fields["costs"].items()}
    return DecisionRecord(
        fields["decision"],
        fields["target"],
        fields["taken"],
        fields["default"],
        costs,
        fields["note"],
        fields["seed"],
        fields["code"],
        time(fields["time"]),
        fields["threads"],
    )


def latest(
    records: Iterable[DecisionRecord], target: Target, code: str, threads: int
) -> dict[str, DecisionRecord]:
    """The last record of each decision, by name, that was made on this machine, version and number of
    threads."""
    here = str(target), code, threads
    return {one.name: one for one in records if (one.target, one.code, one.threads) == here}


def _seconds(name: str, given: object) -> tuple[float, ...]:
    """The costs of an alternative; a ParseError if they are none."""
    if not isinstance(given, list):
        raise ParseError(f"the costs of {name!r} are {given!r}")
    return tuple(map(seconds, given))
