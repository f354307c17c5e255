"""The pages of the command line and of environment variables, from the parsers and ``core/config.py``."""

from __future__ import annotations

import argparse
import inspect
import os
import re
from typing import Any

from reference_text import heading, literal, table

COLUMNS = "96"
"""The width of the usage that argparse prints, which asks the environment for it."""


def commands_page() -> str:
    """Every command with its usage and its options."""
    from tvmlite import cli

    text = heading("The command line")
    text += (
        "``tvmlite COMMAND --help`` prints the same. :doc:`The command </command_line>` has examples, the "
        "options that many commands share, and what the exit status means.\n\n"
    )
    parser = cli.parser()
    commands = _commands(parser)
    helps = {module.NAME: module.HELP for module in cli.COMMANDS}
    rows = [(f":ref:`tvmlite {name} <command-{name}>`", helps[name]) for name in commands]
    text += table(rows, ("command", "what it does"))
    for name, one in commands.items():
        text += f".. _command-{name}:\n\n" + heading(f"tvmlite {name}", "-")
        text += " ".join((one.description or "").split()) + "\n\n"
        text += ".. code-block:: text\n\n" + _indented(_usage(one)) + "\n\n"
        options = [action for action in one._actions if action.help != argparse.SUPPRESS]
        text += table([_option(one, action) for action in options], ("option", "meaning"))
    return text


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found.choices)


def _usage(parser: argparse.ArgumentParser) -> str:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        return "\n".join(line[len("usage: ") :] for line in parser.format_usage().rstrip().splitlines())
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _indented(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str]:
    """How an option is written, and its help."""
    formatter: Any = parser._get_formatter()
    if action.option_strings:
        value = "" if action.nargs == 0 else f" {formatter._format_args(action, action.dest.upper())}"
        written = ", ".join(f"``{name}{value}``" for name in action.option_strings)
    else:
        written = literal(formatter._format_args(action, action.metavar or action.dest))
    meaning = " ".join(formatter._expand_help(action).split()) if action.help else ""
    return written, _escaped(meaning)


def _escaped(text: str) -> str:
    """``text`` with options and strings in it as literals, and no other markup."""
    parts = re.split(r'((?<![^\s(])(?:--[a-z][\w-]*|"[^"]+")(?=[\s,.;:)]|$))', text)
    plain = [re.sub(r"([\\*`|_])", r"\\\1", part) for part in parts]
    return "".join(f"``{part}``" if number % 2 else plain[number] for number, part in enumerate(parts))


def variables_page() -> str:
    """Every environment variable: the table of the module that reads them."""
    from tvmlite.core import config

    _, rule, rows = inspect.cleandoc(config.__doc__ or "").partition("=====")
    about = "They are read when they are needed; an unusable value is a ``ConfigError``.\n\n"
    return heading("Environment variables") + about + rule + rows + "\n"
