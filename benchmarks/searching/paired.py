"""Candidates timed in turns with the default of their task, so that it is known how much quicker each is."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from tvmlite.autotune import LocalRunner
from tvmlite.autotune.measure import Candidate
from tvmlite.autotune.measure.build import Builder, reference
from tvmlite.autotune.records import records as rec
from tvmlite.core.version import VERSION
from tvmlite.te.space import ConfigEntity, Task, encode_args

BATCH = 7
"""Candidates that take turns with the default."""

BUDGET = 0.004
"""Seconds of each of the seven turns of a candidate."""


def compare(
    task: Task, configs: Iterable[ConfigEntity], runner: LocalRunner, path: Path, origin: str
) -> list[rec.Record]:
    """Time ``configs`` in turns with the default, some at a time, and append the records to the file at
    ``path``: of each turn the default's first."""
    builder = Builder(task)
    default = builder.built(task.default)
    if not isinstance(default, Candidate):
        return []
    runner.prepare(task.key, reference(task), 0)
    made = [(config, one) for config in configs if isinstance(one := builder.built(config), Candidate)]
    records: list[rec.Record] = []
    for start in range(0, len(made), BATCH):
        batch = [(task.default, default), *made[start : start + BATCH]]
        outcomes = runner.compare(task.key, [one for _, one in batch])
        records += [
            rec.Record(
                (task.name, tuple(encode_args(task.args))),
                str(task.target),
                config,
                outcome.costs,
                outcome.error,
                outcome.message,
                not outcome.error,
                trial=start // BATCH,
                origin=origin,
                code=VERSION,
                time=round(time.time(), 3),
                threads=runner.threads,
            )
            for (config, _), outcome in zip(batch, outcomes, strict=True)
        ]
    rec.append(path, records)
    return records
