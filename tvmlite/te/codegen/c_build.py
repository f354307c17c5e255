"""Generated C compiled by the machine's own C compiler into a shared library."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tvmlite.core.errors import LibraryError
from tvmlite.runtime import link

FLAGS = (
    "-std=c99",
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fPIC",
)
"""How kernels are compiled for the machine they are compiled on."""

GCC_FLAGS = ("-fno-tree-loop-distribute-patterns", "-fno-tree-loop-if-convert")
"""What else GCC is told, where it is GCC, or another that knows these. GCC 12 makes a memset of zeros stored
by a nest of loops that are not contiguous, over its neighbours' results; and loads whole vectors for masked
ones, beyond the end of an array, where it has turned a branch into AVX-512's masks."""


@cache
def _knows(compiler: tuple[str, ...], flag: str) -> bool:
    """Whether ``compiler`` takes ``flag``."""
    command = [*compiler, "-Werror", flag, "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=b"", capture_output=True).returncode == 0


def compile_shared(
    source: str,
    path: str | os.PathLike[str],
    extra_sources: Sequence[str] = (),
    objects: Sequence[bytes | Path] = (),
    flags: Sequence[str] = FLAGS,
) -> Path:
    """The shared library ``path``, from C sources (texts) and ``objects``; it appears whole or not at all.

    Raises LibraryError when the machine has no C compiler, or it refuses a source.
    """
    compilers = link.c_compilers()
    if not compilers:
        raise LibraryError("target 'c' needs a C compiler to run its code, and there is none", hint=link.HINT)
    known = [flag for flag in GCC_FLAGS if _knows(tuple(compilers[0]), flag)]
    with tempfile.TemporaryDirectory(prefix="tvmlite-c-") as folder:
        made: list[bytes | Path] = []
        for number, text in enumerate((source, *extra_sources)):
            file, output = Path(folder) / f"{number}.c", Path(folder) / f"{number}.o"
            file.write_text(text, encoding="utf-8")
            arguments = [*flags, *known, "-c", str(file), "-o", str(output)]
            link.run_first([[*compilers[0], *arguments]], "compiling generated C")
            made.append(output)
        return link.shared([*made, *objects], path)
