"""The one cache on disk: bytes by key, shared by every process of a user.

It holds the object code of modules, by their text and all that makes code of it (``te.codegen.jit``), what
the kernels of models are called by, with the keys of their objects (``model.kernels``), and the digests of
source files (``core.source_digest``).
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
"""The file that grows by a byte for each 1000 that any process writes, until one of them trims: to list
100,000 entries takes a second."""
_warned: set[Path] = set()


def key_of(*parts: str | bytes) -> str:
    """A key that no other sequence of ``parts`` has: a hash of them and of their lengths, in hex."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _header(key: str, content: bytes) -> bytes:
    """What an entry starts with: a checksum of it and of its key, as a copy under another name is none."""
    return _MAGIC + hashlib.sha256(key.encode() + content).digest()


def object_cache() -> ObjectCache | None:
    """The cache in the directory that ``config`` names; None if nothing is to be kept."""
    directory = config.cache_dir()
    return None if directory is None else ObjectCache(directory)


class ObjectCache:
    """Bytes by key in ``directory``, made when first needed.

    An entry is written under another name and then renamed, and starts with its checksum: whatever happens
    to a writer or to the disk, a reader gets the whole entry or none. The entries used longest ago are
    removed when all together exceed ``config.cache_megabytes()`` by a sixteenth. Where the directory cannot
    be written nothing is kept, and a RuntimeWarning says so once.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)

    def get(self, key: str) -> bytes | None:
        """The bytes put under ``key``, or None; a broken entry is None and is replaced by the next put."""
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
        """Whether there is an entry under ``key``, perhaps a broken one."""
        return self._path(key).is_file()

    def put(self, key: str, content: bytes) -> None:
        """Keep ``content`` under ``key``."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, _header(key, content) + content)
            if self._is_to_be_trimmed(len(content)):
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

    def _is_to_be_trimmed(self, size: int) -> bool:
        """Whether, with ``size`` bytes more, a sixteenth of the limit was written since the last trim, or
        there was none yet."""
        is_first = not (self.directory / _WRITTEN).exists()
        with open(self.directory / _WRITTEN, "ab") as file:
            file.write(bytes(1 + size // 1000))
            written = file.tell() * 1000
        return is_first or written > config.cache_megabytes() * 1_000_000 // 16

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
        os.truncate(self.directory / _WRITTEN, 0)

    def _warn(self, error: OSError) -> None:
        if self.directory not in _warned:
            _warned.add(self.directory)
            warn(
                f"compiled code is not kept: {self.directory} cannot be written ({error.strerror or error}); "
                "set TVMLITE_CACHE to another directory, or to off",
                RuntimeWarning,
            )
