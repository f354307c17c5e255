"""Arrays that stay in their file until they are read, and copies that leave little of it in memory."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np

PIECE = 64 << 20
"""Bytes of a mapped file that are gone through at a time."""


class _Mapping(mmap.mmap):
    """A file's bytes, read only, mapped by ``bytes_of``: nothing is lost when its pages are given back."""


def bytes_of(path: Path, offset: int, length: int) -> np.ndarray:
    """``length`` bytes, at least one, of the file ``path`` from ``offset`` on: mapped, read only, uint8."""
    before = offset % mmap.ALLOCATIONGRANULARITY
    with open(path, "rb") as file:
        mapping = _Mapping(
            file.fileno(), before + length, access=mmap.ACCESS_READ, offset=offset - before
        )  # fmt: skip
    return np.ndarray(length, np.uint8, mapping, before)


def copy(out: np.ndarray, source: np.ndarray) -> None:
    """Write the elements of ``source`` to ``out``, of the same shape.

    What is mapped is read in pieces, along the axis that its file goes through slowest, and the pages of each
    are given back before the next: they would count as this process's memory.
    """
    mapping = _mapping_of(source)
    pairs = zip(source.shape, source.strides, strict=True)
    reach = sum((extent - 1) * abs(stride) for extent, stride in pairs)
    if mapping is None or reach <= PIECE:
        out[...] = source
        _give_back(mapping)
        return
    if hasattr(mapping, "madvise"):  # else the disk is asked for each row by itself: four times as slow
        mapping.madvise(mmap.MADV_WILLNEED)
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


def _give_back(mapping: _Mapping | None) -> None:
    """Let the pages of ``mapping`` go, which are read from the file again when they are needed."""
    if mapping is not None and hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_DONTNEED)
