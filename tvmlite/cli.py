"""The ``tvmlite`` command: compile, quantize, run, inspect, tune, replay, bench, show, coverage, opt, doctor,
fuzz, demo."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial

from tvmlite.commands import (
    bench,
    compile_,
    coverage,
    demo,
    doctor,
    fuzz,
    inspect,
    opt,
    quantize,
    replay,
    run,
    show,
    tune,
)
from tvmlite.commands.parsing.parser import Parser
from tvmlite.core import VERSION
from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span

COMMANDS = (compile_, quantize, run, inspect, tune, replay, bench, show, coverage, opt, doctor, fuzz, demo)
"""Each module has ``NAME``, ``HELP``, ``arguments(parser)`` and ``main(options) -> exit status``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of ``tvmlite``; see ``run_command``."""
    return run_command(parser(), argv)


def run_command(commands: Parser, argv: Sequence[str] | None = None) -> int:
    """Run the one of ``commands`` that ``argv`` names; each has set ``command``, its function. The exit
    status is 0 on success, 1 on the user's error, 2 for a wrong command line, 141 when the reader of our
    output has closed it. The caller handles Ctrl-C (``tvmlite.__main__``)."""
    options = commands.parse_whole(argv)
    shown_elsewhere = warnings.showwarning
    start = Span.of_caller()
    try:
        warnings.showwarning = partial(_show_warning, commands.prog)
        status = options.command(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of our output (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except TvmliteError as error:
        ours = error.span is not None and error.span.source == start.source  # the caller's code
        where = None if ours else error.span
        shown = TvmliteError(error.message, where, error.hint)
        print(f"{commands.prog}: {type(error).__name__}: {shown}", file=sys.stderr)
        return 1
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        print(f"{commands.prog}: {place}{error.strerror or error}", file=sys.stderr)
        return 1
    finally:
        warnings.showwarning = shown_elsewhere


def _show_warning(name: str, message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning in one line, without the line of our code that it comes from."""
    print(f"{name}: {message}", file=sys.stderr)


def parser() -> Parser:
    """Return the parser of all commands."""
    made = Parser(
        prog="tvmlite", description="A two-level deep-learning compiler: ONNX models to fast CPU code."
    )
    made.add_argument("--version", action="version", version=f"tvmlite {VERSION}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        one = commands.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        module.arguments(one)
        one.set_defaults(command=module.main, parser=one)
    return made
