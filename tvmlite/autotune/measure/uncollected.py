"""Building without garbage collection, and collecting only what building made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Within the block there is no garbage collection: it takes a tenth of the time of building, which makes
    many nodes and hardly a cycle."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


@contextmanager
def aside() -> Iterator[None]:
    """Within the block, garbage collection does not go through what there was before it: that is all of the
    program, and takes three times as long as what a batch of candidates leaves behind.

    Where others have set objects aside already, these would be lost among them, and nothing is done.
    """
    free = gc.get_freeze_count() == 0
    if free:
        gc.freeze()
    try:
        yield
    finally:
        if free:
            gc.unfreeze()
