"""What records say of a model: the graph's decisions, the configuration of each kernel, and what is known of
those without one.

A record replaces a kernel's default only where it was measured better beside it (origin ``FINAL``): the time
of a trial by itself proves nothing. What won in another shape is put before the model of gains, which may
replace a default where it predicts a gain beyond doubt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import median

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord, latest
from tvmlite.autotune.records.fields import shortened
from tvmlite.autotune.records.telling import tell
from tvmlite.autotune.search.nearest import TASKS, Counterparts
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.core.version import VERSION
from tvmlite.machine.target import Target
from tvmlite.model.predictions import Predictions
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.kernels import operator_names
from tvmlite.relay.entry.lower import anchor
from tvmlite.relay.ir.dims import show_shape
from tvmlite.relay.ir.nodes import Function
from tvmlite.relay.ir.types import TensorType
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.space import ConfigEntity

TUNED, NEAREST, PREDICTED, DEFAULT, FIXED = "tuned", "nearest shape", "cost model", "default", "fixed"
"""Where a schedule comes from: a record; the record of a near shape, where the model of gains in the package
likes it best; that model alone; the template's own model of the machine; or there is no choice."""


@dataclass(frozen=True)
class Choice:
    """How a kernel is scheduled: ``config`` sets its knobs (None: as its template thinks best).

    ``loss`` is how much slower than with the best schedule known it is expected to be, 0.1 being a tenth;
    None where nothing tells. ``seconds`` of a call were measured. ``reason`` says why there is no record, and
    what the loss is estimated by.
    """

    origin: str
    config: ConfigEntity | None = None
    loss: float | None = None
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class _Seen:
    """A task that was compared: its operators and template, the types it takes, how much its default lost,
    and to which configuration."""

    operators: tuple[str, ...]
    template: str
    types: tuple[TensorType, ...]
    loss: float
    winner: ConfigEntity

    @property
    def extents(self) -> tuple[int, ...]:
        return _extents(self.types)

    def is_another_shape(self, types: Sequence[TensorType]) -> bool:
        """Whether it takes elements as those of ``types`` are, and not as many of them."""
        alike = [one.dtype for one in self.types] == [one.dtype for one in types]
        return alike and self.extents != _extents(types)

    def __str__(self) -> str:
        return shortened(" ".join(show_shape(one.shape) for one in self.types))


