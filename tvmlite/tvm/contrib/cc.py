"""Shared libraries from objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tvmlite.core import arguments
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import link


def create_shared(output: str, objects: str | Sequence[str], options: Sequence[str] | None = None) -> None:
    """Link the files ``objects`` into the library ``output``. A LibraryError if there is no linker, or it
    fails; ``options`` are TVM's, none is known."""
    if options is not None and not (isinstance(options, (list, tuple)) and not options):
        raise arguments.refused("create_shared: options", options, "none: none are known", LibraryError)
    files = [objects] if isinstance(objects, (str, Path)) else objects
    listed = arguments.listed("create_shared: objects", files, "paths", LibraryError)
    paths = [arguments.path("create_shared: objects", one, LibraryError) for one in listed]
    link.shared(paths, arguments.path("create_shared: output", output, LibraryError))
