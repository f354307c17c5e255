"""Looks up a model's records: decisions about the graph, the configuration of each kernel, and estimates for
kernels without one.

A record replaces a kernel's default only if it was faster in a comparison with it (origin ``FINAL``): the
time of a single trial proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord, latest
from tvmlite.autotune.records.fields import shortened
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.core.span import warn
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.kernels import operator_names
from tvmlite.relay.entry.lower import anchor
from tvmlite.relay.ir.nodes import Function
from tvmlite.relay.ir.types import TensorType
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.space import ConfigEntity

TUNED, BEST_DEFAULT, DEFAULT, FIXED = "tuned", "best default", "default", "fixed"
"""Origins of a schedule: a record; the default, confirmed as the fastest by a record; the default, without a
record; or there is no choice."""


@dataclass(frozen=True)
class Choice:
    """The schedule of a kernel: ``config`` sets its knobs (None: the template's default).

    ``loss`` is the expected slowdown relative to the best known schedule, 0.1 being a tenth; None if unknown.
    ``seconds`` of a call were measured. ``reason`` explains why there is no record, and how the loss is
    estimated.
    """

    origin: str
    config: ConfigEntity | None = None
    loss: float | None = None
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class _ComparedTask:
    """A task that was compared: its operators and template, the extents of its tensors, and its default's
    loss."""

    operators: tuple[str, ...]
    template: str
    extents: tuple[int, ...]
    loss: float


@dataclass
class Choices:
    """The records in force on ``target``; ``notes`` list those that are unusable, with reasons.

    ``decisions`` are those about the graph, by name. ``report`` is called with each further note.
    """

    target: Target
    comparisons: Mapping[str, Sequence[rec.Record]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    given: bool = False
    decisions: Mapping[str, DecisionRecord] = field(default_factory=dict)
    report: Callable[[str], object] = warn
    _decided: dict[str, Choice] = field(default_factory=dict)

    @staticmethod
    def of(records: str | Path | Sequence[rec.Record | DecisionRecord] | None, target: Target) -> Choices:
        """Return the winners among ``records``, a file or the records themselves, with notes on unusable
        ones; an InputError if the file cannot be read."""
        if records is None:
            return Choices(target)
        loaded = rec.load(records) if isinstance(records, (str, Path)) else rec.Records.of(records)
        name = str(records) if isinstance(records, (str, Path)) else "the records"
        made = Choices(target, notes=[f"{name}: {note}" for note in _unusable(loaded, target)])
        made.given = bool(loaded.records) or not loaded.decisions
        current = rec.current(loaded, target, num_threads())
        made.comparisons = rec.comparisons(r for r in current if tasks.is_fused_task(r.task))
        made.decisions = latest(loaded.decisions, target, VERSION, num_threads())
        return made

    def decide(self, group: Function) -> Choice:
        """Return the configuration for the kernel of ``group``."""
        if not self.given:
            return Choice(DEFAULT)
        text = tasks.task_text(group)
        if text not in self._decided:
            self._decided[text] = self._decide(group)
        return self._decided[text]

    def _decide(self, group: Function) -> Choice:
        reason = tasks.why_no_task(group)
        if reason:
            return Choice(DEFAULT, reason=reason)
        task = tasks.task_of(group, self.target)
        if len(task.config_space) == 1:
            return Choice(FIXED, loss=0.0)
        compared = self.comparisons.get(task.key)
        if compared is None:
            return self._untuned(group, "no record")
        winner = compared[0]
        if winner.config.settings == task.default.settings:
            return Choice(BEST_DEFAULT, None, 0.0, seconds=winner.cost)
        config = task.config_space.own(winner.config)
        if config is None:
            knobs = shortened(str(winner.config))
            self.note(f"a record has knobs that are not of this version's templates ({knobs}): skipped")
            return self._untuned(group, "its record is old")
        if rec.winner(compared, task.default) is None:
            self.note(rec.DEFAULT_MISSING)
            return self._untuned(group, "its comparison is damaged")
        return Choice(TUNED, config, 0.0, seconds=winner.cost)

    def _untuned(self, group: Function, why: str) -> Choice:
        """The default, with the loss that it had for the most similar shape, or else the median loss of all
        kernels of its template. The configuration for another shape is not used: it was not measured beside
        this default."""
        if alike := self._most_similar(group):
            return Choice(DEFAULT, loss=alike[0].loss, reason=f"{why}; estimated from the nearest shape")
        losses = [one.loss for one in self._compared_tasks if one.template == anchor(group).schedule.name]
        if losses:
            reason = f"{why}; estimated from other kernels of its template"
            return Choice(DEFAULT, loss=median(losses), reason=reason)
        return Choice(DEFAULT, reason=why)

    def _most_similar(self, group: Function) -> list[_ComparedTask]:
        """The compared tasks with the operators of ``group``, those of the nearest shape first."""
        names, extents = operator_names(group), _extents(group)
        alike = [s for s in self._compared_tasks if s.operators == names and len(s.extents) == len(extents)]
        return sorted(alike, key=lambda one: (_distance(one.extents, extents), one.extents))

    def note(self, note: str) -> None:
        """Report, once, that a record is unusable."""
        if note not in self.notes:
            self.notes.append(note)
            self.report(note)

    @cached_property
    def _compared_tasks(self) -> list[_ComparedTask]:
        """The defaults' losses in the comparisons."""
        found = []
        for block in self.comparisons.values():
            try:
                group = tasks.group_of(block[0].task[1][0])
                default = tasks.task_of(group, self.target).default.settings
            except TvmliteError as error:
                self.note(f"a record's task cannot be read: {shortened(error.message)}: skipped")
                continue
            names, template, extents = operator_names(group), anchor(group).schedule.name, _extents(group)
            defaults = [one for one in block if one.ok and one.config.settings == default]
            losses = [one.cost / block[0].cost - 1 for one in defaults]
            found += [_ComparedTask(names, template, extents, loss) for loss in losses]
        return found


def _extents(group: Function) -> tuple[int, ...]:
    """The extents of the parameters of ``group``, without open dimensions."""
    types = (param.type for param in group.params)
    return tuple(d for one in types if isinstance(one, TensorType) for d in one.shape if isinstance(d, int))


def _distance(a: Sequence[int], b: Sequence[int]) -> float:
    """The distance between two shapes: the sum of the logarithms of their extents' ratios."""
    return sum(abs(math.log(max(x, 1) / max(y, 1))) for x, y in zip(a, b, strict=True))


def require(decisions: Mapping[str, Choice]) -> None:
    """Raise an InputError if one of the kernels, by symbol, has no record, even if it cannot have one."""
    missing = [f"{symbol} ({d.reason})" for symbol, d in decisions.items() if d.origin == DEFAULT]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError(
            f"require_tuned: {len(missing)} of {len(decisions)} kernels are not tuned: "
            f"{', '.join(missing[:5])}{more}",
            hint="tvmlite tune makes records; compile takes them with records=",
        )


def _unusable(loaded: rec.Records, target: Target) -> list[str]:
    """A sentence for each reason why records are unusable here."""
    notes, everything = rec.unusable(loaded, target), (*loaded.records, *loaded.decisions)
    here = num_threads()
    elsewhere = sorted({r.threads for r in everything} - {0, here})
    if elsewhere:
        count = sum(r.threads in elsewhere for r in everything)
        threads = shortened(", ".join(map(str, elsewhere)))
        notes.append(f"{count} records were measured with {threads} threads, here are {here}: skipped")
    others = sum(not tasks.is_fused_task(r.task) for r in loaded)
    if others:
        notes.append(f"{others} records are of tasks of other kinds than a model's kernels: skipped")
    return notes
