"""Files of options, in JSON, in place of words on a command line: ``tvmc compile --config FILE``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvmlite.commands.parsing import files
from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing

DEFAULT = "default"
"""The name of no file."""

CONFIGS_JSON_DIR: str | None = None
"""The folder of such files, before the one that the environment names."""


def get_configs_json_dir() -> str | None:
    """The folder of files of options: ``CONFIGS_JSON_DIR``, or what the environment variable
    ``TVM_CONFIGS_JSON_DIR`` names; None if there is none."""
    given = CONFIGS_JSON_DIR or os.environ.get("TVM_CONFIGS_JSON_DIR", "")
    return given if os.path.isdir(given) else None


def read_and_convert_json_into_dict(config_args: argparse.Namespace) -> dict[str, Any]:
    """The options in the file ``config_args.config``, which may be named without its ending, and stand in
    ``get_configs_json_dir()`` or below it; none for ``"default"``. An InputError if it is not there, or is no
    table in JSON."""
    name = str(config_args.config).strip()
    if name == DEFAULT:
        return {}
    path = Path(name if name.endswith(".json") else f"{name}.json")
    folder = get_configs_json_dir()
    if not path.is_file() and folder is not None:
        path = next(iter(sorted(Path(folder).rglob(path.name))), path)
    text = files.readable(path, "--config").read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"--config {path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"--config {path} has a {type(found).__name__}, expected options by their names")
    return found


def convert_config_json_to_cli(json_params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The values of options that ``json_params`` says, by the names that ``argparse`` gives them.

    ``targets`` is a list of targets, each a table of its ``kind`` and options; ``executor`` and ``runtime``
    are such tables; a table of another option, as of ``pass-config``, is a list of ``name=value``.
    """
    found: list[dict[str, Any]] = []
    for name, value in json_params.items():
        key = name.replace("-", "_")
        if name == "targets":
            several = [_kind(name, one) for one in value]
            for kind, parts in several:
                found += [{f"target_{kind}_{part}": one} for part, one in parts.items()]
            found.append({"target": ", ".join(kind for kind, _ in several)})
        elif name in ("executor", "runtime"):
            kind, parts = _kind(name, value)
            found.append({key: kind})
            found += [{f"{key}_{kind}_{part}".replace("-", "_"): one} for part, one in parts.items()]
        elif isinstance(value, Mapping):
            found.append({key: [f"{part}={one}" for part, one in value.items()]})
        else:
            found.append({key: value})
    return found


def _kind(name: str, value: Any) -> tuple[str, dict[str, Any]]:
    """The kind that a table of options says, and its other options."""
    if not isinstance(value, Mapping) or "kind" not in value:
        raise InputError(f"{name} is {value!r}, expected a table with a kind", hint='{"kind": "llvm"}')
    return str(value["kind"]), {part: one for part, one in value.items() if part != "kind"}


__getattr__ = refusing(__name__)
