"""Memory-mapped arrays, which are read from their file on use, and copies that keep few pages in memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tvmlite.core.errors import ModelError

PIECE_BYTES = 64 << 20
"""Bytes of a mapped file that are copied at a time."""


class _Mapping(mmap.mmap):
    """A read-only mapping of the file ``path``, made by ``map_file``, at ``address``: its pages may be
    released at any time. ``status`` is the file's status when it was mapped."""

    path: Path
    status: os.stat_result
    address: int


def map_file(path: Path, offset: int = 0, length: int | None = None) -> np.ndarray:
    """``length`` bytes, at least one, of the file ``path`` from ``offset`` on (to its end if ``length`` is
    None), as a read-only mapped array of uint8."""
    before = offset % mmap.ALLOCATIONGRANULARITY
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        length = status.st_size - offset if length is None else length
        mapping = _Mapping(
            file.fileno(), before + length, access=mmap.ACCESS_READ, offset=offset - before
        )  # fmt: skip
    made = np.ndarray(length, np.uint8, mapping, before)
    mapping.path, mapping.status, mapping.address = path.absolute(), status, made.ctypes.data - before
    return made


def check_unchanged(array: np.ndarray) -> None:
    """Raise a ModelError if ``array`` is mapped and its file was written to since: its elements may differ.

    A file that was replaced or removed is no problem: the system keeps the mapped contents.
    """
    mapping = _mapping_of(array)
    if mapping is None:
        return
    try:
        now = os.stat(mapping.path)
    except OSError:
        return
    then = mapping.status
    if not os.path.samestat(now, then):
        return
    if (now.st_size, now.st_mtime_ns) != (then.st_size, then.st_mtime_ns):
        raise ModelError(
            f"{str(mapping.path)!r} was written to after it was imported: its weights are read when needed",
            hint="import it again; or write another file and put it in its place with os.replace",
        )


def copy(out: np.ndarray, source: np.ndarray) -> None:
    """Copy the elements of ``source`` to ``out``, of the same shape.

    A mapped ``source`` is copied in pieces along its axis of largest stride, and the pages of each piece are
    released before the next: they would count as this process's memory.
    """
    check_unchanged(source)
    mapping = _mapping_of(source)
    steps = [(extent - 1) * stride for extent, stride in zip(source.shape, source.strides, strict=True)]
    reach = sum(map(abs, steps))
    if mapping is None or reach <= PIECE_BYTES:
        out[...] = source
        _release(mapping)
        return
    if hasattr(mapping, "madvise"):  # else each row is a separate request to the disk: four times as slow
        begin = source.ctypes.data + sum(min(step, 0) for step in steps) - mapping.address
        page = begin // mmap.PAGESIZE * mmap.PAGESIZE
        mapping.madvise(mmap.MADV_WILLNEED, page, begin + reach - page)
    axis = int(np.argmax(np.abs(source.strides)))
    step = max(1, source.shape[axis] * PIECE_BYTES // reach)
    for start in range(0, source.shape[axis], step):
        at = (slice(None),) * axis + (slice(start, start + step),)
        out[at] = source[at]
        _release(mapping)


def _mapping_of(array: np.ndarray) -> _Mapping | None:
    """The mapping that ``array`` is a view of, if ``map_file`` made it; else None."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Mapping) else None


@contextmanager
def reading(array: np.ndarray) -> Iterator[np.ndarray]:
    """A context that gives ``array``, after ``check_unchanged``, and releases its pages at the end."""
    check_unchanged(array)
    yield array
    release_pages(array)


def release_pages(array: np.ndarray) -> None:
    """Release the pages that ``array`` is mapped to: they are read from the file again when needed."""
    _release(_mapping_of(array))


def _release(mapping: _Mapping | None) -> None:
    """Release the pages of ``mapping``, if it is one: they are read from the file again when needed."""
    if mapping is not None and hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_DONTNEED)
