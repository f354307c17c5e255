"""Link object files into shared libraries."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tvmlite.core import arguments
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import elf, link
from tvmlite.runtime.library.library import METADATA, OTHERS
from tvmlite.tvm.absent import refusing


def create_shared(output: str, objects: str | Sequence[str], options: Sequence[str] | None = None) -> None:
    """Link the files ``objects`` into the library ``output``. A LibraryError if there is no linker or it
    fails, or if ``options`` are given.

    If some of ``objects`` contain compiled functions, ``runtime.load_module`` finds them in the library.
    """
    if options is not None and not (isinstance(options, (list, tuple)) and not options):
        raise arguments.refused("create_shared: options", options, "none: none are known", LibraryError)
    files = [objects] if isinstance(objects, (str, Path)) else objects
    listed = arguments.listed("create_shared: objects", files, "paths", LibraryError)
    paths = [arguments.path("create_shared: objects", one, LibraryError) for one in listed]
    made = arguments.path("create_shared: output", output, LibraryError)
    link.shared(paths, made, metadata=_metadata([Path(one) for one in paths]))


def _metadata(objects: Sequence[Path]) -> str:
    """Return the metadata of the compiled functions among ``objects``; empty if there are none."""
    there = [one for one in objects if sys.platform == "linux" and one.is_file()]
    found = [text for one in there if (text := elf.content_of(one, METADATA)) is not None]
    fields = [json.loads(text.rstrip(b"\0")) for text in found]
    return json.dumps({**fields[0], OTHERS: fields[1:]}) if fields else ""


__getattr__ = refusing(__name__)
