"""Files of records written by a search, in the format of ``tvmlite.autotune``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tvmlite.autotune.records import records as rec
from tvmlite.core.errors import InputError
from tvmlite.machine.target import Target
from tvmlite.tvm.auto_scheduler import step_log


def load(path: Any) -> tuple[rec.Record, ...]:
    """Return the records of the file ``path`` except those of ``step_log``; an InputError if it has
    neither."""
    place = Path(os.fsdecode(path))
    loaded = rec.load(place)
    if loaded.damages and not loaded.records and not any(True for _ in step_log.read(place)):
        first = loaded.damages[0]
        raise InputError(f"{place}, line {first.line}: {first.reason}")
    return loaded.records


def fastest(paths: Any, target: Target) -> dict[str, rec.Record]:
    """Return the fastest record of each task on ``target``, by task key, in one file or several."""
    found: dict[str, rec.Record] = {}
    for path in several(paths):
        for one in rec.current(load(path), target):
            known = found.get(one.task_key)
            if one.ok and (known is None or one.cost < known.cost):
                found[one.task_key] = one
    return found


def several(paths: Any) -> list[Any]:
    """Return ``paths``, one or several, as a list."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [paths]
    if not isinstance(paths, Iterable):
        raise InputError(f"a log is a {type(paths).__name__}, expected a path")
    return list(paths)
