"""Which configuration each kernel of a model gets from records, and what is known of those without one.

A record replaces a kernel's default only where it was measured better beside it (origin ``FINAL``): the time
of a trial by itself proves nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median

from tvmlite.autotune import records as rec
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.core.target import Target
from tvmlite.core.version import VERSION
from tvmlite.relay import tasks
from tvmlite.relay.ir import Function
from tvmlite.relay.lower import anchor
from tvmlite.te.space import ConfigEntity, create

TUNED, DEFAULT, FIXED = "tuned", "default", "fixed"
"""Where a schedule comes from: a record, the template's own model of the machine, or there is no choice."""


@dataclass(frozen=True)
class Decision:
    """How a kernel is scheduled: ``config`` sets its knobs (None: as its template thinks best).

    ``loss`` is how much slower than with the best schedule known it is expected to be, 0.1 being a tenth;
    None where nothing tells. ``reason`` says why there is no record to go by.
    """

    origin: str
    config: ConfigEntity | None = None
    loss: float | None = None
    reason: str = ""


@dataclass
class Choices:
    """The records in force on ``target``; ``notes`` say which of them cannot be used, and why."""

    target: Target
    comparisons: Mapping[str, Sequence[rec.Record]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    given: bool = False
    _decided: dict[str, Decision] = field(default_factory=dict)

    @staticmethod
    def of(records: str | Path | Sequence[rec.Record] | None, target: Target) -> Choices:
        """The winners among ``records``, a file or the records themselves. What cannot be used is told by a
        warning; an InputError if the file cannot be read."""
        if records is None:
            return Choices(target)
        loaded = rec.load(records) if isinstance(records, (str, Path)) else rec.Records(tuple(records))
        name = str(records) if isinstance(records, (str, Path)) else "the records"
        made = Choices(target, notes=[f"{name}: {note}" for note in _unusable(loaded, target)], given=True)
        usable = [r for r in rec.usable(loaded, target) if r.code == VERSION and r.task[0] == tasks.NAME]
        made.comparisons = rec.comparisons(usable)
        for note in made.notes:
            warnings.warn(note, stacklevel=4)
        return made

    def decide(self, group: Function) -> Decision:
        """The configuration for the kernel of ``group``."""
        if not self.given:
            return Decision(DEFAULT)
        text = tasks.task_text(group)
        if text not in self._decided:
            self._decided[text] = self._decide(group)
        return self._decided[text]

    def _decide(self, group: Function) -> Decision:
        reason = tasks.why_no_task(group)
        if reason:
            return Decision(DEFAULT, reason=reason)
        task = tasks.task_of(group, self.target)
        if len(task.config_space) == 1:
            return Decision(FIXED, loss=0.0)
        compared = self.comparisons.get(task.key)
        if compared is None:
            return Decision(DEFAULT, loss=self._usual_loss(anchor(group).schedule), reason="no record")
        config, default = compared[0].config, task.default
        if config.settings == default.settings:
            return Decision(TUNED, None, 0.0)
        if task.config_space.index_of(config.settings) is None:
            self._note(f"a record has knobs that are not of this version's templates ({config}): skipped")
            return Decision(
                DEFAULT, loss=self._usual_loss(anchor(group).schedule), reason="its record is old"
            )
        return Decision(TUNED, config, 0.0)

    def _note(self, note: str) -> None:
        """Tell, once, that something cannot be used."""
        if note not in self.notes:
            self.notes.append(note)
            warnings.warn(note, stacklevel=5)

    def _usual_loss(self, template: str) -> float | None:
        """How much tuning won on other kernels of ``template``, in the middle; None without any."""
        found = [loss for name, loss in self._losses if name == template]
        return median(found) if found else None

    @cached_property
    def _losses(self) -> list[tuple[str, float]]:
        """The template of each task compared, and how much slower its default was than its winner."""
        found = []
        for block in self.comparisons.values():
            try:
                name = anchor(tasks.group_of(block[0].task[1][0])).schedule
                default = create(*block[0].task, self.target).default.settings
            except TvmliteError as error:
                self._note(f"a record's task is none: {error.message}: skipped")
                continue
            beside = [one.cost / block[0].cost - 1 for one in block if one.config.settings == default]
            found += [(name, loss) for loss in beside]
        return found


def require(decisions: Mapping[str, Decision]) -> None:
    """An InputError if one of the kernels, by symbol, could be scheduled in many ways and has no record."""
    missing = [f"{symbol} ({d.reason})" for symbol, d in decisions.items() if d.origin == DEFAULT]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError(
            f"require_tuned: {len(missing)} of {len(decisions)} kernels are not tuned: "
            f"{', '.join(missing[:5])}{more}",
            hint="tvmlite tune makes records; compile takes them with records=",
        )


def _unusable(loaded: rec.Records, target: Target) -> list[str]:
    """What of the records is of no use here, a sentence for each cause."""
    notes = []
    if loaded.damages:
        first = loaded.damages[0]
        notes.append(f"{len(loaded.damages)} lines are no records; line {first.line}: {first.reason}")
    foreign = sorted({r.target for r in loaded if r.target != str(target)})
    if foreign:
        count = sum(r.target != str(target) for r in loaded)
        notes.append(f"{count} records are of another machine, the first {foreign[0]!r}: skipped")
    old = sorted({r.code for r in loaded if r.code != VERSION})
    if old:
        count = sum(r.code != VERSION for r in loaded)
        notes.append(f"{count} records are of another version, the first {old[0]!r}, not {VERSION}: skipped")
    return notes
