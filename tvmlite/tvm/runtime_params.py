"""``save_param_dict`` and ``load_param_dict``: a dict of parameters as bytes in TVM's format.

A file is a magic number, 8 reserved bytes, the list of names, and the list of arrays, of the same length.
Numbers are little-endian; lists and strings begin with their length in 8 bytes. An array is a magic number,
8 reserved bytes, its device, rank, dtype, extents and elements. The input is untrusted: every length is
checked against the number of bytes left.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.runtime.ndarray import NDArray, array

LIST_MAGIC = 0xF7E58D4F05049CB7
ARRAY_MAGIC = 0xDD5E40F096B4A13F

_CPU = (1, 0)
"""The device that a file names, as DLPack's type and index: the first CPU."""

_KINDS = {"i": 0, "u": 1, "f": 2}
"""DLPack's type codes by numpy's kinds of dtypes."""

_DTYPES = {
    **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (1, 1): "bool",
    (6, 8): "bool",
}

_MOST_AXES = 32


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Serialize ``params``, arrays by name. A dtype that the format does not have is an InputError."""
    names = [str(name).encode() for name in params]
    parts = [struct.pack("<QQQ", LIST_MAGIC, 0, len(names))]
    parts += [struct.pack("<Q", len(name)) + name for name in names]
    parts.append(struct.pack("<Q", len(names)))
    for name, value in params.items():
        parts += _array_bytes(str(name), np.asarray(value))
    return bytearray(b"".join(parts))


def load_param_dict(param_bytes: Any) -> dict[str, NDArray]:
    """Read the arrays by name from bytes that ``save_param_dict`` or TVM wrote. Damaged bytes are an
    InputError."""
    reader = _Reader(param_bytes)
    if reader.number("magic number") != LIST_MAGIC:
        raise InputError("load_param_dict: not a parameter file: wrong magic number")
    reader.number("reserved")
    names = [reader.text() for _ in range(reader.count("names", 8))]
    if len(set(names)) != len(names):
        raise InputError("load_param_dict: duplicate name")
    if reader.count("arrays", 8) != len(names):
        raise InputError(f"load_param_dict: there are {len(names)} names, and a different number of arrays")
    made = {name: reader.array(name) for name in names}
    if reader.left:
        raise InputError(f"load_param_dict: {reader.left} bytes are left after the last array")
    return made


def read_array(name: str, data: bytes) -> NDArray:
    """Read one array in TVM's format. Damaged bytes are an InputError that has ``name``."""
    reader = _Reader(data, "read_array")
    made = reader.array(name)
    if reader.left:
        raise InputError(f"read_array: {reader.left} bytes are left after the array {name!r}")
    return made


def save_param_dict_to_file(params: Mapping[str, Any], path: Any) -> None:
    """Write ``save_param_dict(params)`` to the file ``path``."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict_from_file(path: Any) -> dict[str, NDArray]:
    """Read the file ``path`` with ``load_param_dict``."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())


def _array_bytes(name: str, value: np.ndarray) -> list[bytes]:
    if value.dtype == np.bool_:
        code, bits = 1, 1
    elif value.dtype.kind in _KINDS and (_KINDS[value.dtype.kind], 8 * value.dtype.itemsize) in _DTYPES:
        code, bits = _KINDS[value.dtype.kind], 8 * value.dtype.itemsize
    else:
        raise InputError(f"save_param_dict: {name!r} is of {value.dtype}, which the format does not have")
    little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    head = struct.pack("<QQ2i", ARRAY_MAGIC, 0, *_CPU) + struct.pack("<iBBH", value.ndim, code, bits, 1)
    extents = struct.pack(f"<{value.ndim}q", *value.shape)
    return [head, extents, struct.pack("<q", little.nbytes), little.tobytes()]


class _Reader:
    """Reads values one after the other from bytes; reading beyond their end is an InputError."""

    def __init__(self, given: Any, of: str = "load_param_dict") -> None:
        self._of = of
        if not isinstance(given, (bytes, bytearray, memoryview)):
            raise InputError(f"{self._of}: a {type(given).__name__} given, expected bytes")
        self._bytes, self._place = memoryview(given).cast("B"), 0

    @property
    def left(self) -> int:
        """The number of bytes not read yet."""
        return len(self._bytes) - self._place

    def take(self, size: int, what: str) -> memoryview:
        """Read the next ``size`` bytes."""
        if not 0 <= size <= self.left:
            raise InputError(
                f"{self._of}: {what} takes {size} bytes at {self._place}, and {self.left} are left"
            )
        self._place += size
        return self._bytes[self._place - size : self._place]

    def unpack(self, form: str, what: str) -> tuple[Any, ...]:
        """Read the next numbers, of ``struct``'s format ``form``."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))

    def number(self, what: str) -> int:
        """Read the next unsigned number of 8 bytes."""
        return self.unpack("Q", what)[0]

    def count(self, what: str, each: int) -> int:
        """Read the length of a list of items of at least ``each`` bytes, and check it by the bytes left."""
        count = self.number(f"the number of {what}")
        if count * each > self.left:
            raise InputError(f"{self._of}: {count} {what} cannot be in the {self.left} bytes left")
        return count

    def text(self) -> str:
        """Read the next string."""
        found = bytes(self.take(self.number("the length of a name"), "a name"))
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise InputError(f"{self._of}: the name {found[:40]!r} is not UTF-8") from None

    def array(self, name: str) -> NDArray:
        """Read the next array."""
        what = f"the array {name!r}"
        if self.number(what) != ARRAY_MAGIC:
            raise InputError(f"{self._of}: {what} does not begin with its magic number")
        self.number(what)
        device, _, axes, code, bits, lanes = self.unpack("iiiBBH", what)
        if device != _CPU[0] or not 0 <= axes <= _MOST_AXES or lanes != 1 or (code, bits) not in _DTYPES:
            raise InputError(
                f"{self._of}: {what} is of device {device}, {axes} axes, dtype {code}:{bits}x{lanes}; "
                f"expected device {_CPU[0]}, at most {_MOST_AXES} axes, and a dtype of numpy"
            )
        shape = self.unpack(f"{axes}q", what)
        dtype = np.dtype(_DTYPES[code, bits]).newbyteorder("<")
        (size,) = self.unpack("q", what)
        if min(shape, default=0) < 0 or size != math.prod(shape) * dtype.itemsize:
            raise InputError(f"{self._of}: {what} of shape {shape} has {size} bytes of {dtype.name}")
        found = np.frombuffer(self.take(size, what), dtype).reshape(shape)
        return array(found.astype(dtype.newbyteorder("="), copy=True))
