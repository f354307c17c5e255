"""What logs say of a model's kernels, for ``relay.build``: the blocks that are entered, innermost last."""

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
    """A block begins whose best configurations and seconds these are, by a template's name and arguments."""
    _BLOCKS.append(best)


def leave() -> None:
    """The innermost block ends."""
    _BLOCKS.pop()


def records_in_force(target: Target) -> list[Record]:
    """What to give ``tvmlite.compile`` as ``records``: the kernels' best in the blocks around, as if this
    version had found them best on ``target``; what the innermost says counts.

    TVM takes the fastest of a log, which nobody has compared with the default: so does this. The default has
    a record beside it that says so, as a comparison without it would be taken for damaged.
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
    """The record of ``best``, and of the default, which was not measured."""
    fields: dict[str, Any] = {"origin": FINAL, "code": VERSION, "schedules": schedules_digest()}
    key = task.name, tuple(encode_args(task.args))
    made = [Record(key, str(task.target), best, (max(seconds, 1e-12),), verified=True, **fields)]
    if best.settings != task.default.settings:
        message = "the log has no measurement of it"
        made.append(Record(key, str(task.target), task.default, error="refused", message=message, **fields))
    return made
