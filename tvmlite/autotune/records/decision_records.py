"""Records of decisions about a graph: the alternative taken, and the measured times of each.

They are lines of JSON in the file of the kernels' records (``records``), distinguished by the field
``decision``. A decision is identified by a name, which the compiler's passes know.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvmlite.autotune.records.fields import checked, line, seconds, time
from tvmlite.core.errors import ParseError
from tvmlite.machine.target import Target
from tvmlite.runtime import timing


@dataclass(frozen=True)
class DecisionRecord:
    """``taken`` is the alternative to use for the decision ``name`` on ``target``.

    ``costs`` are, for each alternative, the seconds of the kernels concerned in each run of the model, all
    interleaved with those of ``default``; empty if nothing was measured. ``note`` explains why a faster
    alternative is not taken, ``threads`` is the number of threads of the measurement.
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
        """Return one line, without its end; ``decoded`` reads it."""
        rest = dict(vars(self))
        return line({"decision": rest.pop("name"), **rest})


_FIELDS: dict[str, Any] = {
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
    """Whether a line's ``fields`` are a decision, damaged or not."""
    return isinstance(fields, dict) and "decision" in fields


def decoded(fields: Mapping[str, Any]) -> DecisionRecord:
    """Return the record in a line's ``fields``; a ParseError if it is damaged."""
    values = checked(fields, "decision", _FIELDS, {})
    values["costs"] = {name: _seconds(name, given) for name, given in values["costs"].items()}
    values["time"] = time(values["time"])
    return DecisionRecord(values.pop("decision"), **values)


def latest(
    records: Iterable[DecisionRecord], target: Target, code: str, threads: int
) -> dict[str, DecisionRecord]:
    """Return the last record of each decision, by name, for the machine ``target``, the version ``code`` and
    the number of ``threads``."""
    here = str(target), code, threads
    return {one.name: one for one in records if (one.target, one.code, one.threads) == here}


def _seconds(name: str, given: object) -> tuple[float, ...]:
    """The costs of an alternative; a ParseError if they are not a list of times."""
    if not isinstance(given, list):
        raise ParseError(f"the costs of {name!r} are {given!r}")
    return tuple(map(seconds, given))
