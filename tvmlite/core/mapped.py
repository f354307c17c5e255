"""Arrays that stay in their file until they are read, and copies that leave little of it in memory."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tvmlite.core.errors import ModelError

PIECE = 64 << 20
"""Bytes of a mapped file that are gone through at a time."""


class _Mapping(mmap.mmap):
    """The bytes of the file ``path``, read only, mapped by ``bytes_of`` from ``address`` on: nothing is lost
    when its pages are given back. ``status`` is what the system said of the file then."""

    path: Path
    status: os.stat_result
    address: int


def bytes_of(path: Path, offset: int = 0, length: int | None = None) -> np.ndarray:
    """``length`` bytes, at least one, of the file ``path`` from ``offset`` on: mapped, read only, uint8.
    None: to its end."""
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
    """A ModelError if ``array`` is mapped and its file was written to since: it has other elements now.

    A file that was replaced or removed is no matter: the system keeps what is mapped.
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
    """Write the elements of ``source`` to ``out``, of the same shape.

    What is mapped is read in pieces, along the axis that its file goes through slowest, and the pages of each
    are given back before the next: they would count as this process's memory.
    """
    check_unchanged(source)
    mapping = _mapping_of(source)
    steps = [(extent - 1) * stride for extent, stride in zip(source.shape, source.strides, strict=True)]
    reach = sum(map(abs, steps))
    if mapping is None or reach <= PIECE:
        out[...] = source
        _give_back(mapping)
        return
    if hasattr(mapping, "madvise"):  # else the disk is asked for each row by itself: four times as slow
        begin = source.ctypes.data + sum(min(step, 0) for step in steps) - mapping.address
        page = begin // mmap.PAGESIZE * mmap.PAGESIZE
        mapping.madvise(mmap.MADV_WILLNEED, page, begin + reach - page)
    axis = int(np.argmax(np.abs(source.strides)))
    step = max(1, source.shape[axis] * PIECE // reach)
    for start in range(0, source.shape[axis], step):
        at = (slice(None),) * axis + (slice(start, start + step),)
        out[at] = source[at]
        _give_back(mapping)


def _mapping_of(array: np.ndarray) -> _Mapping | None:
    """What ``array`` is a view of, if ``bytes_of`` mapped it."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Mapping) else None


@contextmanager
def reading(array: np.ndarray) -> Iterator[np.ndarray]:
    """``array`` for a while, after ``check_unchanged``: its pages are given back at the end."""
    check_unchanged(array)
    yield array
    give_back(array)


def give_back(array: np.ndarray) -> None:
    """Let the pages go that ``array`` is mapped to: they are read from the file again when needed."""
    _give_back(_mapping_of(array))


def _give_back(mapping: _Mapping | None) -> None:
    """Let the pages of ``mapping`` go, which are read from the file again when they are needed."""
    if mapping is not None and hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_DONTNEED)
