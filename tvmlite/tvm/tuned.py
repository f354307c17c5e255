"""The tuned configurations that ``relay.build`` uses: a stack of the tuning logs in force, innermost last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.autotune.records.records import FINAL, Record, schedules_digest
from tvmlite.core import VERSION
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te.space import ConfigEntity, Task, create, encode_args

_BLOCKS: list[Mapping[Any, tuple[Any, float]]] = []


def enter(best: Mapping[tuple[str, tuple[Any, ...]], tuple[Any, float]]) -> None:
    """Push ``best``: for a template's name and arguments, the best configuration and its time in seconds."""
    _BLOCKS.append(best)


def leave() -> None:
    """Pop the innermost log."""
    _BLOCKS.pop()


def records_in_force(target: Target) -> list[Record]:
    """The ``records`` argument for ``tvmlite.compile``: each kernel's best configuration in the logs in
    force, as if this version had selected it on ``target``. The innermost log has priority.

    Like TVM, this uses the fastest entry of a log even if it was never compared with the default. A failed
    record of the default is added, because a comparison without the default would count as damaged.
    """
    found: dict[Any, tuple[Any, float]] = {}
    for block in _BLOCKS:
        found |= block
    records: list[Record] = []
    for (name, args), (config, seconds) in found.items():
        if tasks.is_fused_task((name, args)):
            records += _comparison(create(name, args, target), ConfigEntity(config.settings), seconds)
    return records


def _comparison(task: Task, best: ConfigEntity, seconds: float) -> list[Record]:
    """The record of ``best`` and, if it is another configuration, a record of the unmeasured default."""
    fields: dict[str, Any] = {"origin": FINAL, "code": VERSION, "schedules": schedules_digest()}
    key = task.name, tuple(encode_args(task.args))
    made = [Record(key, str(task.target), best, (max(seconds, 1e-12),), verified=True, **fields)]
    if best.settings != task.default.settings:
        message = "the log has no measurement of it"
        made.append(Record(key, str(task.target), task.default, error="refused", message=message, **fields))
    return made
