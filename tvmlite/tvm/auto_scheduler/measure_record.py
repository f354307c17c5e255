"""Read and write files of records as measurement inputs and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tvmlite.autotune.records.records import Record, schedules_digest
from tvmlite.core import VERSION
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import space
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler import step_log
from tvmlite.tvm.auto_scheduler.measure import MeasureInput, MeasureResult
from tvmlite.tvm.auto_scheduler.measure import RecordToFile as RecordToFile
from tvmlite.tvm.auto_scheduler.records import fastest, load
from tvmlite.tvm.auto_scheduler.search_task import SearchTask, measured
from tvmlite.tvm.auto_scheduler.step_log import StepRecord
from tvmlite.tvm.auto_scheduler.steps import Step, replay
from tvmlite.tvm.autotvm import targets


class RecordReader:
    """Reads the file ``filename``: records of tvmlite's searches and of TVM's own auto-scheduler."""

    def __init__(self, filename: Any) -> None:
        self.filename = filename

    def read_lines(
        self, max_lines: int | None = None, skip_lines: int = 0
    ) -> tuple[list[MeasureInput], list[MeasureResult]]:
        """Return the inputs and results of up to ``max_lines`` records after the first ``skip_lines``."""
        pairs = list(self)[skip_lines:][:max_lines]
        return [inp for inp, _ in pairs], [res for _, res in pairs]

    def __iter__(self) -> Iterator[tuple[MeasureInput, MeasureResult]]:
        """Yield the input and result of each record: those of tvmlite's searches first, then TVM's."""
        tasks: dict[str, SearchTask] = {}
        for one in load(self.filename):
            if one.task_key not in tasks:
                tasks[one.task_key] = _task_of(one)
            yield measured(tasks[one.task_key], one)
        yield from map(_replayed, step_log.read(self.filename))


def load_records(filename: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Iterate over the records of a file, in the order of ``RecordReader``."""
    return iter(RecordReader(filename))


def load_best_record(
    filename: Any, workload_key: str | None = None, target: Any = None, include_compatible: bool = False
) -> tuple[MeasureInput | None, MeasureResult | None]:
    """Return the fastest record of a file, of the task ``workload_key`` if given, or ``(None, None)``."""
    best = [measured(_task_of(one), one) for one in fastest(filename, targets.machine(target)).values()]
    best += [_replayed(one) for one in step_log.read(filename) if not one.error_no]
    known = [pair for pair in best if workload_key in (None, pair[0].task.workload_key)]
    return min(known, key=lambda pair: median(pair[1].costs), default=(None, None))


def save_records(filename: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
    """Append records to a file; states made by calling primitives are written in TVM's format. A state that a
    search generated and that was then changed is an UnsupportedError."""
    with open(filename, "a", encoding="utf-8") as file:
        for inp, res in zip(inputs, results, strict=True):
            file.write(dump_record_to_string(inp, res).rstrip("\n") + "\n")


def dump_record_to_string(inp: MeasureInput, res: MeasureResult) -> str:
    """Return a record as a line of a file. The errors are those of ``save_records``."""
    return _record(inp, res).to_json()


def load_record_from_string(record: str) -> tuple[MeasureInput, MeasureResult]:
    """Return the input and the result in a line of a file."""
    if step_log.is_step_line(record):
        return _replayed(StepRecord.from_json(record))
    one = Record.from_json(record)
    return measured(_task_of(one), one)


def _replayed(record: StepRecord) -> tuple[MeasureInput, MeasureResult]:
    """Return the input and the result of a record of steps; its workload must be registered."""
    task = SearchTask(
        workload_key=record.workload_key, target=record.target, target_host=record.target_host or None
    )
    state = replay(task.compute_dag.get_init_state(), record.steps)
    result = MeasureResult(record.costs, record.error_no, "", record.all_cost, record.timestamp)
    return MeasureInput(task, state), result


def _task_of(record: Record) -> SearchTask:
    name, args = record.task
    return SearchTask(
        core=space.create(name, space.decode_args(list(args)), record.target), target=record.target
    )


def _record(inp: MeasureInput, res: MeasureResult) -> Record | StepRecord:
    if inp.state.config is None:
        made = inp.state.transform_steps
        if not all(isinstance(one, Step) for one in made):
            raise UnsupportedError(
                "auto_scheduler: a state that a search gave, and that was changed by hand, has no record",
                Span.of_caller(),
                hint="records are of states that a search gave, or of primitives called by hand alone",
            )
        steps = [one.row() for one in made]
        costs, (target, host) = tuple(map(float, res.costs)), inp.task.targets_as_text()
        known = inp.task.workload_key, target, host, steps
        return StepRecord(*known, costs, res.error_no, res.all_cost, res.timestamp)
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
