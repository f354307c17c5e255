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
    """Within the block, templates are configured by the quickest record of their task on ``target``.

    ``records`` are a file or the records themselves. Lines that are none, and tasks without a record, which
    take their defaults, are told by a warning.
    """
    if isinstance(records, (str, Path)):
        loaded = rec.load(records)
        if loaded.damages:
            first = loaded.damages[0]
            warnings.warn(
                f"{records}: {len(loaded.damages)} lines are no records; line {first.line}: {first.reason}",
                stacklevel=3,
            )
        if loaded.decisions:
            told = f"{len(loaded.decisions)} decisions are about graphs, not templates: skipped"
            warnings.warn(f"{records}: {told}", stacklevel=3)
        records = loaded.records
    history = History(rec.best(records, Target.parse(target)))
    with looking_up(history.best_config):
        yield history
