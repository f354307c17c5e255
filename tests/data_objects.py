"""Object files that hold bytes under symbols, to link tests' code with."""

from __future__ import annotations

from collections.abc import Mapping

from tvmlite.runtime.library import elf


def data_object(symbols: Mapping[str, bytes | bytearray | memoryview], triple: str = "") -> bytes:
    """An ELF object file for ``triple`` ("": this machine) whose global ``symbols`` are these bytes.

    Read-only, each aligned to 64 bytes. Raises UnsupportedError for a machine without 64-bit ELF.
    """
    table: dict[str, tuple[int, int]] = {}
    data = bytearray()
    for name, content in symbols.items():
        data += bytes(-len(data) % 64)
        table[name] = len(data), len(content)
        data += content
    return elf.relocatable_object(".rodata", data, 64, table, triple)
