"""Compiled objects kept on disk, shared by every process of a user."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import time
import warnings
from pathlib import Path

from tvmlite.core import config

_MAGIC = b"tvmlite object 1\n"
_TEMPORARY = ".writing-"
_STALE_SECONDS = 3600
_STAMP = "trimmed"
"""The file whose time tells when a directory was last gone through: 100,000 entries take a second."""
_warned: set[Path] = set()


def key_of(*parts: str | bytes) -> str:
    """A key that no other sequence of ``parts`` has: a hash of them and of their lengths, in hex."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@functools.cache
def cache_in(directory: str) -> ObjectCache:
    """This process's one cache in ``directory``."""
    return ObjectCache(directory)


class ObjectCache:
    """Bytes by key in ``directory``, made when first needed.

    An entry is written under another name and then renamed, and starts with its checksum: whatever happens
    to a writer or to the disk, a reader gets the whole entry or none. The entries used longest ago go
    when all together exceed ``config.cache_megabytes()``. Where the directory cannot be written nothing is
    kept, and a RuntimeWarning says so once.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self._until_trim: int | None = None
        """Bytes to be written before the next trim; None until the first is written."""

    def get(self, key: str) -> bytes | None:
        """The bytes put under ``key``, or None; a broken entry is None and is replaced by the next put."""
        path = self._path(key)
        try:
            if not path.is_file():  # opening a pipe would wait for its writer
                return None
            data = path.read_bytes()
        except OSError:
            return None
        content = data[len(_MAGIC) + 32 :]
        if data[: len(_MAGIC) + 32] != _MAGIC + hashlib.sha256(content).digest():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # its last use, for trimming
        return content

    def has(self, key: str) -> bool:
        """Whether there is an entry under ``key``, perhaps a broken one."""
        return self._path(key).is_file()

    def put(self, key: str, content: bytes) -> None:
        """Keep ``content`` under ``key``."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, _MAGIC + hashlib.sha256(content).digest() + content)
        except OSError as error:
            self._warn(error)
            return
        if self._until_trim is None:
            self._until_trim = _between_trims() if self._was_trimmed_lately() else 0
        self._until_trim -= len(content)
        if self._until_trim < 0:
            self._trim()

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key[2:]

    def _write(self, path: Path, data: bytes) -> None:
        handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _was_trimmed_lately(self) -> bool:
        with contextlib.suppress(OSError):
            return abs(time.time() - (self.directory / _STAMP).stat().st_mtime) < _STALE_SECONDS
        return False

    def _trim(self) -> None:
        """Remove what was used longest ago, and what writers that were killed left behind."""
        limit = config.cache_megabytes() * 1_000_000
        entries: list[tuple[float, int, Path]] = []
        for path in self.directory.glob("??/*"):
            with contextlib.suppress(OSError):  # another process may trim too
                status = path.stat()
                if not path.name.startswith(_TEMPORARY):
                    entries.append((status.st_mtime, status.st_size, path))
                elif status.st_mtime < time.time() - _STALE_SECONDS:
                    path.unlink()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
        self._until_trim = max(limit - total, _between_trims())
        with contextlib.suppress(OSError):
            (self.directory / _STAMP).touch()

    def _warn(self, error: OSError) -> None:
        if self.directory not in _warned:
            _warned.add(self.directory)
            warnings.warn(
                f"compiled code is not kept: {self.directory} cannot be written ({error.strerror or error}); "
                "set TVMLITE_CACHE to another directory, or to off",
                RuntimeWarning,
                stacklevel=3,
            )


def _between_trims() -> int:
    """Bytes that one process writes before it looks again how full a cache is."""
    return config.cache_megabytes() * 1_000_000 // 16
