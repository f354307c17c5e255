"""Data of any size in a shared library: a separate segment after all others, written after linking.

Linkers hold all their input in memory, and may place data between code and targets that code reaches by
32-bit offsets. Therefore the linker gets an object of a few bytes (``placeholder``) whose symbol points
``DISTANCE`` past them, where nothing is; then ``append`` writes the data to the end of the library and lets
it be mapped there. Its program header overwrites that of a note, which exists for this purpose, as the table
of program headers has no room for one more. Code finds the data as any symbol, by a 64-bit address in the
global offset table, and adds offsets to that.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library.elf import HEADER, SECTION, SEGMENT, relocatable_object

SECTION_NAME = ".tvmlite.data"
DISTANCE = 1 << 30
"""The bytes from the placeholder to the data: more than any code takes, less than 32-bit offsets reach."""

_PAGE = 4096
_LARGEST_PAGE = 1 << 16
"""The largest page size of the supported processors."""

_LOAD, _NOTE = 1, 4
"""Types of segments: mapped ones, and notes about the library, which are not needed to run it."""

_READABLE = 4

_ADDRESS_IN_SECTION = 16
"""The byte offset of address, offset and size in a section header."""


def placeholder(symbol: str, triple: str = "") -> bytes:
    """An object file for ``triple`` ("": this machine); ``symbol`` is the address of the appended data."""
    place = {symbol: (DISTANCE, 0)}
    return relocatable_object(SECTION_NAME, bytes(64), _PAGE, place, triple, note=b"tvmlite")


def append(library: Path, data: np.ndarray) -> None:
    """Write ``data``, uint8, to ``library``, which was linked with a ``placeholder``.

    It is mapped read-only, starting at a page. The bytes are written to the file without a copy in memory.
    Raises OSError if the file cannot be written, and LibraryError if it is not as expected.
    """
    with open(library, "r+b") as file:
        header = HEADER.unpack(file.read(HEADER.size))
        place, address = _find_placeholder(file, header)
        begin = address + DISTANCE
        segments = _table(file, header[5], header[10], SEGMENT)
        if any(row[0] == _LOAD and row[3] + row[6] > begin for row in segments):
            raise LibraryError(f"{library} has code of more than {DISTANCE} bytes")
        spare = _spare(segments, library)
        size = file.seek(0, os.SEEK_END)
        offset = size + (begin - size) % _LARGEST_PAGE
        file.seek(offset)
        _write(file, data)
        file.seek(place)
        file.write(struct.pack("<QQQ", begin, offset, data.nbytes))
        file.seek(header[5] + spare * SEGMENT.size)
        file.write(
            SEGMENT.pack(_LOAD, _READABLE, offset, begin, begin, data.nbytes, data.nbytes, _LARGEST_PAGE)
        )


def _write(file: BinaryIO, array: np.ndarray) -> None:
    file.write(array.data)


def _spare(segments: Sequence[tuple[int, ...]], library: Path) -> int:
    """The position of a note among the program headers, after those of mapped segments."""
    last = max((at for at, row in enumerate(segments) if row[0] == _LOAD), default=0)
    for at, row in enumerate(segments):
        if row[0] == _NOTE and at > last:
            return at
    raise LibraryError(f"{library} was linked without a segment of notes")


def _find_placeholder(file: BinaryIO, header: Sequence[int]) -> tuple[int, int]:
    """The offset in ``file`` of the address, offset and size of the placeholder's section, and its
    address."""
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
