"""Data of any size in a shared library: a segment of its own behind all others, written after linking.

Linkers hold all that they link in memory, and put data between code and what code reaches by 32-bit
distances. So the linker gets an object of a few bytes (``stand_in``) whose symbols point ``DISTANCE`` past
them, where nothing is; then ``append`` writes the data to the end of the library, and a program header that
has it mapped there. Code finds it as any symbol, by a 64-bit address in the global offset table, and adds
offsets to that. Dynamic loaders take the program headers from wherever the file's header says they are.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tvmlite.core.abi import WORKSPACE_ALIGNMENT, align
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.elf import HEADER, SECTION, SEGMENT, relocatable_object

SECTION_NAME = ".tvmlite.data"
DISTANCE = 1 << 30
"""From the stand-in to the data: more than any code takes, less than 32-bit addresses reach."""

_PAGE = 4096
_LARGEST_PAGE = 1 << 16
"""The largest that a processor has which ELF files are made for here."""

_LOAD, _TABLE = 1, 6
"""Types of segments: what is mapped, and where in memory the program headers are."""

_ADDRESS_IN_SECTION = 16
"""The byte of a section's row from which on its address, offset and size stand."""


def stand_in(data: Mapping[str, np.ndarray], triple: str = "") -> bytes:
    """An object file for ``triple`` ("": this machine) whose symbols are where ``append`` puts ``data``."""
    symbols: dict[str, tuple[int, int]] = {}
    place = 0
    for name, one in data.items():
        symbols[name] = DISTANCE + place, 0
        place = align(place + one.nbytes)
    return relocatable_object(SECTION_NAME, bytes(64), _PAGE, symbols, triple)


def append(library: Path, data: Mapping[str, np.ndarray]) -> None:
    """Write ``data``, uint8 by symbol, into ``library``, which was linked with its ``stand_in``.

    It is mapped read-only, each array aligned to 64 bytes and the first to a page. The bytes go from memory
    to the file as they are. Raises OSError if the file cannot be written, and LibraryError if it is not as
    expected.
    """
    with open(library, "r+b") as file:
        header = list(HEADER.unpack(file.read(HEADER.size)))
        segments = [list(row) for row in _table(file, header[5], header[10], SEGMENT)]
        at, address = _stand_in_of(file, header)
        begin = address + DISTANCE - _PAGE
        if any(row[0] == _LOAD and row[3] + row[6] > begin for row in segments):
            raise LibraryError(f"{library} has code of more than {DISTANCE} bytes")
        size = file.seek(0, 2)
        offset = size + (begin - size) % _LARGEST_PAGE
        length = sum(align(one.nbytes) for one in data.values())
        rows = _with_segment(segments, offset, begin, _PAGE + length)
        header[5], header[10] = offset, len(rows)
        table = b"".join(SEGMENT.pack(*row) for row in rows)
        assert len(table) <= _PAGE, "the program headers lie in the page before the data"
        file.seek(offset)
        file.write(table.ljust(_PAGE, b"\0"))
        for one in data.values():
            file.write(one.data)
            file.write(bytes(-one.nbytes % WORKSPACE_ALIGNMENT))
        file.seek(at)
        file.write(struct.pack("<QQQ", address + DISTANCE, offset + _PAGE, length))
        file.seek(0)
        file.write(HEADER.pack(*header))


def _with_segment(rows: list[list[int]], offset: int, address: int, size: int) -> list[list[int]]:
    """The program headers with one more segment that is mapped, after the others, and holds the headers."""
    made = [_LOAD, 4, offset, address, address, size, size, _LARGEST_PAGE]
    last = max(place for place, row in enumerate(rows) if row[0] == _LOAD)
    rows = [*rows[: last + 1], made, *rows[last + 1 :]]
    length = len(rows) * SEGMENT.size
    return [
        [_TABLE, row[1], offset, address, address, length, length, row[7]] if row[0] == _TABLE else row
        for row in rows
    ]


def _stand_in_of(file: BinaryIO, header: Sequence[int]) -> tuple[int, int]:
    """Where in ``file`` the address, offset and size of the stand-in's section are told, and its address."""
    sections = _table(file, header[6], header[12], SECTION)
    names = sections[header[13]]
    file.seek(names[4])
    texts = file.read(names[5])
    for place, row in enumerate(sections):
        if texts[row[0] : texts.index(b"\0", row[0])] == SECTION_NAME.encode():
            return header[6] + place * SECTION.size + _ADDRESS_IN_SECTION, row[3]
    raise LibraryError(f"{file.name} was linked without a section {SECTION_NAME}")


def _table(file: BinaryIO, offset: int, count: int, row: struct.Struct) -> list[tuple[int, ...]]:
    file.seek(offset)
    return list(row.iter_unpack(file.read(count * row.size)))
