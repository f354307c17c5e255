"""What the compiler asks of a processor besides its instruction sets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """A processor, as far as schedules depend on it.

    ``vector_bits`` is the width of a vector register, ``vector_registers`` how many there are, and ``cores``
    how many cores a kernel may be divided among.
    """

    vector_bits: int
    vector_registers: int
    cores: int
