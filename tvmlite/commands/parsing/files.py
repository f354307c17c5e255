"""Checks of files named on a command line, before work that may take an hour."""

from __future__ import annotations

import os
from pathlib import Path

from tvmlite.core.errors import InputError

HOW_RECORDS = "tvmlite tune model.onnx -o tune.jsonl writes one"
"""The hint if records do not exist."""


def readable(path: Path, what: str, hint: str | None = None) -> Path:
    """Return ``path``; an InputError if it is not a readable file. ``what`` names it in the error, such as
    ``--inputs``; ``hint`` says how to make it if it does not exist."""
    if os.path.isdir(path):
        raise InputError(f"{what} {path}: a folder, expected a file")
    if not os.path.exists(path):
        raise InputError(f"{what} {path}: there is no such file", hint=hint)
    if not os.access(path, os.R_OK):
        raise InputError(f"{what} {path}: no permission to read it")
    return path


def writable(path: Path | None, what: str) -> None:
    """Raise an InputError if a file ``path`` cannot be written; ``what`` names it, such as ``--outputs``."""
    if path is None:
        return
    folder = path.parent
    if os.path.isdir(path):
        raise InputError(f"{what} {path}: a folder, expected a file")
    if not os.path.exists(folder):
        raise InputError(f"{what} {path}: there is no folder {folder}", hint=f"mkdir -p {folder}")
    if not os.path.isdir(folder):
        raise InputError(f"{what} {path}: {folder} is not a folder")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise InputError(f"{what} {path}: no permission to write it")
