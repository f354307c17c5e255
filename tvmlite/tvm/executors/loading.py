"""Exported libraries under TVM's names: ``load_module(path)["default"](device)``."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tvmlite.core.errors import InputError, LibraryError
from tvmlite.runtime.library import link, model_library
from tvmlite.runtime.library.library import Library
from tvmlite.runtime.library.load import load
from tvmlite.tvm.contrib import cc
from tvmlite.tvm.executors.benchmark import BenchmarkResult, timed
from tvmlite.tvm.executors.model import ModelExecutor

DEFAULT = "default"

_FOLDER = "codegen/host/lib/"
_MAGIC = b"!<arch>\n"
_HEADER = 60
"""Bytes of a member's header in a static library."""


class LoadedModule:
    """A library that was loaded: ``module["default"](device)`` makes an executor of the model in it.

    ``lib`` is the model. Calling the module, or ``module[name]`` with the entry's name, calls its function
    with outputs among the arguments, as ``tvm.build``'s are.
    """

    type_key = "library"
    imported_modules: tuple[Any, ...] = ()

    def __init__(self, lib: Library) -> None:
        self.lib = lib
        self.entry_name = lib.signature.name
        self.is_model = "input_names" in lib.metadata

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function ``name``."""
        if self.is_model and name in (DEFAULT, self.entry_name):
            return lambda *devices: ModelExecutor(self.lib)
        if not self.is_model and name == self.entry_name:
            return self.lib.function
        known = DEFAULT if self.is_model else self.entry_name
        raise AttributeError(f"the module has no function {name!r}; it has {known!r}")

    get_function = __getitem__

    @property
    def entry_func(self) -> Callable[..., Any]:
        """The function that calling the module calls."""
        return self.lib.function

    def __call__(self, *args: Any) -> Any:
        """Call the entry's function."""
        return self.lib.function(*args)

    def time_evaluator(
        self, func_name: str, dev: Any = None, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0
    ) -> Callable[..., BenchmarkResult]:
        """A function of the entry's arguments, outputs among them, that gives the times of calls:
        ``repeat`` runs of ``number`` calls, or of as many as last ``min_repeat_ms``."""
        if func_name != self.entry_name:
            raise InputError(f"time_evaluator: there is no function {func_name!r}, only {self.entry_name!r}")
        return lambda *args: timed(partial(self.lib.function, *args), number, repeat, min_repeat_ms)


def load_module(path: str | os.PathLike[str], fmt: str = "") -> LoadedModule:
    """The library ``path``: a ``.so``, or a ``.tar`` as ``export_library`` writes it, which is linked first.

    ``fmt`` is the ending, where that of ``path`` is another. Errors are those of ``runtime.load``.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise LibraryError(f"load_module: a path is expected, not a {type(path).__name__}")
    file = Path(path)
    ending = f".{fmt}" if fmt else file.suffix
    if ending in (".so", ".dylib", ".dll"):
        return LoadedModule(load(file))
    if ending != ".tar":
        raise InputError(f"load_module: {file} is expected to end in .so or .tar")
    with link.temporary_folder("tvmlite-load-") as folder:
        objects = [_stored(folder / f"{n}.o", content) for n, content in enumerate(_objects(file))]
        library = folder / "model.so"
        cc.create_shared(str(library), [str(one) for one in objects])
        return LoadedModule(load(library))


def _stored(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _objects(path: Path) -> list[bytes]:
    """The objects in the static library of the archive ``path``, which is checked first."""
    if not path.is_file():
        raise LibraryError(f"there is no file {str(path)!r}")
    model_library.read(path)
    with tarfile.open(path, "r:") as archive:
        for entry in archive:
            file = archive.extractfile(entry) if entry.isreg() else None
            if file is not None and entry.name.startswith(_FOLDER) and entry.name.endswith(".a"):
                return list(_members(path, file.read()))
    raise LibraryError(f"{path} has no static library", hint="export_library of a target 'llvm' writes one")


def _members(path: Path, content: bytes) -> Iterator[bytes]:
    """The files in a static library, but for its tables of symbols and long names."""
    place = len(_MAGIC)
    if content[:place] != _MAGIC:
        raise LibraryError(f"{path} is damaged: its static library is none")
    while place + _HEADER <= len(content):
        header = content[place : place + _HEADER]
        size = header[48:58].strip()
        if not size.isdigit() or place + _HEADER + int(size) > len(content):
            raise LibraryError(f"{path} is damaged: its static library is cut short")
        start, place = place + _HEADER, place + _HEADER + int(size)
        if not header.startswith((b"/ ", b"// ", b"/SYM64/")):
            yield content[start:place]
        place += place % 2
