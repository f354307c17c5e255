"""Messages between the tuner and its worker: a JSON object and some bytes, over a pipe."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any

_HEAD = struct.Struct("<II")
LONGEST = 1 << 28
"""Bytes of a message; more is a sign that the two sides have lost each other."""

NEXT_MODULE = "\n; the next module\n"
"""Between the LLVM modules of a candidate: its function, and what tells how much memory that needs."""


class Closed(Exception):
    """The other side is gone."""


class TooLate(Exception):
    """Nothing came in time."""


def send(
    descriptor: int, fields: dict[str, Any], payload: bytes = b"", deadline: float | None = None
) -> None:
    """Write a message; Closed if nobody reads it, TooLate if not before ``deadline`` (``time.monotonic``)."""
    text = json.dumps(fields).encode()
    data = memoryview(_HEAD.pack(len(text), len(payload)) + text + payload)
    while data:
        _wait([], [descriptor], deadline)
        try:
            data = data[os.write(descriptor, data[:65536]) :]
        except (BrokenPipeError, OSError):
            raise Closed from None


def receive(descriptor: int, deadline: float | None = None) -> tuple[dict[str, Any], bytes]:
    """Read a message; Closed if the other side ends before it is whole, TooLate as for ``send``."""
    lengths = _HEAD.unpack(_exactly(descriptor, _HEAD.size, deadline))
    if sum(lengths) > LONGEST:
        raise Closed
    fields = json.loads(_exactly(descriptor, lengths[0], deadline))
    return fields, _exactly(descriptor, lengths[1], deadline)


def _exactly(descriptor: int, size: int, deadline: float | None) -> bytes:
    parts = []
    while size:
        _wait([descriptor], [], deadline)
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise Closed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _wait(readers: list[int], writers: list[int], deadline: float | None) -> None:
    if deadline is None:
        return
    left = deadline - time.monotonic()
    if left <= 0 or not any(select.select(readers, writers, [], left)):
        raise TooLate
