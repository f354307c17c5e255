"""``tvm.runtime.load_module``: load exported models or functions from a library or an archive."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.runtime.library import link, load
from tvmlite.runtime.library.library import Library
from tvmlite.tvm.contrib import cc
from tvmlite.tvm.executors.model import ModelExecutor
from tvmlite.tvm.runtime.archive import objects_in
from tvmlite.tvm.runtime.module import MissingFunction, Module

DEFAULT = "default"

_ENDINGS = ("so", "dylib", "dll", "tar", "o")


class LoadedModel(Module):
    """A loaded model: ``module["default"](device)`` returns an executor.

    ``lib`` is tvmlite's model. Calling the module, or its function with the entry's name, calls the entry
    with the outputs among the arguments.
    """

    def __init__(self, lib: Library) -> None:
        super().__init__({lib.signature.name: lib.function})
        self.lib = lib
        self.entry_name = lib.signature.name

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:  # type: ignore[override]
        """Return the function ``name``: ``default`` takes a device and returns an executor."""
        if name == DEFAULT:
            return lambda *devices: ModelExecutor(self.lib)
        if name == self.entry_name:
            return self.lib.function
        if name == "get_graph_params":
            return dict  # weights are constants of the library: there are no parameters to set
        raise MissingFunction(f"the module has no function {name!r}; there are: {DEFAULT}, {self.entry_name}")

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the module has a function ``name``."""
        return name in (DEFAULT, self.entry_name)

    __getitem__ = get_function


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """Load the file ``path``: a ``LoadedModel`` for a model, else a module of functions by name.

    ``path`` is a library ``.so``, a ``.tar`` of a model or of functions that ``export_library`` wrote, or an
    object ``.o``; objects are linked first. ``fmt`` is the suffix to assume instead of the file's. Errors are
    those of ``tvmlite.runtime.load``.
    """
    given = arguments.path("load_module: path", path, LibraryError)
    file = Path(given)
    ending = arguments.text("load_module: fmt", fmt, InputError) or file.suffix.removeprefix(".")
    if ending not in _ENDINGS:
        raise InputError(
            f"load_module: {file} is expected to end in {', '.join(f'.{one}' for one in _ENDINGS)}"
        )
    if not file.is_file():
        raise LibraryError(f"load_module: there is no file {str(file)!r}")
    objects = [file.read_bytes()] if ending == "o" else objects_in(file) if ending == "tar" else []
    if not objects and file.suffix == f".{ending}":
        return _module(load.load_each(file))
    with link.temporary_folder("tvmlite-load-") as folder:
        if objects:
            for number, content in enumerate(objects):
                link.write_file(folder / f"{number}.o", content)
            cc.create_shared(str(folder / "linked.so"), [str(folder / f"{n}.o") for n in range(len(objects))])
            return _module(load.load_each(folder / "linked.so"))
        link.write_file(folder / f"renamed.{ending}", file.read_bytes())
        return _module(load.load_each(folder / f"renamed.{ending}"))


def _module(libs: list[Library]) -> Module:
    if len(libs) == 1 and "input_names" in libs[0].metadata:
        return LoadedModel(libs[0])
    return Module({lib.signature.name: lib.function for lib in libs})
