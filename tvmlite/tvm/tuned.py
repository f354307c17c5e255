"""What logs say of a model's kernels, for ``relay.build``: the blocks that are entered, innermost last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.autotune.records.records import Record, schedules_digest
from tvmlite.core import VERSION
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.te.space import ConfigEntity

_BLOCKS: list[Mapping[Any, tuple[Any, float]]] = []


def enter(best: Mapping[tuple[str, tuple[Any, ...]], tuple[Any, float]]) -> None:
    """A block begins whose best configurations and seconds these are, by a template's name and arguments."""
    _BLOCKS.append(best)


def leave() -> None:
    """The innermost block ends."""
    _BLOCKS.pop()


def records_in_force(target: Target) -> list[Record]:
    """What to give ``tvmlite.compile`` as ``records``: the kernels' best in the blocks around, as if this
    version had measured them on ``target``; what the innermost says counts."""
    found: dict[Any, tuple[Any, float]] = {}
    for block in _BLOCKS:
        found |= block
    return [
        Record(
            (name, tuple(args)),
            str(target),
            ConfigEntity(config.settings),
            (max(seconds, 1e-12),),
            verified=True,
            origin="autotvm",
            code=VERSION,
            schedules=schedules_digest(),
        )
        for (name, args), (config, seconds) in found.items()
        if tasks.is_of_group((name, args))
    ]
