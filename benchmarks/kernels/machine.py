"""The vectors of this machine: their lanes and the number of registers, which determine the size of tiles."""

from __future__ import annotations

from typing import TypeVar

from tvmlite.machine.target import Target

T = TypeVar("T")

TARGET = Target.parse("native")

LANES = TARGET.lanes("float32")
"""The number of float32 elements of a vector."""


def by_registers(many: T, few: T) -> T:
    """``many`` if there are 32 vector registers, as in AVX-512 and on AArch64, ``few`` if there are 16.

    A tile's sums, a step's vectors and one broadcast have to fit; otherwise registers are spilled in each
    step.
    """
    return many if TARGET.vector_registers >= 32 else few
