"""ELF files: objects with data under symbols, and the header and symbols of shared libraries."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from tvmlite.core.errors import LibraryError, UnsupportedError
from tvmlite.machine.triple import Triple

_MACHINES = {
    "x86_64": (62, 0),
    "aarch64": (183, 0),
    "riscv64": (243, 4),  # floats are passed in registers
}

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")

_SYMBOLS = {1: 2, 3: 11}
"""The type of the section with a file's symbols, by the type of the file: object or shared library."""


def has_objects(triple: str = "") -> bool:
    """Whether ``relocatable_object`` supports ``triple`` ("": this machine)."""
    machine = Triple.parse(triple)
    return machine.architecture in _MACHINES and machine.object_format == "elf"


def relocatable_object(
    section: str,
    data: bytes | bytearray,
    alignment: int,
    symbols: Mapping[str, tuple[int, int]],
    triple: str = "",
    note: bytes = b"",
) -> bytes:
    """An ELF object file with one read-only ``section`` and global ``symbols``, as offsets in it and sizes.

    With a ``note`` it also has a section of notes, for which linkers make a segment. Raises UnsupportedError
    for a target without 64-bit ELF.
    """
    architecture = Triple.parse(triple).architecture
    if not has_objects(triple):
        raise UnsupportedError(
            f"target {triple or architecture!r} has no data objects; they are for {', '.join(_MACHINES)}"
        )
    machine, flags = _MACHINES[architecture]
    names, table = bytearray(b"\0"), bytearray(_SYMBOL.size)
    for name, (offset, size) in symbols.items():
        table += _SYMBOL.pack(len(names), 0x11, 0, 1, offset, size)
        names += name.encode() + b"\0"
    titles = bytearray(b"\0")
    sections = [
        (section, 1, 2, data, 0, 0, alignment, 0),
        (".symtab", 2, 0, table, 3, 1, 8, _SYMBOL.size),
        (".strtab", 3, 0, names, 0, 0, 1, 0),
        (".shstrtab", 3, 0, titles, 0, 0, 1, 0),
        (".note.GNU-stack", 1, 0, b"", 0, 0, 1, 0),
    ]
    if note:
        name = note + bytes(-len(note) % 4 or 4)
        row = struct.pack("<III", len(note) + 1, 0, 0) + name
        sections.append((".note.tvmlite", 7, 2, row, 0, 0, 4, 0))
    title_at: list[int] = []
    for title, *_ in sections:
        title_at.append(len(titles))
        titles += title.encode() + b"\0"
    body = bytearray(HEADER.size)
    headers = bytearray(SECTION.size)
    for name_at, (_, kind, access, content, link, info, align, entry) in zip(title_at, sections, strict=True):
        body += bytes(-len(body) % align)
        headers += SECTION.pack(name_at, kind, access, 0, len(body), len(content), link, info, align, entry)
        body += content
    body += bytes(-len(body) % 8)
    magic = b"\x7fELF\x02\x01\x01" + bytes(9)
    count = len(sections) + 1
    HEADER.pack_into(body, 0, magic, 1, machine, 1, 0, 0, len(body), flags, 64, 0, 0, 64, count, 4)
    return bytes(body + headers)


def check_shared_library(path: Path) -> None:
    """Raise LibraryError unless ``path`` begins with the header of a 64-bit ELF file for this machine.

    ``seal.read`` checks whether the file is complete.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(HEADER.size)
    except OSError as error:
        raise LibraryError(f"cannot read {path}: {error.strerror}") from error
    if start[:4] == b"\0asm":
        raise LibraryError(
            f"{path} is WebAssembly, which this process does not run",
            hint="tvmlite.js runs it in a browser and in Node.js, other engines by its exports",
        )
    if start[:4] != b"\x7fELF":
        raise LibraryError(f"{path} is not a shared library (no ELF header)")
    if len(start) < HEADER.size:
        raise LibraryError(f"{path} is truncated: {len(start)} bytes")
    if start[4:6] != b"\x02\x01":
        raise LibraryError(f"{path} is not a 64-bit little-endian library")
    machine = HEADER.unpack(start)[2]
    own = _MACHINES.get(Triple.parse("").architecture)
    if own is not None and machine != own[0]:
        raise LibraryError(f"{path} is for another processor (ELF machine {machine}, this one is {own[0]})")


def content_of(path: Path, symbol: str) -> bytes | None:
    """The bytes of ``symbol`` in the shared library or object ``path``; None if that does not export the
    symbol or is not an ELF file."""
    with open(path, "rb") as file:
        start = file.read(HEADER.size)
        if len(start) < HEADER.size or start[:4] != b"\x7fELF":
            return None
        header = HEADER.unpack(start)
        sections = list(SECTION.iter_unpack(_part(file, header[6], header[12] * SECTION.size)))
        for row in sections:
            if row[1] != _SYMBOLS.get(header[1]):
                continue
            names = _part(file, *sections[row[6]][4:6])
            for name, _info, _other, section, address, size in _SYMBOL.iter_unpack(_part(file, *row[4:6])):
                if names[name : names.index(b"\0", name)] == symbol.encode() and 0 < section < len(sections):
                    home = sections[section]
                    return _part(file, home[4] + address - home[3], size)
    return None


def _part(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
