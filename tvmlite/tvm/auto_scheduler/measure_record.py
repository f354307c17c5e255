"""Records in files, as inputs and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.records import Record, schedules_digest
from tvmlite.core import VERSION
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import space
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.measure import MeasureInput, MeasureResult
from tvmlite.tvm.auto_scheduler.measure import RecordToFile as RecordToFile
from tvmlite.tvm.auto_scheduler.records import fastest, load
from tvmlite.tvm.auto_scheduler.search_task import SearchTask, measured
from tvmlite.tvm.autotvm import targets


class RecordReader:
    """Reads the file ``filename``."""

    def __init__(self, filename: Any) -> None:
        self.filename = filename

    def read_lines(
        self, max_lines: int | None = None, skip_lines: int = 0
    ) -> tuple[list[MeasureInput], list[MeasureResult]]:
        """The inputs and results of at most ``max_lines`` records, without the first ``skip_lines``."""
        pairs = list(self)[skip_lines:][:max_lines]
        return [inp for inp, _ in pairs], [res for _, res in pairs]

    def __iter__(self) -> Iterator[tuple[MeasureInput, MeasureResult]]:
        """All records in order, as inputs and results."""
        tasks: dict[str, SearchTask] = {}
        for one in load(self.filename):
            if one.task_key not in tasks:
                tasks[one.task_key] = _task_of(one)
            yield measured(tasks[one.task_key], one)


def load_records(filename: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The records of a file, in order."""
    return iter(RecordReader(filename))


def load_best_record(
    filename: Any, workload_key: str | None = None, target: Any = None, include_compatible: bool = False
) -> tuple[MeasureInput | None, MeasureResult | None]:
    """The fastest record of a file, of the task with that key if one is given; Nones if there is none."""
    best = {one.to_json() for one in fastest(filename, targets.machine(target)).values()}
    pairs = [
        pair
        for pair, one in zip(RecordReader(filename), load(filename), strict=True)
        if one.to_json() in best and workload_key in (None, pair[0].task.workload_key)
    ]
    return min(pairs, key=lambda pair: median(pair[1].costs), default=(None, None))


def save_records(filename: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
    """Add records to a file. An UnsupportedError for a state of plain loops, which has no settings."""
    rec.append(filename, [_record(inp, res) for inp, res in zip(inputs, results, strict=True)])


def dump_record_to_string(inp: MeasureInput, res: MeasureResult) -> str:
    """A record as a line of a file. Errors as of ``save_records``."""
    return _record(inp, res).to_json()


def load_record_from_string(record: str) -> tuple[MeasureInput, MeasureResult]:
    """The input and the result of a line of a file."""
    one = Record.from_json(record)
    return measured(_task_of(one), one)


def _task_of(record: Record) -> SearchTask:
    name, args = record.task
    return SearchTask(
        core=space.create(name, space.decode_args(list(args)), record.target), target=record.target
    )


def _record(inp: MeasureInput, res: MeasureResult) -> Record:
    if inp.state.config is None:
        raise UnsupportedError(
            "auto_scheduler: a state of plain loops, or of primitives called by hand, has no settings, and "
            "there is no record of it",
            Span.of_caller(),
            hint="records are of states that a search gave",
        )
    return Record(
        (inp.task.core.name, tuple(space.encode_args(inp.task.core.args))),
        str(inp.task.core.target),
        inp.state.config,
        tuple(res.costs) if not res.error_no else (),
        error="" if not res.error_no else "crash",
        message=res.error_msg,
        verified=not res.error_no,
        origin="auto_scheduler",
        code=VERSION,
        time=res.timestamp,
        schedules=schedules_digest(),
    )


__getattr__ = refusing(__name__)
