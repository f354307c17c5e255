"""The ``tvmc`` command: compile, run and tune, with the options of TVM 0.11."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite import cli
from tvmlite.commands.parsing.parser import Parser
from tvmlite.core import VERSION
from tvmlite.core.errors import InputError
from tvmlite.tvm.driver.tvmc.autotuner import add_tune_parser
from tvmlite.tvm.driver.tvmc.compiler import add_compile_parser
from tvmlite.tvm.driver.tvmc.config_options import convert_config_json_to_cli, read_and_convert_json_into_dict
from tvmlite.tvm.driver.tvmc.runner import add_run_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: those of ``tvmlite``, and 130 on Ctrl-C."""
    reader = Parser(prog="tvmc", add_help=False, allow_abbrev=False)
    reader.add_argument("--config", type=_values, default=())
    given, words = reader.parse_known_args(argv)
    try:
        return cli.run_command(parser(given.config), words)
    except KeyboardInterrupt:
        print("tvmc: interrupted", file=sys.stderr)
        return 130


_main = main
"""TVM's name of ``main``."""


def parser(json_params: Sequence[Mapping[str, Any]] = ()) -> Parser:
    """Return the parser of all commands; ``json_params``, dicts of values by option name, are defaults."""
    made = Parser(prog="tvmc", description="TVM's compiler driver over tvmlite: ONNX models to CPU code.")
    made.add_argument("--version", action="version", version=f"tvmc of tvmlite {VERSION}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    adders = (add_compile_parser, add_run_parser, add_tune_parser)
    every = [made, *(add(commands, made, json_params) for add in adders)]
    for one in every:
        one.add_argument("--config", metavar="FILE", help="JSON with values of options, by their names")
        one.add_argument("-v", "--verbose", action="count", default=0, help="no effect")
    known = {action.dest for one in every for action in one._actions}
    for name in (name for one in json_params for name in one):
        if name not in known:
            made.error(f"--config has {name!r}, which is no option of any command")
    return made


def _values(config: str) -> list[dict[str, Any]]:
    """Return the option values in the file ``config`` under argparse's names."""
    try:
        return convert_config_json_to_cli(read_and_convert_json_into_dict(argparse.Namespace(config=config)))
    except InputError as error:
        raise argparse.ArgumentTypeError(error.message) from error
