"""Files of records that the auto-scheduler writes: the lines of ``tvmlite.autotune``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tvmlite.autotune.records import records as rec
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target

_OF_TVM = '{"i":'
"""How lines of TVM's auto-scheduler begin."""


def load(path: Any) -> tuple[rec.Record, ...]:
    """The records of the file ``path``; an InputError if it has none, and an UnsupportedError for TVM's
    own."""
    place = Path(os.fsdecode(path))
    loaded = rec.load(place)
    if loaded.damages and not loaded.records:
        with open(place, encoding="utf-8", errors="replace") as file:
            if file.readline(64).replace(" ", "").startswith(_OF_TVM):
                raise UnsupportedError(
                    f"{place} is a log of TVM's auto-scheduler: its schedules are lists of TVM's own steps",
                    Span.of_caller(),
                    hint="tune again; logs of autotvm are read",
                )
        first = loaded.damages[0]
        raise InputError(f"{place}, line {first.line}: {first.reason}")
    return loaded.records


def fastest(paths: Any, target: Target) -> dict[str, rec.Record]:
    """The record of least time of each task on ``target``, by key, in one file or several."""
    several = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    if not isinstance(several, Iterable):
        raise InputError(f"a log is a {type(paths).__name__}, expected a path")
    found: dict[str, rec.Record] = {}
    for path in several:
        for one in rec.current(load(path), target):
            known = found.get(one.task_key)
            if one.ok and (known is None or one.cost < known.cost):
                found[one.task_key] = one
    return found
