"""Try random computes under random schedules, or random graphs, of open sizes or quantized; print what goes
wrong."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.fuzz.quantized import case as quantized_case
from tvmlite.fuzz.run import case, report
from tvmlite.fuzz.run.run import KINDS, Counts, Finding, fuzz
from tvmlite.fuzz.run.shrink import failure_of, shrink
from tvmlite.fuzz.symbolic import case as symbolic_case

NAME = "fuzz"
HELP = "look for wrong code with random computes and schedules"

BACKENDS = ("llvm", "c")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default=KINDS[0],
        help="computes under random schedules with both code generators, graphs of operators over extents "
        "that are open, at several sizes, or quantized graphs on several processors (default: schedules)",
    )
    parser.add_argument("--seed", type=int, help="decides all cases (default: a fresh one, which is printed)")
    parser.add_argument("--n", type=int, default=300, help="how many cases (default: 300)")
    parser.add_argument("--backend", default="llvm,c", help="code generators to test (default: llvm,c)")
    parser.add_argument("--jobs", type=int, default=2, help="number of worker processes (default: 2)")
    parser.add_argument("--time", help="stop after this long: 60s, 10m, 2h")
    parser.add_argument(
        "--shrink", default="60s", help="time for reducing each failing program (default: 60s)"
    )
    parser.add_argument("--show", type=int, metavar="CASE", help="print this case's program and stop")


def main(options: argparse.Namespace) -> int:
    """Run the command; the status is 1 if anything went wrong, 130 if it was interrupted, after a report of
    what was tried."""
    backends = [name for name in options.backend.split(",") if name]
    for name in backends:
        if name not in BACKENDS:
            raise InputError(f"--backend {name!r}: there are {', '.join(BACKENDS)}")
    for option, value in (("--n", options.n), ("--jobs", options.jobs)):
        if value < 1:
            raise InputError(f"{option} is {value}, expected at least 1")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    if options.show is not None:
        print(_shown(options.kind, seed, options.show))
        return 0
    limit = None if options.time is None else _seconds("--time", options.time)
    patience = _seconds("--shrink", options.shrink)
    with _stopped_by_sigterm():
        print(f"seed {seed}", flush=True)
        counts = fuzz(seed, options.n, backends, options.jobs, limit, _Line(options.n), options.kind)
    _Line.wipe()
    for finding in [] if counts.interrupted else _distinct(counts.findings):
        _report(seed, finding, backends, patience)
    print(report.table(counts) if options.kind == "schedules" else report.families(counts))
    return 130 if counts.interrupted else 1 if counts.findings else 0


def _shown(kind: str, seed: int, index: int) -> str:
    """The program of a case, or its graph and the sizes that it is run at."""
    if kind != "schedules":
        made = (symbolic_case if kind == "symbolic" else quantized_case).make(seed, index)
        return "\n".join((str(made.module), *("# at " + symbolic_case.named(run) for run in made.runs)))
    return case.make(seed, index).program.text()


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Handle SIGTERM (of ``timeout``, for example) like Ctrl-C within the block; only the main thread can."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _seconds(option: str, text: str) -> float:
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    try:
        value = float(number) * units[unit]
    except ValueError:
        value = -1.0
    if value < 0:
        raise InputError(f"{option} is {text!r}, expected a time such as 60s, 10m or 2h")
    return value


def _distinct(findings: list[Finding]) -> list[Finding]:
    """The first finding of each signature, which is shrunk and shown; the others are only counted."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.signature, finding)
    return list(first.values())


def _report(seed: int, finding: Finding, backends: list[str], patience: float) -> None:
    print(f"\ncase {finding.index} of seed {seed}: {finding.signature}: {finding.text}")
    if finding.program is None or finding.is_refusal:
        if finding.program is not None:
            print("\n" + finding.program.text())
        return
    small = shrink(finding.program, finding.signature, backends, patience)
    print(f"\n# {failure_of(small, backends)}\n{small.text()}", flush=True)


class _Line:
    """A progress line on a terminal, and a line for each new finding."""

    def __init__(self, total: int) -> None:
        self.total, self.printed = total, 0

    def __call__(self, counts: Counts) -> None:
        for finding in counts.findings[self.printed :]:
            self.wipe()
            first = finding.text.partition("\n")[0]
            print(f"case {finding.index}: {finding.signature}: {first}", flush=True)
        self.printed = len(counts.findings)
        if sys.stderr.isatty():
            text = f"{counts.cases}/{self.total} cases, {len(counts.findings)} wrong"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    @staticmethod
    def wipe() -> None:
        """Clear the line."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
