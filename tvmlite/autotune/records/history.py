"""The records in force: within ``apply_history_best`` templates use the fastest measured configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvmlite.autotune.in_force import looking_up
from tvmlite.autotune.records import records as rec
from tvmlite.core.span import warn
from tvmlite.machine.target import Target
from tvmlite.te.space import ConfigEntity, create, decode_args


@dataclass
class History:
    """The best record of each task on ``target``. ``missing`` has the tasks that were asked for without a
    valid record, ``comparisons`` the comparisons that best records come from."""

    best: dict[str, rec.Record]
    target: Target
    comparisons: Mapping[str, Sequence[rec.Record]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    _sound: set[str] = field(default_factory=set)

    def best_config(self, name: str, args: list[Any]) -> ConfigEntity | None:
        """Return the best configuration of a task; None, with a warning, if there is none."""
        key = json.dumps([name, args])
        found = self.best.get(key)
        if found is None:
            self._miss(key, f"no record for {name} with {args}: its defaults are used")
            return None
        if key in self.missing or not self._is_sound(key, name, args):
            self._miss(key, f"{name} with {args}: {rec.DEFAULT_MISSING}")
            return None
        return found.config

    def _is_sound(self, key: str, name: str, args: list[Any]) -> bool:
        """Whether a task's best record comes from no comparison, or from one that has its default."""
        if key in self.comparisons and key not in self._sound:
            default = create(name, decode_args(args), self.target).default
            if rec.winner(self.comparisons[key], default) is None:
                return False
            self._sound.add(key)
        return True

    def _miss(self, key: str, why: str) -> None:
        """Warn, once, that a task has no valid record."""
        if key not in self.missing:
            self.missing.append(key)
            warn(why)


@contextmanager
def apply_history_best(
    records: str | Path | Iterable[rec.Record], target: str | Target = "native"
) -> Iterator[History]:
    """Within the block, configure templates by the fastest record of their task on ``target``, whatever
    number of threads it was measured with.

    ``records`` are a file or the records themselves. Damaged lines, records of another machine or version,
    and tasks without a record, which use their defaults, are reported by a warning; so are comparisons
    without the default's record, which are not used.
    """
    target = Target.parse(target)
    loaded = rec.load(records) if isinstance(records, (str, Path)) else rec.Records.of(records)
    notes = rec.unusable(loaded, target)
    if loaded.decisions:
        notes.append(f"{len(loaded.decisions)} decisions are about graphs, not templates: skipped")
    for note in notes:
        name = records if isinstance(records, (str, Path)) else "the records"
        warn(f"{name}: {note}")
    compared = rec.comparisons(rec.current(loaded, target))
    history = History(rec.best(loaded, target), target, compared)
    with looking_up(history.best_config):
        yield history