@dataclass
class Choices:
    """The records in force on ``target``; ``notes`` say which of them cannot be used, and why.

    ``decisions`` are those about the graph, by name. ``predictions``, if there are any, schedule the kernels
    that no record tells of.
    """

    target: Target
    comparisons: Mapping[str, Sequence[rec.Record]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    given: bool = False
    decisions: Mapping[str, DecisionRecord] = field(default_factory=dict)
    predictions: Predictions | None = None
    _decided: dict[str, Choice] = field(default_factory=dict)

    @staticmethod
    def of(records: str | Path | Sequence[rec.Record | DecisionRecord] | None, target: Target) -> Choices:
        """The winners among ``records``, a file or the records themselves, with notes on what of them cannot
        be used; an InputError if the file cannot be read."""
        if records is None:
            return Choices(target)
        loaded = rec.load(records) if isinstance(records, (str, Path)) else rec.Records.of(records)
        name = str(records) if isinstance(records, (str, Path)) else "the records"
        made = Choices(target, notes=[f"{name}: {note}" for note in _unusable(loaded, target)])
        made.given = bool(loaded.records) or not loaded.decisions
        current = rec.current(loaded, target, num_threads())
        made.comparisons = rec.comparisons(r for r in current if tasks.is_of_group(r.task))
        made.decisions = latest(loaded.decisions, target, VERSION, num_threads())
        return made

    def decide(self, group: Function) -> Choice:
        """The configuration for the kernel of ``group``."""
        if not self.given and self.predictions is None:
            return Choice(DEFAULT)
        text = tasks.task_text(group)
        if text not in self._decided:
            self._decided[text] = self._decide(group)
        return self._decided[text]

    def _decide(self, group: Function) -> Choice:
        reason = tasks.why_no_task(group)
        if reason:
            return Choice(DEFAULT, reason=reason)
        if not self.given:
            return self._untuned(group, "")
        task = tasks.task_of(group, self.target)
        if len(task.config_space) == 1:
            return Choice(FIXED, loss=0.0)
        compared = self.comparisons.get(task.key)
        if compared is None:
            return self._untuned(group, "no record")
        winner = compared[0]
        if winner.config.settings == task.default.settings:
            return Choice(TUNED, None, 0.0, seconds=winner.cost)
        config = task.config_space.own(winner.config)
        if config is None:
            knobs = shortened(str(winner.config))
            self.note(f"a record has knobs that are not of this version's templates ({knobs}): skipped")
            return self._untuned(group, "its record is old")
        if rec.winner(compared, task.default) is None:
            self.note(rec.LOST_DEFAULT)
            return self._untuned(group, "its comparison is damaged")
        return Choice(TUNED, config, 0.0, seconds=winner.cost)

    def _untuned(self, group: Function, why: str) -> Choice:
        """What is predicted to be quicker than the default, or the default, which is expected to lose what it
        lost where the shapes are most like these, or in the middle of all kernels of the template, or of its
        kind. Another shape's configuration is used where it is predicted to be quicker, and not by itself:
        nobody has measured it beside this default."""
        chosen = None if self.predictions is None else self._predicted(self.predictions, group)
        if chosen is not None and chosen.origin != DEFAULT:
            return chosen
        if alike := self._alike(group):
            return Choice(DEFAULT, loss=alike[0].loss, reason=f"{why}; nearest shape's")
        losses = [one.loss for one in self._seen if one.template == anchor(group).schedule]
        if losses:
            return Choice(DEFAULT, loss=median(losses), reason=f"{why}; others' of its template")
        return chosen or Choice(DEFAULT, reason=why)

    def _predicted(self, predictions: Predictions, group: Function) -> Choice:
        """What the model of gains says of ``group``, of what won in near shapes first; the default where it
        sees nothing quicker beyond doubt."""
        trust = predictions.trust(group)
        if trust is None:
            known = predictions.model.knows(predictions.target)
            on = "its kind" if known else "such a target"
            return Choice(DEFAULT, reason=f"the cost model was not tried on {on}")
        near = self._carried_over(group) if trust.gaining else []
        found = predictions(group, [config for _, config in near])
        if found is None:
            return Choice(DEFAULT, loss=trust.loss, reason="nothing of its kind was predicted beyond doubt")
        if found.gain == 1:
            return Choice(DEFAULT, loss=trust.left, reason="nothing is predicted to be quicker beyond doubt")
        told = f"predicted {found.gain:.2f}x as quick as the default, beyond doubt from {2**trust.doubt:.2f}x"
        for one, config in near:
            if config.settings == found.config.settings:
                told = f"{told}; {1 + one.loss:.2f}x measured with {one}"
                return Choice(NEAREST, found.config, trust.left, told)
        return Choice(PREDICTED, found.config, trust.left, told)

    def _carried_over(self, group: Function) -> list[tuple[_Seen, ConfigEntity]]:
        """What won beside the default in other shapes, each with the configuration of ``group`` that is most
        like it: of those that have such the few nearest, the nearest first."""
        types = _tensor_types(group)
        won = [one for one in self._alike(group) if one.loss > 0 and one.is_another_shape(types)]
        if not won:
            return []
        space = tasks.task_of(group, self.target).config_space
        counterpart = Counterparts(space)
        numbers = ((one, counterpart(one.winner)) for one in won)
        found = ((one, ConfigEntity(space.get(n).settings)) for one, n in numbers if n is not None)
        return list(islice(found, TASKS))

    def _alike(self, group: Function) -> list[_Seen]:
        """What was compared of the operators of ``group``, that of the nearest shape first."""
        names, extents = operator_names(group), _extents(_tensor_types(group))
        alike = [s for s in self._seen if s.operators == names and len(s.extents) == len(extents)]
        return sorted(alike, key=lambda one: (_distance(one.extents, extents), one.extents))

    def note(self, note: str) -> None:
        """Tell, once, that something cannot be used."""
        if note not in self.notes:
            self.notes.append(note)
            tell([note], stacklevel=5)

    @cached_property
    def _seen(self) -> list[_Seen]:
        """What comparisons tell of defaults."""
        found = []
        for block in self.comparisons.values():
            try:
                group = tasks.group_of(block[0].task[1][0])
                default = tasks.task_of(group, self.target).default.settings
            except TvmliteError as error:
                self.note(f"a record's task is none: {shortened(error.message)}: skipped")
                continue
            names, template, types = operator_names(group), anchor(group).schedule, _tensor_types(group)
            defaults = [one for one in block if one.ok and one.config.settings == default]
            losses = [one.cost / block[0].cost - 1 for one in defaults]
            found += [_Seen(names, template, types, loss, block[0].config) for loss in losses]
        return found


def _tensor_types(group: Function) -> tuple[TensorType, ...]:
    """The types of the parameters of ``group`` that are tensors."""
    return tuple(param.type for param in group.params if isinstance(param.type, TensorType))


def _extents(types: Sequence[TensorType]) -> tuple[int, ...]:
    """All extents of ``types`` without open dimensions."""
    return tuple(int(d) for one in types for d in one.shape if isinstance(d, int))


def _distance(a: Sequence[int], b: Sequence[int]) -> float:
    """How unlike two shapes are: the sum of the logarithms of their extents' ratios."""
    return sum(abs(math.log(max(x, 1) / max(y, 1))) for x, y in zip(a, b, strict=True))


def require(decisions: Mapping[str, Choice]) -> None:
    """An InputError if one of the kernels, by symbol, has no record, be it that it can have none."""
    untuned = (NEAREST, PREDICTED, DEFAULT)
    missing = [f"{symbol} ({d.reason})" for symbol, d in decisions.items() if d.origin in untuned]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError(
            f"require_tuned: {len(missing)} of {len(decisions)} kernels are not tuned: "
            f"{', '.join(missing[:5])}{more}",
            hint="tvmlite tune makes records; compile takes them with records=",
        )


def _unusable(loaded: rec.Records, target: Target) -> list[str]:
    """What of the records is of no use here, a sentence for each cause."""
    notes, everything = rec.unusable(loaded, target), (*loaded.records, *loaded.decisions)
    here = num_threads()
    elsewhere = sorted({r.threads for r in everything} - {0, here})
    if elsewhere:
        count = sum(r.threads in elsewhere for r in everything)
        told = shortened(", ".join(map(str, elsewhere)))
        notes.append(f"{count} records were measured with {told} threads, here are {here}: skipped")
    others = sum(not tasks.is_of_group(r.task) for r in loaded)
    if others:
        notes.append(f"{others} records are of tasks of other kinds than a model's kernels: skipped")
    return notes
