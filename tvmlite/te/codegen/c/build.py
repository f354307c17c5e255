"""Generated C compiled by the machine's own C compiler into a shared library."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import link

FLAGS = link.C_FLAGS
"""How kernels are compiled for the machine they are compiled on."""


def compile_shared(
    source: str,
    path: str | os.PathLike[str],
    extra_sources: Sequence[str] = (),
    objects: Sequence[bytes | Path] = (),
    flags: Sequence[str] = FLAGS,
    data: tuple[str, np.ndarray] | None = None,
    metadata: str = "",
) -> Path:
    """The shared library ``path``, from C sources (texts) and ``objects``; it appears whole or not at all.

    ``data`` is a symbol that the sources refer to, and its bytes, uint8; ``metadata`` as of ``link.shared``.

    Raises LibraryError when the machine has no C compiler, or it refuses a source.
    """
    compilers = link.c_compilers()
    if not compilers:
        raise LibraryError("target 'c' needs a C compiler to run its code, and there is none", hint=link.HINT)
    with link.temporary_folder("tvmlite-c-") as folder:
        made: list[bytes | Path] = []
        for number, text in enumerate((source, *extra_sources)):
            file, output = folder / f"{number}.c", folder / f"{number}.o"
            link.write_file(file, text.encode())
            command = [*compilers[0], *flags, "-c", str(file), "-o", str(output)]
            link.run_first([command], "compiling generated C")
            made.append(output)
        return link.shared([*made, *objects], path, data=data, metadata=metadata)
