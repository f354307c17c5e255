"""Selection of the CPU level of a library that this processor runs, from the library's metadata."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvmlite.core import config
from tvmlite.core.abi.signature import Signature
from tvmlite.core.errors import LibraryError
from tvmlite.machine.features import missing_features

CPU_LEVEL = "cpu_level"
"""The key of the selected level in the metadata of a loaded library."""


def level_rows(path: Path, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The levels in the metadata ``fields`` of the library ``path``, each completed by the common fields; a
    library without levels has one row, whose name is empty. Raises LibraryError if they are damaged."""
    plain = {key: fields[key] for key in ("entry", "target", "features")}
    rows: Any = fields.get("levels", [{"name": ""}])
    try:
        made = [plain | {str(key): value for key, value in row.items()} for row in rows]
        good = bool(made) and all(
            isinstance(row[key], kind)
            for row in made
            for key, kind in (("name", str), ("entry", str), ("target", str), ("features", list))
        )
        good = good and all(isinstance(name, str) for row in made for name in row["features"])
    except (AttributeError, KeyError, TypeError):
        good, made = False, []
    if not good:
        raise LibraryError(f"the metadata of {path} cannot be read: its levels are {rows!r}")
    return made


def select_level(path: Path, fields: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The metadata ``fields`` of the level to run, and the symbol of its entry.

    It is the last level whose instruction sets this processor has, or the one that ``TVMLITE_CPU_LEVEL``
    names. Raises a LibraryError with the missing instruction sets if it cannot run.
    """
    rows = level_rows(path, fields)
    row = _select_row(path, rows)
    own = {key: row[key] for key in ("entry", "target", "features", "kernel_labels") if key in row}
    symbol = row.get("symbol") or Signature.from_json(row["entry"]).name
    return {**fields, **own, CPU_LEVEL: row["name"]}, str(symbol)


def _select_row(path: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = [row["name"] for row in rows]
    wanted = config.cpu_level() if any(names) else None
    if wanted is not None:
        if wanted not in names:
            raise LibraryError(f"TVMLITE_CPU_LEVEL is {wanted!r}, {path} has {', '.join(names)}")
        row = rows[names.index(wanted)]
        if missing := missing_features(row["features"]):
            raise LibraryError(
                f"TVMLITE_CPU_LEVEL is {wanted!r}, for which this processor lacks {', '.join(missing)}"
            )
        return row
    for row in reversed(rows):
        if not missing_features(row["features"]):
            return row
    first = rows[0]
    what = f"{path} was compiled for " + (", ".join(names) if any(names) else repr(first["target"]))
    missing = ", ".join(missing_features(first["features"]))
    even = "even for the first of these this" if len(rows) > 1 else "this"
    raise LibraryError(
        f"{what}; {even} {platform.machine()} processor lacks {missing}",
        hint="compile for this machine: target='native'",
    )
