"""The end of a library's file: its metadata as text, and a digest of the whole file.

A linked library is followed by its metadata in UTF-8 and by a footer of fixed size: ``MAGIC``, the version of
this format, the bytes of the library and of the metadata, and a digest of everything before it. Loaders of
shared libraries ignore data after the parts that they map. Therefore a file can be read, and found damaged,
before anything in it is run, even on a machine of another kind.

The digest must not take the time that mapping the weights saves (``benchmarks/libraries.py`` times loading).
Each block of the file becomes one number, the sum of its 64-bit words, which processors add at the speed of
memory; BLAKE2b hashes these numbers. If any one word of a block changes, so does the sum. This detects
damage, not forgery: code from untrusted sources must not be loaded at all.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tvmlite.core.errors import LibraryError

MAGIC = b"tvmlite library\n"
FORMAT = 1
"""The version of this format; ``core.abi.signature.VERSION`` is that of the calling convention."""

FOOTER = struct.Struct("<16sQQQ32s")
"""Magic, format, bytes of the library, bytes of the metadata, digest; 72 bytes."""

_BLOCK = 1 << 18
"""The bytes of a block, which becomes one number: few enough to be in cache when they are added."""


def append(library: Path, metadata: str) -> None:
    """Append ``metadata`` and the footer to the linked ``library``; raises OSError if that fails."""
    text = metadata.encode()
    with open(library, "r+b") as file:
        size = file.seek(0, 2)
        file.write(text)
        file.seek(0)
        lengths = (FORMAT, size, len(text))
        digest = _digest(file, size + len(text), lengths)
        file.seek(0, 2)
        file.write(FOOTER.pack(MAGIC, *lengths, digest))


def read(library: Path) -> str:
    """The metadata of ``library``. Raises LibraryError unless the file is complete, unchanged, and of this
    format."""
    try:
        with open(library, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - FOOTER.size, 0))
            footer = file.read()
            if len(footer) < FOOTER.size or not footer.startswith(MAGIC):
                raise LibraryError(
                    f"{library} does not end as a tvmlite library does: it is truncated, was changed "
                    f"(strip?), or is none",
                    hint="export it again if it was written by a version without this footer",
                )
            _, *lengths, digest = FOOTER.unpack(footer)
            if lengths[0] != FORMAT:
                raise LibraryError(f"{library} has format {lengths[0]}, this runtime reads {FORMAT}")
            if sum(lengths[1:]) + FOOTER.size != size:
                raise LibraryError(
                    f"{library} is damaged: {size} bytes, its footer says {sum(lengths[1:]) + FOOTER.size}"
                )
            file.seek(0)
            if _digest(file, size - FOOTER.size, lengths) != digest:
                raise LibraryError(f"{library} is damaged: its bytes are not those that were written")
            file.seek(lengths[1])
            return file.read(lengths[2]).decode()
    except OSError as error:
        raise LibraryError(f"cannot read {library}: {error.strerror}") from error


def _digest(file: BinaryIO, size: int, lengths: tuple[int, ...] | list[int]) -> bytes:
    """The digest of ``size`` bytes of ``file``, from its current position, and of ``lengths``."""
    made = hashlib.blake2b(np.array(lengths, "<u8").tobytes(), digest_size=32)
    block = np.zeros(_BLOCK, np.uint8)
    words, left = block.view("<u8"), size
    while left:
        got = file.readinto(memoryview(block)[: min(left, _BLOCK)])  # type: ignore[attr-defined]
        if not got:
            raise OSError(0, "the file ended while it was read")
        block[got:] = 0
        made.update(np.add.reduce(words).tobytes())
        left -= got
    return made.digest()
