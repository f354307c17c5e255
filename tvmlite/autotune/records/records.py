"""Records: a line of JSON for each measurement, in a file that survives crashes and concurrent writers."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvmlite import core
from tvmlite.autotune.records import autotvm_log, decision_records, fields
from tvmlite.autotune.records.decision_records import DecisionRecord
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, ParseError, ScheduleError
from tvmlite.core.source_digest import SCHEDULES, source_digest
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.runtime import timing
from tvmlite.te.space import ConfigEntity

LONGEST_LINE = 1 << 20
"""The most bytes of a line that are read; a record has a few hundred."""

ERRORS = ("", "schedule", "compile", "timeout", "crash", "memory", "wrong answer", "refused")
"""The ways a candidate can fail; empty if it ran and was right."""


FINAL = "final"
"""The origin of records of candidates that were timed interleaved: those can be compared, times of trials
hardly."""

DEFAULT_MISSING = "a comparison lacks the default's record, which may have won: skipped"
"""The message if ``winner`` finds none."""

COMPARISON_SECONDS = 0.5
"""The most seconds between two records of a comparison; measuring one takes longer."""


def schedules_digest() -> str:
    """Return a short hash of the code that determines the schedules and the meaning of their knobs."""
    return source_digest(*SCHEDULES)[:16]


@dataclass(frozen=True)
class Record:
    """One candidate and its measurement.

    ``task`` is the name and the arguments in JSON's types, ``target`` the machine as a target string.
    ``costs`` are the seconds of one call in each run (none if there is an ``error``, one of ``ERRORS``,
    explained in ``message``). ``verified`` is whether its results were checked against the reference,
    ``trial`` its number in the run with ``seed``, ``origin`` the tuner that proposed it, ``time`` when it was
    made, seconds since 1970. ``threads`` is the number of threads it was timed with, 0 if unknown,
    ``schedules`` the digest of the code of schedules that it was made with (``schedules_digest``), empty if
    unknown.
    """

    task: tuple[str, tuple[Any, ...]]
    target: str
    config: ConfigEntity
    costs: tuple[float, ...] = ()
    error: str = ""
    message: str = ""
    verified: bool = False
    seed: int = 0
    trial: int = 0
    origin: str = ""
    code: str = ""
    time: float = 0.0
    threads: int = 0
    trace: tuple[str, ...] = field(default=(), compare=False)
    schedules: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        match self.task:
            case (str(), tuple()):
                pass
            case other:
                raise arguments.refused("Record: task", other, "a name and a tuple of arguments", InputError)
        arguments.text("Record: target", self.target, InputError)
        arguments.instance("Record: config", self.config, ConfigEntity, "a ConfigEntity", InputError)
        for cost in arguments.listed("Record: costs", self.costs, "seconds", InputError):
            arguments.number("Record: costs", cost, InputError)

    @property
    def ok(self) -> bool:
        """Whether the candidate may be used: it ran, and its answer was right."""
        return not self.error and self.verified and bool(self.costs)

    @property
    def cost(self) -> float:
        """The median seconds of a call; infinity if there is none."""
        return timing.median(sorted(self.costs)) if self.costs else math.inf

    @property
    def is_current(self) -> bool:
        """Whether the record is of this version, or AutoTVM's, whose templates have the same knobs always."""
        return self.code == core.VERSION or self.origin == autotvm_log.ORIGIN

    @property
    def is_stale(self) -> bool:
        """Whether the code of schedules has changed since the record was made."""
        return bool(self.schedules) and self.schedules != schedules_digest()

    @property
    def task_key(self) -> str:
        """As ``Task.key``."""
        return json.dumps([self.task[0], list(self.task[1])])

    def to_json(self) -> str:
        """Return one line, without its end; ``from_json`` reads it."""
        return fields.line(vars(self))

    @staticmethod
    def from_json(text: str) -> Record:
        """Read a line of ``to_json``, or one of AutoTVM's; a ParseError explains what is wrong otherwise.

        Nothing in a line is executed: knobs are numbers and words, and a template is found by its name.
        """
        found = _read(arguments.text("from_json: text", text, InputError))
        if isinstance(found, DecisionRecord):
            raise ParseError("a decision about a graph, which has no kernel of its own")
        return found


