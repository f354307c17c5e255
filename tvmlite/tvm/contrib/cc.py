"""Shared libraries from objects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tvmlite.core import arguments
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import elf, link, seal
from tvmlite.runtime.library.library import METADATA
from tvmlite.tvm.absent import refusing


def create_shared(output: str, objects: str | Sequence[str], options: Sequence[str] | None = None) -> None:
    """Link the files ``objects`` into the library ``output``. A LibraryError if there is no linker, or it
    fails; ``options`` are TVM's, none is known.

    If one of ``objects`` is a compiled function's, ``runtime.load`` loads the library."""
    if options is not None and not (isinstance(options, (list, tuple)) and not options):
        raise arguments.refused("create_shared: options", options, "none: none are known", LibraryError)
    files = [objects] if isinstance(objects, (str, Path)) else objects
    listed = arguments.listed("create_shared: objects", files, "paths", LibraryError)
    paths = [arguments.path("create_shared: objects", one, LibraryError) for one in listed]
    made = link.shared(paths, arguments.path("create_shared: output", output, LibraryError))
    metadata = elf.content_of(made, METADATA) if sys.platform == "linux" else None
    if metadata is not None:
        seal.append(made, metadata.rstrip(b"\0").decode())


__getattr__ = refusing(__name__)
