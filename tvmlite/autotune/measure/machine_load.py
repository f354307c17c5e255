"""The note about a machine that other processes used while something was timed."""

from __future__ import annotations

import math
from collections.abc import Sequence

BUSY = 0.2
"""The share of the machine from which on use by others is reported."""


def note(shares: Sequence[float], where: str = "") -> str:
    """That other processes disturbed what was timed, if they used such ``shares`` of the machine (NaN: not
    known) while candidates were timed, as ``where`` says; empty if they did not."""
    known = [share for share in shares if not math.isnan(share)]
    busy = sum(known) / max(len(known), 1)
    if busy < BUSY:
        return ""
    return (
        f"other processes used {busy:.0%} of this machine while candidates were timed{where}: "
        "times are less certain"
    )
