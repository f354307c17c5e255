"""``tvm.contrib.clang``: compile C code to LLVM IR, if clang is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tvmlite.core import arguments
from tvmlite.core.errors import LibraryError


def find_clang(required: bool = True) -> list[str]:
    """Return the path of clang in a list, which is empty if there is none, an error if it is ``required``."""
    found = shutil.which("clang")
    if found is None and required:
        raise LibraryError("find_clang: there is no clang on the PATH")
    return [] if found is None else [found]


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """Compile ``inputs``, C code or paths of source files, to LLVM IR with clang, and return it; it is also
    written to ``output`` if given. A LibraryError if there is no clang or it fails."""
    command = cc or find_clang()[0]
    given = (
        [inputs] if isinstance(inputs, str) else list(arguments.listed("create_llvm: inputs", inputs, "code"))
    )
    with tempfile.TemporaryDirectory(prefix="tvmlite-") as folder:
        texts = []
        for number, one in enumerate(given):
            source = Path(one) if one.endswith((".c", ".cc", ".cpp")) else Path(folder) / f"input{number}.cc"
            if source.parent == Path(folder):
                source.write_text(one, encoding="utf-8")
            made = Path(folder) / f"output{number}.ll"
            line = [command, "-S", "-emit-llvm", "-O3", *(options or ()), str(source), "-o", str(made)]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                raise LibraryError(f"create_llvm: {command} failed: {done.stderr.strip()}")
            texts.append(made.read_text(encoding="utf-8"))
    text = "\n".join(texts)
    if output is not None:
        arguments.path("create_llvm: output", output, LibraryError).write_text(text, encoding="utf-8")
    return text
