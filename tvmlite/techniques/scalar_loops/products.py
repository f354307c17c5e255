"""Products of bytes on machines without vectors."""

from __future__ import annotations

from tvmlite.machine.target import Target


def multiplies_bytes(target: Target) -> int:
    """Sums of products of bytes that are made at once: one where there are no vectors, since a product of
    integers costs such a processor no more than one of floats, and mostly less."""
    return int(target.scalar)
