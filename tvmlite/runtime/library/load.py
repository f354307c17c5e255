"""Loading of exported libraries, and reading of their metadata."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tvmlite.core.abi.signature import VERSION, Signature
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.library import archives, elf, levels, link, model_library, seal
from tvmlite.runtime.library.library import OTHERS, Library
from tvmlite.runtime.pool import threads


def load(path: str | os.PathLike[str]) -> Library:
    """Load the model in the shared library ``path``, which ``lib.export`` wrote.

    An archive (.tar) is linked first, or compiled if it has C source; a LibraryError says what is missing for
    that.

    If the library has code for several CPU levels, the highest that this processor runs is used, or the one
    that ``TVMLITE_CPU_LEVEL`` names; the result's ``cpu_level`` is its name.

    Needs only numpy and cffi. Raises LibraryError if the file is missing, damaged, truncated, not a tvmlite
    library, of another ABI version, or for another processor: all of this is checked before anything in it
    runs. The library stays loaded until the process ends.
    """
    return load_each(path)[0]


def load_each(path: str | os.PathLike[str]) -> list[Library]:
    """Load all models of the library ``path``: several if objects of several were linked into one. Errors
    as in ``load``."""
    file = _existing(path)
    if file.suffix == ".tar":
        with link.temporary_folder("tvmlite-load-") as folder:
            return _loaded(archives.link_archive(file, folder), file)
    return _loaded(file, file)


def _loaded(library: Path, file: Path) -> list[Library]:
    """The models in the shared ``library``, which was made from ``file``: itself, or an archive."""
    if sys.platform == "linux":
        elf.check_shared_library(library)
    first = read_metadata(library)
    chosen = [levels.select_level(file, _checked(file, one)) for one in (first, *first.pop(OTHERS, ()))]
    handle = _open(library)
    return [_function(handle, file, *one) for one in chosen]


def _function(handle: ctypes.CDLL, file: Path, fields: dict[str, Any], symbol: str) -> Library:
    """The model with the entry ``symbol`` in the library ``file``, with the metadata ``fields``."""
    signature = Signature.from_json(fields["entry"])
    address = _address(handle, symbol)
    if address is None:
        raise LibraryError(f"{file} does not define its entry {symbol!r}")
    setter = getattr(handle, "tvmlite_set_num_threads", None)
    if setter is not None:
        setter.argtypes, setter.restype = [ctypes.c_int32], None
        threads.register_pool(ctypes.cast(setter, ctypes.c_void_p).value, setter)
    shapes = _address(handle, f"{symbol}_shapes") or 0
    if not shapes and not signature.is_static:
        raise LibraryError(f"{file} does not define {symbol}_shapes")
    return Library(CompiledFunction(signature, address, shapes, keep=handle), fields)


def load_module(path: str | os.PathLike[str]) -> CompiledFunction:
    """The function of a library, as TVM's ``load_module`` gives it: it also takes outputs. Errors as in
    ``load``."""
    return load(path).function


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The metadata of the library or archive (.tar) ``path``: ``entry``, ``target``, ``features`` and others.

    Nothing in the file is run, and it may be for another processor. Raises LibraryError if it is missing,
    damaged, truncated, not a tvmlite library, or of another ABI version.
    """
    file = _existing(path)
    try:
        fields = model_library.read(file) if file.suffix == ".tar" else json.loads(seal.read(file))
    except ValueError as error:
        raise _unreadable(file, error) from error
    return _checked(file, fields)


def _checked(file: Path, fields: Any) -> dict[str, Any]:
    """``fields`` if they are valid metadata; raises LibraryError, which names ``file``, if not."""
    try:
        if fields["abi"] != VERSION:
            raise LibraryError(f"{file} has ABI version {fields['abi']}, this runtime supports {VERSION}")
        for key, kind in (("entry", str), ("target", str), ("features", list)):
            if not isinstance(fields[key], kind):
                raise TypeError(f"{key} is {fields[key]!r}")
    except (KeyError, TypeError) as error:
        raise _unreadable(file, error) from error
    return fields


def _unreadable(file: Path, error: Exception) -> LibraryError:
    return LibraryError(f"the metadata of {file} cannot be read: {error!r}")


def _existing(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise LibraryError(f"a library is a path, not a {type(path).__name__}")
    file = Path(path).absolute()
    try:
        if not file.is_file():
            raise LibraryError(f"there is no file {os.fspath(path)!r}")
    except OSError as error:
        raise LibraryError(f"{os.fspath(path)!r} cannot be read: {error.strerror}") from error
    return file


_opened: dict[object, tuple[int, ...]] = {}
"""The loaded files, by path and by (device, inode), with the version that was loaded."""


def _open(file: Path) -> ctypes.CDLL:
    """Load ``file``. As the system's loader returns a library loaded earlier from the same name or inode, a
    file that has changed since is loaded from a copy."""
    status = file.stat()
    version = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    keys = (str(file), version[:2])
    changed = any(_opened.setdefault(key, version) != version for key in keys)
    try:
        if not changed:
            return ctypes.CDLL(str(file))
        with tempfile.TemporaryDirectory(prefix="tvmlite-load-") as folder:
            copy = Path(folder) / file.name
            shutil.copyfile(file, copy)
            return ctypes.CDLL(str(copy))
    except (OSError, UnicodeDecodeError) as error:  # the loader's message may not be text
        raise LibraryError(f"cannot load {file}: {error}") from error


def _address(handle: ctypes.CDLL, symbol: str) -> int | None:
    try:
        return ctypes.cast(getattr(handle, symbol), ctypes.c_void_p).value
    except AttributeError:
        return None
