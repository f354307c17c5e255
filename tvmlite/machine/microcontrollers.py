"""Processors that run without an operating system, by the names that GCC and Clang give them.

Code for them is C with plain loops; techniques have functions in C for what their instruction sets do.
"""

from __future__ import annotations

_DSP, _MVE = frozenset(("dsp",)), frozenset(("dsp", "mve"))

MICROCONTROLLERS: dict[str, frozenset[str]] = {
    "cortex-m0": frozenset(),
    "cortex-m0plus": frozenset(),
    "cortex-m3": frozenset(),
    "cortex-m4": _DSP,
    "cortex-m7": _DSP,
    "cortex-m23": frozenset(),
    "cortex-m33": _DSP,
    "cortex-m55": _MVE,
    "cortex-m85": _MVE,
    "sifive-e20": frozenset(),
    "sifive-e31": frozenset(),
}
"""What ``-mcpu`` of a C target may be, and the instruction sets for narrow numbers that it has: two products
of 16 bits at once ("dsp"), vectors of 128 bits ("mve")."""

COMPILERS = {
    "cortex-m": ("arm-none-eabi-gcc", "arm-none-eabi-size", "-mthumb"),
    "sifive-e": ("riscv64-unknown-elf-gcc", "riscv64-unknown-elf-size"),
}
"""By how the names of processors begin: the compiler for them, what lists the sections of its objects, and
what the compiler must be told."""
