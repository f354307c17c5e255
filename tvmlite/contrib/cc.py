"""Shared libraries from objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tvmlite.runtime import link


def create_shared(output: str, objects: str | Sequence[str], options: Sequence[str] | None = None) -> None:
    """Link the files ``objects`` into the library ``output``. A LibraryError if there is no linker, or it
    fails; ``options`` are TVM's, none is known."""
    if options:
        raise TypeError(f"create_shared: options {list(options)!r} are not known")
    files = [objects] if isinstance(objects, (str, Path)) else list(objects)
    link.shared([Path(one) for one in files], output)
