"""Messages between the tuner and its worker: a JSON object and a payload of bytes, over a pipe."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any

_HEADER = struct.Struct("<II")
LONGEST_MESSAGE = 1 << 28
"""The most bytes of a message; a longer one is a sign that the two sides are out of step."""

NEXT_MODULE = "\n; the next module\n"
"""The separator between the LLVM modules of a candidate: its function, and the one that computes the size of
its workspace."""


class Closed(Exception):
    """The other side has closed the pipe."""


class TooLate(Exception):
    """The deadline has passed."""


def send(
    descriptor: int, fields: dict[str, Any], payload: bytes = b"", deadline: float | None = None
) -> None:
    """Write a message; Closed if the other side has closed the pipe, TooLate if it is not written before
    ``deadline`` (``time.monotonic``)."""
    text = json.dumps(fields).encode()
    data = memoryview(_HEADER.pack(len(text), len(payload)) + text + payload)
    while data:
        try:
            data = data[os.write(descriptor, data[:65536]) :]
        except BlockingIOError:
            _wait([], [descriptor], deadline)
        except OSError:
            raise Closed from None


def receive(descriptor: int, deadline: float | None = None) -> tuple[dict[str, Any], bytes]:
    """Read a message; Closed if the other side ends before the message is complete, TooLate as for ``send``.

    Only one side sends at a time, so that all data in the pipe belong to this message. They are read at once:
    each time that a thread waits, others may delay it further.
    """
    data, size, begin = bytearray(), _HEADER.size, 0
    while len(data) < size:
        _wait([descriptor], [], deadline)
        part = os.read(descriptor, 1 << 20)
        if not part:
            raise Closed
        data += part
        if not begin and len(data) >= size:
            lengths = _HEADER.unpack_from(data)
            begin = _HEADER.size + lengths[0]
            size += sum(lengths)
            if sum(lengths) > LONGEST_MESSAGE:
                raise Closed
    if len(data) > size:
        raise Closed
    return json.loads(data[_HEADER.size : begin]), bytes(data[begin:])


def _wait(readers: list[int], writers: list[int], deadline: float | None) -> None:
    if deadline is None:
        return
    left = deadline - time.monotonic()
    if left <= 0 or not any(select.select(readers, writers, [], left)):
        raise TooLate
