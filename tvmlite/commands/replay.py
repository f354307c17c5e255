"""Rebuild the kernel of a record from its line alone, check it, time it, and show it."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvmlite.autotune.measure import LocalRunner, Outcome
from tvmlite.autotune.measure.build import Builder, reference
from tvmlite.autotune.records.records import Record
from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.driver import build as build_function
from tvmlite.machine.cores import processors
from tvmlite.machine.target import Target
from tvmlite.model.artifact import FORMS
from tvmlite.relay.entry import tasks  # noqa: F401  (registers fused groups as tasks)
from tvmlite.runtime import timing
from tvmlite.te.space import create

NAME = "replay"
HELP = "rebuild the kernel of a record"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("line", help="a record's line, or a file of records and a number: tune.jsonl:12")
    common.thread_option(parser, default="as many as in the record")
    parser.add_argument("--target", help="default: the record's")
    parser.add_argument("--form", choices=FORMS, help="print the kernel in this form")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    common.set_threads(options)
    record = Record.from_json(_line(options.line))
    target = Target.parse(options.target or record.target)
    task = create(record.task[0], record.task[1], target)
    default = task.default
    is_default = record.config.settings == default.settings
    config = default if is_default else task.config_space.own(record.config)
    if config is None:
        raise InputError(f"the record's configuration ({record.config}) is not of the space of {task.name}")
    if options.form is not None:
        schedule, args = task.instantiate(config)
        print(build_function(schedule, args, target).source(options.form))
        return 0
    print(f"{task.name}: {config}")
    builder = Builder(task)
    built, plain = builder.built(config), builder.built(default)
    if isinstance(built, Outcome) or isinstance(plain, Outcome):
        failed = built if isinstance(built, Outcome) else plain
        assert isinstance(failed, Outcome)
        raise ExecutionError(f"the kernel cannot be built: {failed.error}: {failed.message}")
    threads = options.threads or min(max(record.threads, 1), processors())
    with LocalRunner(threads=threads, budget=0.1) as runner:
        runner.prepare(task.key, reference(task), record.seed)
        outcomes = runner.compare(task.key, [built, plain])
    for name, outcome in zip(("replayed", "default"), outcomes, strict=True):
        if outcome.error:
            raise ExecutionError(f"{name}: {outcome.error}: {outcome.message}")
        seconds = timing.median(sorted(outcome.costs))
        low, high = timing.interval(sorted(outcome.costs))
        rate = task.flop / seconds / 1e9
        print(f"{name:9} {seconds * 1e6:10.2f} us [{low * 1e6:.2f}, {high * 1e6:.2f}]  {rate:.1f} GFLOP/s")
    recorded = f"{record.cost * 1e6:10.2f} us" if record.ok else f"{record.error}: {record.message}"
    print(f"{'recorded':9} {recorded}")
    return 0


def _line(given: str) -> str:
    """``given`` itself if it is a line, otherwise the line that ``FILE:NUMBER`` names."""
    if given.lstrip().startswith("{"):
        return given
    name, _, number = given.rpartition(":")
    if not name or not number.isdecimal():
        raise InputError(f"replay: {given[:80]!r} given, expected a record's line or FILE:NUMBER")
    lines = (
        files.readable(Path(name), "records", files.HOW_RECORDS)
        .read_text(encoding="utf-8", errors="replace")
        .splitlines()
    )
    if not 1 <= int(number) <= len(lines):
        raise InputError(f"replay: {name} has {len(lines)} lines, none is number {number}")
    return lines[int(number) - 1]