_FIELDS: dict[str, Any] = {
    "task": list,
    "target": str,
    "config": dict,
    "costs": list,
    "error": str,
    "message": str,
    "verified": bool,
    "seed": int,
    "trial": int,
    "origin": str,
    "code": str,
    "time": (int, float),
    "threads": int,
    "trace": list,
    "schedules": str,
}

_LATER: dict[str, Any] = {"threads": 0, "schedules": ""}
"""Fields that the first version of records did not have, with their values for such records."""


@dataclass(frozen=True)
class Damage:
    """A line that is not a record: its number, from 1, and what is wrong with it."""

    line: int
    reason: str


@dataclass(frozen=True)
class Records:
    """The records of a file, in order, its damaged lines, and the decisions about graphs."""

    records: tuple[Record, ...]
    damages: tuple[Damage, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()

    @staticmethod
    def of(given: Iterable[Record | DecisionRecord]) -> Records:
        """Collect records that come from no file."""
        if not isinstance(given, Iterable):
            raise arguments.refused("records", given, "records or a file of them", InputError)
        given = arguments.all_instances("records", given, (Record, DecisionRecord), "a record", InputError)
        return Records(
            tuple(one for one in given if isinstance(one, Record)),
            decisions=tuple(one for one in given if isinstance(one, DecisionRecord)),
        )

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


def append(path: str | Path, records: Iterable[Record | DecisionRecord]) -> None:
    """Add ``records`` to the file at ``path``, which is created if it does not exist.

    All lines are appended in one write, so that those of two processes do not mix. A line that a crash cut
    short is closed first. The records are on disk when this returns.
    """
    text = "".join(record.to_json() + "\n" for record in records)
    if not text:
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except (OSError, ValueError) as error:  # a ValueError for a path with a zero byte
        raise InputError(
            f"records {str(path)!r} cannot be written: {getattr(error, 'strerror', error)}"
        ) from None
    try:
        size = os.fstat(descriptor).st_size
        cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (b"\n" if cut else b"") + text.encode()
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load(path: str | Path) -> Records:
    """Read the records in the file at ``path``; an InputError if it cannot be read.

    A damaged line is skipped and reported in ``damages``.
    """
    records: list[Record] = []
    damages: list[Damage] = []
    decisions: list[DecisionRecord] = []
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(_lines(file), 1):
                try:
                    text = line.decode("utf-8").strip()
                    if not text:
                        continue
                    found = _read(text)
                    if isinstance(found, DecisionRecord):
                        decisions.append(found)
                    else:
                        records.append(found)
                except UnicodeDecodeError:
                    damages.append(Damage(number, "not UTF-8 text"))
                except ParseError as error:
                    damages.append(Damage(number, error.message))
    except (OSError, ValueError) as error:
        raise InputError(
            f"records {str(path)!r} cannot be read: {getattr(error, 'strerror', error)}"
        ) from None
    return Records(tuple(records), tuple(damages), tuple(decisions))


def current(records: Iterable[Record], target: Target, threads: int | None = None) -> list[Record]:
    """Select the records of the machine ``target`` that this version made with ``threads`` threads, any
    number if None, or that AutoTVM made, which does not record it. Failed ones are included."""
    here = [record for record in records if record.target == str(target) and record.is_current]
    return [record for record in here if threads is None or record.threads in (0, threads)]


def unusable(loaded: Records, target: Target) -> list[str]:
    """Return a sentence for each reason why records of ``loaded`` are unusable or doubtful for this version
    on ``target``."""
    notes = []
    if loaded.damages:
        first = loaded.damages[0]
        notes.append(f"{len(loaded.damages)} lines are not records; line {first.line}: {first.reason}")
    everything = (*loaded.records, *loaded.decisions)
    foreign = [r.target for r in everything if r.target != str(target)]
    if foreign:
        note = fields.shortened(f"{len(foreign)} records are of another machine, the first {min(foreign)!r}")
        notes.append(f"{note}: skipped")
    old = [r.code for r in loaded if not r.is_current]
    old += [d.code for d in loaded.decisions if d.code != core.VERSION]
    if old:
        first_old = fields.shortened(repr(min(old)))
        note = f"{len(old)} records are of another version, the first {first_old}, not {core.VERSION}"
        notes.append(f"{note}: skipped")
    stale = sum(one.is_stale for one in current(loaded, target))
    if stale:
        notes.append(
            f"{stale} records are stale, the code of schedules has changed since: used, but tune again to "
            "measure it as it is now"
        )
    return notes


def best(records: Iterable[Record], target: Target) -> dict[str, Record]:
    """The record to use for each task, by ``task_key``.

    This is the winner of the last comparison (origin ``FINAL``; its first record wins) if there was one: a
    lucky time of a single trial does not beat times that were interleaved. Otherwise it is the fastest, the
    first of equals. Records of another version do not count: its spaces and its code may differ.
    """
    found: dict[str, Record] = {}
    records = current(records, target)
    for record in records:
        known = found.get(record.task_key)
        if record.ok and (known is None or record.cost < known.cost):
            found[record.task_key] = record
    return found | {key: block[0] for key, block in comparisons(records).items()}


def comparisons(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The last comparison of each task, by ``task_key``: the winner's record first, failed ones last.

    A comparison in which nothing could be timed does not count. Its records are adjacent in the file and made
    at one time, in the same run after the same number of trials; a configuration that occurs a second time
    begins another comparison.
    """
    found: dict[str, list[Record]] = {}
    block: list[Record] = []
    for record in records:
        if record.origin != FINAL:
            block = []
        elif block and _are_of_one_comparison(block[-1], record) and not is_among(record.config, block):
            block.append(record)
        else:
            block = [record]
        if block and record.ok:
            found[record.task_key] = block
    return {key: sorted(block, key=lambda one: not one.ok) for key, block in found.items()}


def winner(block: Sequence[Record], default: ConfigEntity) -> Record | None:
    """The winner's record of a comparison that includes ``default``, even if the default failed; None if it
    does not: if a line of the file is damaged, the first record may have lost."""
    return block[0] if is_among(default, block) else None


def is_among(config: ConfigEntity, records: Iterable[Record]) -> bool:
    """Whether one of ``records`` is of ``config``."""
    return any(record.config.settings == config.settings for record in records)


def _are_of_one_comparison(one: Record, next_one: Record) -> bool:
    """Whether two consecutive records belong to one comparison: in older files their times differ a
    little."""
    is_same_run = (one.task, one.seed, one.trial) == (next_one.task, next_one.seed, next_one.trial)
    return is_same_run and abs(one.time - next_one.time) < COMPARISON_SECONDS


def _lines(file: Any) -> Iterator[bytes]:
    """The lines of ``file``; of one that is too long only the beginning, which is not a valid record."""
    while line := file.readline(LONGEST_LINE):
        whole = line
        while not line.endswith(b"\n") and (line := file.readline(LONGEST_LINE)):
            pass
        yield whole


def _read(text: str) -> Record | DecisionRecord:
    """Parse the line ``text``; a ParseError explains in a few words why it is damaged."""
    try:
        found = fields.parsed(text)
        if decision_records.is_line(found):
            return decision_records.decoded(found)
        made = Record(**autotvm_log.decode(found)) if autotvm_log.is_line(found) else _decoded(found)
        if not made.error and not made.ok:
            raise ParseError("it has neither an error nor costs with a verified answer")
        return made
    except ParseError as error:
        raise ParseError(fields.shortened(error.message), Span.of_caller()) from None


def _decoded(found: Any) -> Record:
    """Return the record in the fields ``found``."""
    values = fields.checked(found, "record", _FIELDS, _LATER)
    match values["task"]:
        case [str() as name, [*args]]:
            values["task"] = (name, tuple(args))
        case other:
            raise ParseError(f"task is {other!r}, expected a name and arguments")
    if values["threads"] < 0:
        raise ParseError(f"threads is {values['threads']}, expected 0 or more")
    if values["error"] not in ERRORS:
        raise ParseError(f"error is {values['error']!r}, expected one of {', '.join(filter(None, ERRORS))}")
    if not all(isinstance(step, str) for step in values["trace"]):
        raise ParseError("trace is not a list of lines")
    values |= {"costs": tuple(map(fields.seconds, values["costs"])), "trace": tuple(values["trace"])}
    try:
        values |= {
            "config": ConfigEntity.from_json_dict(values["config"]),
            "time": fields.time(values["time"]),
        }
    except ScheduleError as error:
        raise ParseError(error.message) from None
    return Record(**values)
