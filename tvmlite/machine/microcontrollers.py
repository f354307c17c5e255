"""Processors that run without an operating system, by the names that GCC and Clang give them.

They have no vectors of floats: code for them is C with plain loops, and the compiler that translates it
chooses the instructions.
"""

from __future__ import annotations

MICROCONTROLLERS = (
    "cortex-m0",
    "cortex-m0plus",
    "cortex-m3",
    "cortex-m4",
    "cortex-m7",
    "cortex-m23",
    "cortex-m33",
    "cortex-m55",
    "cortex-m85",
    "sifive-e20",
    "sifive-e31",
)
"""What ``-mcpu`` of a C target may be."""
