"""ELF files: an object that holds data under symbols, and whether a shared library is whole."""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Mapping
from pathlib import Path

from tvmlite.core.errors import LibraryError, UnsupportedError

_MACHINES = {
    "x86_64": (62, 0),
    "amd64": (62, 0),
    "aarch64": (183, 0),
    "arm64": (183, 0),
    "riscv64": (243, 4),  # floats are passed in registers
}
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")


def relocatable_object(
    section: str,
    data: bytes | bytearray,
    alignment: int,
    symbols: Mapping[str, tuple[int, int]],
    triple: str = "",
    note: bytes = b"",
) -> bytes:
    """An ELF object file with one read-only ``section``, and global ``symbols``: offsets in it, and sizes.

    With a ``note`` it has a section of notes too, for which linkers make a segment. Raises UnsupportedError
    for a machine without 64-bit ELF.
    """
    architecture = (triple.split("-")[0] or platform.machine()).lower()
    if architecture not in _MACHINES or (triple and ("apple" in triple or "windows" in triple)):
        raise UnsupportedError(
            f"target {triple or architecture!r} has no data objects; {', '.join(_MACHINES)} have"
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
    """Raise LibraryError unless ``path`` is a whole 64-bit ELF shared library for this machine.

    The loader maps what the headers promise: a truncated file would crash the process on first touch.
    """
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            start = file.read(HEADER.size)
            if start[:4] != b"\x7fELF":
                raise LibraryError(f"{path} is not a shared library (no ELF header)")
            if len(start) < HEADER.size:
                raise LibraryError(f"{path} is truncated: {size} bytes")
            if start[4:6] != b"\x02\x01":
                raise LibraryError(f"{path} is not a 64-bit little-endian library")
            header = HEADER.unpack(start)
            _kind, machine, segments_at, sections_at = header[1], header[2], header[5], header[6]
            _entry, segments, section_size, sections = header[9], header[10], header[11], header[12]
            file.seek(segments_at)
            table = file.read(segments * SEGMENT.size)
    except OSError as error:
        raise LibraryError(f"cannot read {path}: {error.strerror}") from error
    own = _MACHINES.get(platform.machine().lower())
    if own is not None and machine != own[0]:
        raise LibraryError(f"{path} is for another processor (ELF machine {machine}, this one is {own[0]})")
    ends = [sections_at + sections * section_size, segments_at + segments * SEGMENT.size]
    if len(table) == segments * SEGMENT.size:
        ends += [offset + filed for _t, _f, offset, _v, _p, filed, *_ in SEGMENT.iter_unpack(table)]
    if max(ends) > size:
        raise LibraryError(f"{path} is truncated: {size} bytes, its headers say {max(ends)}")
