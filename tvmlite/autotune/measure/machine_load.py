"""The note for times measured while other processes used the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

BUSY = 0.2
"""The share of the machine from which on use by other processes is reported."""


def note(shares: Sequence[float], where: str = "") -> str:
    """Return the note that other processes disturbed the timing of candidates; empty if they did not.
    ``shares`` are the parts of the machine that they used (NaN: unknown), ``where`` is added to the note."""
    known = [share for share in shares if not math.isnan(share)]
    busy = sum(known) / max(len(known), 1)
    if busy < BUSY:
        return ""
    return (
        f"other processes used {busy:.0%} of this machine while candidates were timed{where}: "
        "times are less certain"
    )
