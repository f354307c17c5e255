"""Linking of WebAssembly modules: self-contained, without imports, for browsers and other engines.

A module exports its memory, the model's functions, and ``__heap_base``: the memory from that address on is
free for the caller's inputs, outputs and scratch memory. It has neither threads nor a clock. The metadata is
in a custom section named ``SECTION``, which is the last one, so that the file has the end that ``seal``
defines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import link, seal

SECTION = "tvmlite"

STACK_BYTES = 1 << 20


def module(
    objects: Sequence[bytes | Path],
    path: str | os.PathLike[str],
    exports: Sequence[str],
    triple: str,
    data: tuple[str, np.ndarray] | None,
    metadata: str,
) -> Path:
    """Link ``objects`` into the WebAssembly module ``path``; arguments and errors as in ``link.shared``."""
    commands = link.c_compilers(triple)
    if not commands:
        raise LibraryError(
            f"cannot link {os.fspath(path)!r}: there is no linker for WebAssembly", hint="pip install ziglang"
        )
    with link.temporary_folder("tvmlite-link-") as folder:
        files = link.as_files(objects, folder)
        if data is not None:
            files.append(link.data_object(*data, triple, folder))
        options = ["-O2", "-s", "-nostdlib", "-Wl,--no-entry"]
        options += [f"-Wl,-z,stack-size={STACK_BYTES}"]
        options += [f"-Wl,--export={name}" for name in (*exports, "__heap_base")]

        def make(output: Path) -> None:
            made = [[*command, *options, "-o", str(output), *map(str, files)] for command in commands]
            link.run_first(made, f"linking {path}")
            with open(output, "ab") as file:
                file.write(_section_header(len(metadata.encode()) + seal.FOOTER.size))
            seal.append(output, metadata)

        return link.write_atomically(path, make, mode=0o666)


def _section_header(size: int) -> bytes:
    """The beginning of the custom section ``SECTION`` with ``size`` bytes of content."""
    name = SECTION.encode()
    return b"\0" + _unsigned(size + 1 + len(name)) + bytes([len(name)]) + name


def _unsigned(value: int) -> bytes:
    """``value`` in unsigned LEB128."""
    made = bytearray()
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])
