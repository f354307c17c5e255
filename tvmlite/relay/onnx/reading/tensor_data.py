"""The data of a model's tensors: in the serialized model itself, or in files beside it.

Protobuf copies what it parses, and returns further copies. So large tensors are removed from a serialized
model before it is parsed (``without_large_tensors``): they become views of the original bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, Union

import numpy as np
import onnx

from tvmlite.core import mapped

LARGE_BYTES = 1 << 16
"""The least bytes of a large tensor; smaller ones are left to protobuf."""

EMBEDDED = "\0"
"""The location of external data that is in the serialized model itself: no file can have this name."""

DEEPEST_MESSAGE = 100
"""The most nested messages, which is also protobuf's limit."""

Part: TypeAlias = Union[bytes, memoryview]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types: see https://protobuf.dev/programming-guides/encoding/."""


@dataclass
class TensorData:
    """The sources of tensor data: ``folder`` for external data (None: not allowed), and ``serialized``, the
    bytes of the model itself (None: it was given parsed)."""

    folder: Path | None = None
    serialized: np.ndarray | None = None
    _files: dict[Path, np.ndarray] = field(default_factory=dict)

    def file(self, path: Path) -> np.ndarray:
        """Return the bytes of ``path``, uint8, mapped once; OSError if it cannot be read."""
        if path not in self._files:
            self._files[path] = mapped.map_file(path)
        return self._files[path]


class _Malformed(ValueError):
    """Not a protobuf message, or shorter than a length in it."""


def without_large_tensors(serialized: np.ndarray) -> bytes:
    """Return the model ``serialized`` (uint8) with the data of large tensors made external, at ``EMBEDDED``.

    A malformed model is returned unchanged: protobuf's error is better.
    """
    view = serialized.data
    try:
        return b"".join(_message(view, 0, len(view), onnx.ModelProto.DESCRIPTOR, DEEPEST_MESSAGE))
    except _Malformed:
        return bytes(view)


def _message(view: memoryview, begin: int, end: int, descriptor: Any, depth: int) -> list[Part]:
    """The message of type ``descriptor`` in ``view`` from ``begin`` to ``end``, as parts to be joined."""
    if descriptor.full_name == onnx.TensorProto.DESCRIPTOR.full_name:
        return _tensor(view, begin, end)
    if depth == 0:
        raise _Malformed
    parts: list[Part] = []
    copied = begin
    for number, start, first, stop in _fields(view, begin, end):
        if stop - first < LARGE_BYTES or number not in descriptor.fields_by_number:
            continue
        inner = descriptor.fields_by_number[number].message_type
        if inner is not None:
            below = _message(view, first, stop, inner, depth - 1)
            key, size = _encode_varint(number << 3 | _BYTES), _encode_varint(sum(map(len, below)))
            parts += [view[copied:start], key, size, *below]
            copied = stop
    return [*parts, view[copied:end]]


def _tensor(view: memoryview, begin: int, end: int) -> list[Part]:
    """A TensorProto, with ``external_data`` in place of ``raw_data`` unless it already has external data."""
    fields, proto = list(_fields(view, begin, end)), onnx.TensorProto
    own = {proto.EXTERNAL_DATA_FIELD_NUMBER, proto.DATA_LOCATION_FIELD_NUMBER}
    if own & {number for number, *_ in fields}:
        return [view[begin:end]]
    parts: list[Part] = []
    for number, start, first, stop in fields:
        if number == proto.RAW_DATA_FIELD_NUMBER and stop - first >= LARGE_BYTES:
            parts.append(_reference(first, stop - first))
        else:
            parts.append(view[start:stop])
    return parts


def _reference(offset: int, length: int) -> bytes:
    """The fields of a TensorProto whose data is in the serialized model."""
    where = {"location": EMBEDDED, "offset": str(offset), "length": str(length)}
    entries = [onnx.StringStringEntryProto(key=key, value=value) for key, value in where.items()]
    tensor = onnx.TensorProto(data_location=onnx.TensorProto.EXTERNAL, external_data=entries)
    return tensor.SerializeToString()


def _fields(view: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message: their numbers, and the positions where they begin, where their bytes begin,
    and where they end. Numbers have no bytes: these begin where the field ends."""
    while at < end:
        start = at
        key, at = _decode_varint(view, at, end)
        kind, size = key & 7, 0
        if kind == _VARINT:
            _, at = _decode_varint(view, at, end)
        elif kind == _BYTES:
            size, at = _decode_varint(view, at, end)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise _Malformed
        first, at = at, at + size
        if at > end:
            raise _Malformed
        yield key >> 3, start, first, at


def _decode_varint(view: memoryview, at: int, end: int) -> tuple[int, int]:
    """The number at ``at``, seven bits per byte, and the position after it."""
    value = shift = 0
    while at < end and shift < 64:
        byte = view[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise _Malformed


def _encode_varint(value: int) -> bytes:
    """Encode ``value``, not negative, with seven bits per byte."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
