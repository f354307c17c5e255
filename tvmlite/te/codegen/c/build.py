"""Compilation of generated C into a shared library by this machine's C compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import link

FLAGS = link.C_FLAGS
"""The compiler flags of kernels that run on the machine that compiles them."""


def compile_shared(
    source: str,
    path: str | os.PathLike[str],
    extra_sources: Sequence[str] = (),
    objects: Sequence[bytes | Path] = (),
    flags: Sequence[str] = FLAGS,
    data: tuple[str, np.ndarray] | None = None,
    metadata: str = "",
) -> Path:
    """Compile C sources (texts) and link them with ``objects`` to the shared library ``path``, atomically.

    ``data`` is a symbol that the sources refer to, and its bytes, uint8; ``metadata`` as in ``link.shared``.

    Raises LibraryError if this machine has no C compiler, or if the compiler rejects a source.
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
