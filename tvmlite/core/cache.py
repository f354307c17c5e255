"""The one cache on disk: bytes by key, shared by all processes of a user.

It holds the object code of modules, keyed by their text and everything that affects its compilation
(``te.codegen.jit``), the interfaces of models' kernels with the keys of their objects (``model.kernels``),
and the digests of source files (``core.source_digest``).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path

from tvmlite.core import config
from tvmlite.core.span import warn

_MAGIC = b"tvmlite object 2\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_TEMPORARY = ".writing-"
_STALE_SECONDS = 3600
_WRITTEN = "written"
"""A file that grows by one byte per 1000 bytes that any process writes, and is emptied when the cache is
trimmed. It spares listing the entries: 100,000 of them take a second."""
_warned: set[Path] = set()


def key_of(*parts: str | bytes) -> str:
    """A key unique to this sequence of ``parts``: a hash of them and of their lengths, in hex."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _header(key: str, content: bytes) -> bytes:
    """The start of an entry: a checksum of its key and content; a copy under another name is invalid."""
    return _MAGIC + hashlib.sha256(key.encode() + content).digest()


def object_cache() -> ObjectCache | None:
    """The cache in the directory that ``config`` names; None if the cache is off."""
    directory = config.cache_dir()
    return None if directory is None else ObjectCache(directory)


class ObjectCache:
    """A map from keys to bytes in ``directory``, which is created when first needed.

    An entry is written under a temporary name, then renamed, and starts with its checksum: whatever happens
    to a writer or to the disk, a reader gets the whole entry or none. The least recently used entries are
    removed when all together exceed ``config.cache_megabytes()`` by a sixteenth. If the directory cannot
    be written, nothing is kept, and one RuntimeWarning reports it.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)

    def get(self, key: str) -> bytes | None:
        """The bytes stored under ``key``, or None if there are none or they are corrupt."""
        path = self._path(key)
        try:
            if not path.is_file():  # opening a pipe would wait for its writer
                return None
            data = path.read_bytes()
        except OSError:
            return None
        content = data[_HEADER:]
        if data[:_HEADER] != _header(key, content):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # its last use, for trimming
        return content

    def has(self, key: str) -> bool:
        """Whether there is an entry under ``key``, perhaps a corrupt one."""
        return self._path(key).is_file()

    def put(self, key: str, content: bytes) -> None:
        """Store ``content`` under ``key``."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, _header(key, content) + content)
            if self._needs_trimming(len(content)):
                self._trim()
        except OSError as error:
            self._warn(error)

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

    def _needs_trimming(self, size: int) -> bool:
        """Record ``size`` more bytes. Whether a sixteenth of the limit was written since the last trim, or
        the cache was never trimmed."""
        is_first = not (self.directory / _WRITTEN).exists()
        with open(self.directory / _WRITTEN, "ab") as file:
            file.write(bytes(1 + size // 1000))
            written = file.tell() * 1000
        return is_first or written > config.cache_megabytes() * 1_000_000 // 16

    def _trim(self) -> None:
        """Remove the least recently used entries, and temporary files left by killed writers."""
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
        os.truncate(self.directory / _WRITTEN, 0)

    def _warn(self, error: OSError) -> None:
        if self.directory not in _warned:
            _warned.add(self.directory)
            warn(
                f"compiled code is not kept: {self.directory} cannot be written ({error.strerror or error}); "
                "set TVMLITE_CACHE to another directory, or to off",
                RuntimeWarning,
            )
