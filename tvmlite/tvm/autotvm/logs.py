"""Write and read AutoTVM's logs, version 0.2: lines of JSON. The logs of ``tvmlite.tune`` and ``tvmc tune``
are read as well. Logs are untrusted input: nothing in them is executed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tvmlite.autotune.records.records import Record
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError, ParseError, ScheduleError, UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.te import space
from tvmlite.tvm.autotvm.measure.base import ERRORS, MeasureErrorNo, MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.task.space import ConfigEntity
from tvmlite.tvm.autotvm.task.task import Task

AUTOTVM_LOG_VERSION = 0.2

_OUTDATED_VERSION = 0.1

LONGEST_LINE = 1 << 22
"""The maximum number of characters in a line."""

_DECISION = re.compile(r'\{"v": *\d+, *"decision":')
"""Matches the start of tvmlite's log lines about a graph, which are not about a kernel."""

_FAILED = 1e9
"""The seconds that a log states for a failed measurement."""


class _OutdatedLine(ParseError):
    """A line of AutoTVM's log version 0.1, which TVM no longer reads either."""


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """Return a key of the measured task, with its configuration if ``include_config``."""
    config = str(inp.config) if include_config else ""
    return "".join(map(str, (inp.target, inp.task.name, inp.task.args, inp.task.kwargs, config)))


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """Return one line of a log, without the line break."""
    _require_json(protocol)
    costs = tuple(map(float, result.costs)) if result.error_no == MeasureErrorNo.NO_ERROR else (_FAILED,)
    fields = {
        "input": (str(inp.target), inp.task.name, inp.task.args, inp.task.kwargs),
        "config": inp.config.to_json_dict(),
        "result": (costs, result.error_no, result.all_cost, result.timestamp),
        "version": AUTOTVM_LOG_VERSION,
        "tvm_version": f"tvmlite {VERSION}",
    }
    return json.dumps(fields)


def decode(row: str, protocol: str = "json") -> tuple[MeasureInput, MeasureResult]:
    """Return the input and the result in a line of a log of AutoTVM or tvmlite. A ParseError says what is
    wrong with a damaged line."""
    _require_json(protocol)
    if len(row) > LONGEST_LINE:
        raise ParseError(
            f"a line of {len(row)} characters, expected at most {LONGEST_LINE}", Span.of_caller()
        )
    try:
        fields = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"a line of a log is no JSON: {str(error)[:80]}", Span.of_caller()) from None
    if isinstance(fields, dict) and fields.get("v") == _OUTDATED_VERSION:
        raise _OutdatedLine(
            f"a line of AutoTVM's version {_OUTDATED_VERSION}, expected {AUTOTVM_LOG_VERSION}",
            Span.of_caller(),
        )
    if isinstance(fields, dict) and "task" in fields:
        return _of_record(Record.from_json(row))
    match fields:
        case {
            "input": [str() as target, str() as name, [*args], dict()],
            "config": dict() as config,
            "result": [[*costs], int() as number, int() | float() as all_cost, int() | float() as when],
            "version": version,
        } if all(isinstance(one, (int, float)) for one in costs) and 0 <= number <= 8:
            pass
        case _:
            raise ParseError(
                "a line is none of AutoTVM's logs: expected input, config, result and version",
                Span.of_caller(),
            )
    if version != AUTOTVM_LOG_VERSION:
        raise ParseError(
            f"a line of AutoTVM's version {str(version)[:20]}, expected {AUTOTVM_LOG_VERSION}",
            Span.of_caller(),
        )
    task = Task(name, _tuples(args))
    task.target = target
    try:
        entity = ConfigEntity.from_json_dict(config)
    except ScheduleError as error:
        raise ParseError(error.message, Span.of_caller()) from None
    return MeasureInput(target, task, entity), MeasureResult(tuple(costs), number, all_cost, when)


def _of_record(record: Record) -> tuple[MeasureInput, MeasureResult]:
    """Convert a record of tvmlite."""
    name, args = record.task
    task = Task(name, space.decode_args(list(args)))
    task.target = record.target
    config = ConfigEntity.of(record.config)
    if record.ok:
        result = MeasureResult(record.costs, MeasureErrorNo.NO_ERROR, sum(record.costs), record.time)
    else:
        result = MeasureResult(
            (_FAILED,), ERRORS.get(record.error, MeasureErrorNo.UNKNOWN_ERROR), 0, record.time
        )
    return MeasureInput(record.target, task, config), result


def load_from_buffer(file: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Yield the records of an open text file in order. Skips lines that begin with ``#`` and decisions about
    graphs, and, with a warning, lines of AutoTVM's version 0.1. A damaged line is a ParseError with the
    line's number."""
    for number, row in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), ""), 1):
        if row.strip() and not row.startswith("#") and not _DECISION.match(row):
            try:
                yield decode(row)
            except _OutdatedLine as error:
                warn(f"{getattr(file, 'name', 'the log')}, line {number}: {error.message}: it is left out")
            except ParseError as error:
                name = getattr(file, "name", "the log")
                raise ParseError(f"{name}, line {number}: {error.message}", Span.of_caller()) from None


def load_from_file(filepath: Any) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Yield the records of the file ``filepath`` like ``load_from_buffer``; an InputError if it is
    unreadable."""
    path = Path(os.fsdecode(filepath))
    try:
        with open(path, encoding="utf-8") as file:
            yield from load_from_buffer(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"log {str(path)!r} cannot be read: {getattr(error, 'strerror', error)}") from None


def clean_json_to_python(x: Any) -> Any:
    """Return ``x`` with its lists replaced by tuples, so that it is hashable."""
    return _tuples(x) if isinstance(x, list) else x


def _tuples(x: list[Any]) -> tuple[Any, ...]:
    return tuple(map(clean_json_to_python, x))


def _require_json(protocol: str) -> None:
    if protocol == "pickle":
        raise UnsupportedError(
            "protocol 'pickle': a pickle can run anything when it is read",
            Span.of_caller(),
            "protocol='json'",
        )
    if protocol != "json":
        raise InputError(f"protocol is {protocol!r}, expected 'json'")
