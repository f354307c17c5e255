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
"""Between the LLVM modules of a candidate: its function, and the one that computes how much memory that
needs."""


class Closed(Exception):
    """The other side is gone."""


class TooLate(Exception):
    """Nothing came in time."""


def send(
    descriptor: int, fields: dict[str, Any], payload: bytes = b"", deadline: float | None = None
) -> None:
    """Write a message; Closed if the other side has closed the pipe, TooLate if not before ``deadline``
    (``time.monotonic``)."""
    text = json.dumps(fields).encode()
    data = memoryview(_HEAD.pack(len(text), len(payload)) + text + payload)
    while data:
        try:
            data = data[os.write(descriptor, data[:65536]) :]
        except BlockingIOError:
            _wait([], [descriptor], deadline)
        except OSError:
            raise Closed from None


def receive(descriptor: int, deadline: float | None = None) -> tuple[dict[str, Any], bytes]:
    """Read a message; Closed if the other side ends before it is whole, TooLate as for ``send``.

    One side speaks at a time, so that all there is to read is of the message. It is read at once: each time
    that a thread waits, others may keep it waiting.
    """
    data, size, begin = bytearray(), _HEAD.size, 0
    while len(data) < size:
        _wait([descriptor], [], deadline)
        part = os.read(descriptor, 1 << 20)
        if not part:
            raise Closed
        data += part
        if not begin and len(data) >= size:
            lengths = _HEAD.unpack_from(data)
            begin = _HEAD.size + lengths[0]
            size += sum(lengths)
            if sum(lengths) > LONGEST:
                raise Closed
    if len(data) > size:
        raise Closed
    return json.loads(data[_HEAD.size : begin]), bytes(data[begin:])


def _wait(readers: list[int], writers: list[int], deadline: float | None) -> None:
    if deadline is None:
        return
    left = deadline - time.monotonic()
    if left <= 0 or not any(select.select(readers, writers, [], left)):
        raise TooLate
