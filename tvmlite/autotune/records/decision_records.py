"""Records of decisions about a graph: which alternative was taken, and what each was measured to take.

They are lines of JSON in the file of the kernels' records (``records``), distinguished by the field
``decision``. What is decided is a name here, which the compiler's passes know.
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
    """That ``taken`` is the alternative to take for the decision ``name`` on ``target``.

    ``costs`` are seconds of the kernels concerned in each run of the model, by alternative, all interleaved
    with those of ``default``; empty where nothing was measured. ``note`` says why what was faster is
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
    """Whether a line's ``fields`` are meant as a decision."""
    return isinstance(fields, dict) and "decision" in fields


def decoded(fields: Mapping[str, Any]) -> DecisionRecord:
    """The record that a line's ``fields`` are; a ParseError says what is amiss."""
    values = checked(fields, "decision", _FIELDS, {})
    values["costs"] = {name: _seconds(name, given) for name, given in values["costs"].items()}
    values["time"] = time(values["time"])
    return DecisionRecord(values.pop("decision"), **values)


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
