"""Run passes by name over a file of Relay text, and print the result."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvmlite.commands import common
from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError
from tvmlite.core.pipeline import Pipeline, Times
from tvmlite.machine.target import Target
from tvmlite.relay import passes
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.text.parser import parse

NAME = "opt"
HELP = "run passes over Relay text"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("graph", type=Path, help="a file of Relay text")
    parser.add_argument("-p", "--passes", default="", help="names separated by commas, run in order")
    parser.add_argument(
        "--target", default="native", help="the target that some passes depend on (default: native)"
    )
    common.constants_option(parser)
    parser.add_argument("--times", action="store_true", help="print the time of each pass")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    files.readable(options.graph, "graph", "tvmlite show model.onnx > graph.relay writes one")
    try:
        text = options.graph.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{options.graph} is not Relay text: it is not UTF-8 ({error.reason})") from error
    module = parse(text, str(options.graph))
    table = passes.by_name(Target.parse(options.target))
    wanted = [name for name in options.passes.split(",") if name]
    for name in wanted:
        if name not in table:
            raise InputError(f"no pass {name!r}; there are {', '.join(sorted(table))}")
    times = Times()
    module = Pipeline([table[name] for name in wanted], verify, str).run(module, times)
    common.print_relay(module, options)
    if options.times:
        print(times)
    return 0
