"""The vectors of this machine: what tiles of sums are made of, and how many there are to hold them."""

from __future__ import annotations

from typing import TypeVar

from tvmlite.machine.target import Target

T = TypeVar("T")

TARGET = Target.parse("native")

LANES = TARGET.lanes("float32")
"""Elements of a vector."""


def by_registers(many: T, few: T) -> T:
    """``many`` where there are 32 vector registers, as in AVX-512 and on AArch64, ``few`` where there are 16.

    A tile's sums, a step's vectors and one broadcast have to fit; what does not is spilled in each step.
    """
    return many if TARGET.vector_registers >= 32 else few
