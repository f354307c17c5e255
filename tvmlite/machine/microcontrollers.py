"""Processors that run without an operating system, by the names that GCC and Clang give them.

Code for them is C with plain loops; techniques provide C functions that use their instruction sets.
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
"""The values of ``-mcpu`` of a C target, with the instruction sets for narrow integers that each has: two
16-bit products at once ("dsp"), vectors of 128 bits ("mve")."""

COMPILERS = {
    "cortex-m": ("arm-none-eabi-gcc", "arm-none-eabi-size", "-mthumb"),
    "sifive-e": ("riscv64-unknown-elf-gcc", "riscv64-unknown-elf-size"),
}
"""By prefix of the processor's name: the compiler, the tool that lists the sections of its objects, and the
compiler's options."""
