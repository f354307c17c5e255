"""Digests of the source code of this installation, for the keys of caches and for records of measurements.

The code of a kernel depends on every pass, template and table of the package, so a key includes a digest of
all of them: after a pass is edited, kernels are compiled again. Reading the package takes 25 ms, reading the
sizes and times of its files 3 ms, so the cache keeps the files' digests under a key made from those.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tvmlite.core import VERSION
from tvmlite.core.cache import key_of, object_cache

ROOT = Path(__file__).resolve().parent.parent
_IMPORTED = time.time_ns()

_UNSTABLE_SECONDS = 2
"""A file changed less than this ago may change again with the same time stamp: file times are coarse."""

SCHEDULES = ("techniques", "te/schedule", "te/space", "te/templates")
"""The source that defines which schedules exist and what the settings of their knobs mean."""


File: TypeAlias = tuple[str, int, int, int, int]
"""A file's path, size in bytes, times of the last change of content and of status, and inode number."""


@functools.cache
def source_digest(*parts: str) -> str:
    """A hash of all files of the package, or of ``parts`` of it: files and folders, relative to it.

    If a file was changed after this process imported the package, the code that runs may be older than the
    file: the hash is then unique to this process. A part that does not exist fails an assertion.
    """
    files, mark = _package()
    chosen = [name for name in files if not parts or any(_is_in(name, part) for part in parts)]
    assert all(any(_is_in(name, part) for name in chosen) for part in parts), f"{parts} of {ROOT}"
    return key_of("source", VERSION, mark, *(text for name in chosen for text in (name, files[name])))


def _is_in(name: str, part: str) -> bool:
    return name == part or name.startswith(part + "/")


@functools.cache
def _package() -> tuple[Mapping[str, str], str]:
    """The hash of each file of the package by its name, and a mark: unique to this process if a file was
    changed since the import, else empty."""
    files, now = files_below(ROOT), time.time_ns()
    is_changed = any(_IMPORTED < changed <= now for _, _, changed, *_ in files)
    return digests(ROOT, files), f"{os.getpid()} {_IMPORTED}" if is_changed else ""


def digests(root: Path, files: Sequence[File]) -> dict[str, str]:
    """The hash of each of ``files``, by its name relative to ``root``; read from the cache if the sizes and
    times of all files are unchanged."""
    cache = object_cache()
    key = key_of("source files", str(root), json.dumps(files))
    known = None if cache is None else cache.get(key)
    if known is not None:
        return json.loads(known)
    found = {
        os.path.relpath(path, root).replace(os.sep, "/"): hashlib.sha256(Path(path).read_bytes()).hexdigest()
        for path, *_ in files
    }
    newest = max((max(changed, status) for _, _, changed, status, _ in files), default=0)
    if cache is not None and newest < time.time_ns() - _UNSTABLE_SECONDS * 10**9:
        cache.put(key, json.dumps(found).encode())
    return found


def files_below(folder: str | Path) -> list[File]:
    """All files below ``folder`` but byte code and hidden files, sorted by path."""
    found: list[File] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    found += files_below(entry.path)
            elif not entry.name.startswith("."):
                status = entry.stat()
                times = status.st_mtime_ns, status.st_ctime_ns
                found.append((entry.path, status.st_size, *times, status.st_ino))
    return sorted(found)
