"""The records in force: within ``apply_history_best`` a template takes the best that was measured."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvmlite.autotune import records as rec
from tvmlite.core.target import Target
from tvmlite.te.space import ConfigEntity, looking_up


@dataclass
class History:
    """The best record of each task on one machine; ``missing`` are the tasks asked for that had none."""

    best: dict[str, rec.Record]
    missing: list[str] = field(default_factory=list)

    def best_config(self, name: str, args: list[Any]) -> ConfigEntity | None:
        """The best configuration of a task; None, with a word, if there is none."""
        key = json.dumps([name, args])
        found = self.best.get(key)
        if found is None:
            if key not in self.missing:
                self.missing.append(key)
                warnings.warn(f"no record for {name} with {args}: its defaults are used", stacklevel=4)
            return None
        return found.config


@contextmanager
def apply_history_best(
    records: str | Path | Iterable[rec.Record], target: str | Target = "native"
) -> Iterator[History]:
    """Within the block, templates are configured by the quickest record of their task on ``target``, whatever
    number of threads it was measured with.

    ``records`` are a file or the records themselves. Lines that are none, records of another machine or
    version, and tasks without a record, which take their defaults, are told by a warning.
    """
    target = Target.parse(target)
    loaded = rec.load(records) if isinstance(records, (str, Path)) else rec.Records.of(records)
    notes = rec.unusable(loaded, target)
    if loaded.decisions:
        notes.append(f"{len(loaded.decisions)} decisions are about graphs, not templates: skipped")
    for note in notes:
        name = records if isinstance(records, (str, Path)) else "the records"
        warnings.warn(f"{name}: {note}", stacklevel=3)
    history = History(rec.best(loaded, target))
    with looking_up(history.best_config):
        yield history
