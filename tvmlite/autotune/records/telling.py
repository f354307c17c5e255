"""What is told of records that cannot be used: each thing once in a run that reads them often."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TOLD: ContextVar[set[str] | None] = ContextVar("told", default=None)


@contextmanager
def once() -> Iterator[None]:
    """Within the block, or the function that this decorates, nothing is told a second time."""
    token = _TOLD.set(set())
    try:
        yield
    finally:
        _TOLD.reset(token)


def tell(notes: Iterable[str], stacklevel: int) -> None:
    """Warn of each of ``notes``; ``stacklevel`` is as in ``warnings.warn``."""
    told = _TOLD.get()
    for note in notes:
        if told is None or note not in told:
            warnings.warn(note, stacklevel=stacklevel + 1)
        if told is not None:
            told.add(note)
