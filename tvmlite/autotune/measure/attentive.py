"""Thinking beside a thread that talks to the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 5e-4
"""Seconds that a thread waits for another to pause, a tenth of what Python has it wait."""


@contextmanager
def attentive() -> Iterator[None]:
    """Within the block, a thread that has heard of the machine soon goes on, although others are busy.

    It is to hand over the next candidate, and waits for its turn several times before it has: meanwhile the
    machine has nothing to do.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(PATIENCE, before))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
