"""Option files in JSON as an alternative to command-line options: ``tvmc compile --config FILE``."""

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
"""The value of ``--config`` that stands for no file."""

CONFIGS_JSON_DIR: str | None = None
"""The folder of option files; it takes precedence over the environment variable."""


def get_configs_json_dir() -> str | None:
    """Return the folder of option files: ``CONFIGS_JSON_DIR``, or else the one that the environment variable
    ``TVM_CONFIGS_JSON_DIR`` names; None if it does not exist."""
    given = CONFIGS_JSON_DIR or os.environ.get("TVM_CONFIGS_JSON_DIR", "")
    return given if os.path.isdir(given) else None


def read_and_convert_json_into_dict(config_args: argparse.Namespace) -> dict[str, Any]:
    """Return the options in the file ``config_args.config``, an empty dict for ``"default"``. The name may
    omit ``.json``, and the file may be anywhere below ``get_configs_json_dir()``. An InputError if it does
    not exist or is not a JSON object."""
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
    """Return the option values in ``json_params`` under the names that ``argparse`` uses.

    ``targets`` is a list of targets, each an object with its ``kind`` and options; ``executor`` and
    ``runtime`` are such objects. An object for any other option, such as ``pass-config``, becomes a list of
    ``name=value``.
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
    """Return the kind in an object of options, and its other options."""
    if not isinstance(value, Mapping) or "kind" not in value:
        raise InputError(f"{name} is {value!r}, expected a table with a kind", hint='{"kind": "llvm"}')
    return str(value["kind"]), {part: one for part, one in value.items() if part != "kind"}


__getattr__ = refusing(__name__)
