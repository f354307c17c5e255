"""Archives of a model: code to link into a program, and its sources, in one tar file.

The folders are those of TVM's model library format: ``metadata.json``, ``codegen/host/lib`` or
``codegen/host/src``, ``codegen/host/include``, and ``src/relay.txt``. ``records.json`` has the schedule of
each kernel. ``SHA256SUMS``, the last file, has the digests of all others, in the format of ``sha256sum -c``.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvmlite.core.errors import LibraryError

METADATA = "metadata.json"
LIBRARIES, SOURCES, HEADERS = (f"codegen/host/{name}/" for name in ("lib", "src", "include"))
DIGESTS = "SHA256SUMS"

MOST_FILES = 1000
"""The most files of an archive, to bound the work of reading untrusted ones."""

_MODE = 0o644


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files``, by name, to the archive ``path``, deterministically."""
    digests = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in [*files.items(), (DIGESTS, digests.encode())]:
            entry = tarfile.TarInfo(name)  # with time 0 and no owner
            entry.size, entry.mode = len(content), _MODE
            archive.addfile(entry, io.BytesIO(content))


def read(path: Path) -> dict[str, Any]:
    """The metadata of the archive ``path``; raises LibraryError unless all its files match their digests."""
    return _fields(path, read_files(path, (METADATA,))[METADATA])


def read_code(path: Path) -> tuple[str, dict[str, bytes]]:
    """The text of the metadata, and the contents of the model's code files by name, without folders; errors
    as in ``read``. The contents together are no larger than the archive."""
    kept = read_files(path, (METADATA, LIBRARIES, SOURCES, HEADERS))
    text = kept.pop(METADATA).decode()
    _fields(path, text)
    return text, {name.rpartition("/")[2]: content for name, content in kept.items()}


def _fields(path: Path, text: str | bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise LibraryError(f"{path} is damaged: {error}") from error
    if not isinstance(fields, dict):
        raise LibraryError(f"{path} is damaged: {METADATA} is no table")
    return fields


def read_files(path: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """The files of the archive whose names begin with one of ``wanted``, after all are checked; errors as in
    ``read``."""
    try:
        with tarfile.open(path, "r:") as archive:
            return _checked(path, archive, wanted)
    except (tarfile.TarError, EOFError, UnicodeDecodeError, ValueError) as error:
        raise LibraryError(f"{path} is damaged: {error}") from error
    except OSError as error:
        raise LibraryError(f"cannot read {path}: {error.strerror or error}") from error


def _checked(path: Path, archive: tarfile.TarFile, wanted: tuple[str, ...]) -> dict[str, bytes]:
    found: dict[str, str] = {}
    kept: dict[str, bytes] = {}
    room = path.stat().st_size
    for entry in archive:
        plain = entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE)  # a sparse file may be of any size
        room -= max(entry.size, 0)
        file = archive.extractfile(entry) if plain and room >= 0 else None
        if file is None or entry.name in found or len(found) >= MOST_FILES:
            raise LibraryError(f"{path} is damaged: {entry.name!r} is no file of a model library")
        digest = hashlib.sha256()
        parts, keep = [], entry.name.startswith((*wanted, DIGESTS))
        while part := file.read(1 << 20):
            digest.update(part)
            parts += [part] if keep else []
        found[entry.name] = digest.hexdigest()
        if keep:
            kept[entry.name] = b"".join(parts)
    if METADATA not in found or DIGESTS not in found:
        raise LibraryError(f"{path} is truncated, or no model library: it has no {METADATA} or no {DIGESTS}")
    rows = [line.split("  ", 1) for line in kept.pop(DIGESTS).decode().splitlines()]
    expected = {row[1]: row[0] for row in rows if len(row) == 2}
    del found[DIGESTS]
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            raise LibraryError(f"{path} is damaged: {name} is not as it was written")
    return kept
