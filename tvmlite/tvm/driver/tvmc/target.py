"""Targets on a command line: comma-separated lists of targets, and options for each part."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.machine import target as machine
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.target.described import KEYS
from tvmlite.tvm.target.target import Target

Options = Mapping[str, Mapping[str, Any]]
"""Options of targets, by kind and option name: ``{"llvm": {"num-cores": 2}}``."""

_ATTRIBUTES = {
    "llvm": "mcpu mattr mtriple num-cores device keys libs mabi mfloat-abi model tag opt-level jit",
    "c": "mcpu march device keys libs model tag",
}
"""The options of each kind of target: ``--target-llvm-mcpu NAME``."""

_TOKEN = re.compile(r"""[^\s,=]+=(?:'[^']*'|"[^"]*"|[^\s,]+(?:,[^\s,]+)*)|[^\s,]+|,""")


def tokenize_target(target: str) -> list[str]:
    """Split ``target`` into tokens: names, options with their values, and the commas between targets. Commas
    inside a value, as in ``-mattr=+a,+b``, belong to it, as do blanks if it is quoted."""
    return _TOKEN.findall(target)


def parse_target(target: str) -> list[dict[str, Any]]:
    """Parse the targets in ``target``. Each is a dict of its ``name``, its ``opts`` by name (True for a flag
    ``--x``), its ``raw`` text, and whether it is one of TVM's own kinds (``is_tvm_target``)."""
    parts: list[list[str]] = [[]]
    for token in tokenize_target(target):
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    if not all(parts):
        raise InputError(f"--target is {target!r}, expected names of targets with commas between them")
    return [
        {
            "name": name,
            "opts": dict(map(_option, words)),
            "raw": " ".join([name, *words]),
            "is_tvm_target": name in Target.list_kinds() or name in KEYS,
        }
        for name, *words in parts
    ]


def _option(word: str) -> tuple[str, Any]:
    """Return the name and the value of ``-name=value`` or of a flag ``--name``."""
    name, is_given, value = word.lstrip("-").partition("=")
    if not is_given and not word.startswith("--"):
        raise InputError(f"--target: option {word!r} has no value", hint=f"-{name}=VALUE")
    return name, value.strip("'\"") if is_given else True


def target_from_cli(
    target: str, additional_target_options: Options | None = None
) -> tuple[Target, list[dict[str, Any]]]:
    """Parse ``target``: the path of a file with a target, JSON, or target names with options. If there are
    two of TVM's targets, the second is the host. The targets before them are for other compilers and are
    returned as a list of ``parse_target``'s dicts. ``additional_target_options`` are further options of the
    targets."""
    if Path(target).is_file():
        target = Path(target).read_text(encoding="utf-8")
    if target.lstrip().startswith("{"):
        return Target(target), []
    parsed = parse_target(target)
    _check(parsed, additional_target_options or {})
    for one in parsed:
        one["opts"].update((additional_target_options or {}).get(one["name"], {}))
    host = _written(parsed[-2]) if len(parsed) > 1 and parsed[-2]["is_tvm_target"] else None
    if host is None:
        return Target(_written(parsed[-1])), parsed[:-1]
    return Target(host, _written(parsed[-1])), parsed[:-2]


def _check(parsed: list[dict[str, Any]], options: Options) -> None:
    """Raise an InputError for duplicate targets, too many, or ``options`` of one that is missing."""
    names = [one["name"] for one in parsed]
    if len(names) > len(set(names)):
        raise InputError(f"--target has a target twice: {', '.join(names)}")
    own = [one["name"] for one in parsed if one["is_tvm_target"]]
    if len(own) > 2:
        raise InputError(f"--target has {', '.join(own)}, expected one, or one and its host")
    for kind, given in options.items():
        if given and kind not in names:
            option = next(iter(given))
            raise InputError(f"Passed --target-{kind}-{option} but did not specify {kind} target")


def _written(part: Mapping[str, Any]) -> str:
    words = [f"-{name}={int(value) if value is True else value}" for name, value in part["opts"].items()]
    return " ".join([part["name"], *words])


def machine_of(target: Any, additional_target_options: Options | None = None) -> machine.Target:
    """Return the machine that ``target``, a string or a target, describes; an UnsupportedError if a part of
    it is for another compiler."""
    if not isinstance(target, str):
        return targets.machine(target)
    made, others = target_from_cli(target, additional_target_options)
    if others:
        names = ", ".join(one["name"] for one in others)
        raise UnsupportedError(
            f"--target has {names}, code of another compiler", Span.of_caller(), "leave it out"
        )
    return targets.machine(made)


def generate_target_args(parser: argparse.ArgumentParser) -> None:
    """Add ``--target`` to ``parser``, and the options of each kind of target."""
    parser.add_argument("--target", default="llvm", help="what to compile for (default: llvm)")
    for kind, attributes in _ATTRIBUTES.items():
        for one in attributes.split():
            parser.add_argument(f"--target-{kind}-{one}", metavar="VALUE", help=f"-{one} of the target")


def reconstruct_target_args(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the given options of targets, by kind and option name."""
    found: dict[str, dict[str, Any]] = {}
    for kind, attributes in _ATTRIBUTES.items():
        for one in attributes.split():
            value = getattr(args, f"target_{kind}_{one.replace('-', '_')}")
            if value is not None:
                found.setdefault(kind, {})[one] = value
    return found


__getattr__ = refusing(__name__)
