"""LLVM's x86 intrinsics by their names in ``<immintrin.h>``, and the macros that say whether they exist."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

HEADER = "#include <immintrin.h>"


@dataclass(frozen=True)
class Intrinsic:
    """A function ``name`` of the header; ``arguments`` and ``result`` are its vector types."""

    name: str
    result: str
    arguments: tuple[str, ...]


INTRINSICS = {
    f"llvm.x86.avx512.vpdpbusd.{bits}": Intrinsic(
        f"{prefix}_dpbusd_epi32", f"__m{bits}i", (f"__m{bits}i",) * 3
    )
    for bits, prefix in ((512, "_mm512"), (256, "_mm256"), (128, "_mm"))
} | {
    f"llvm.x86.avx512bf16.dpbf16ps.{bits}": Intrinsic(
        f"{prefix}_dpbf16_ps", f"__m{bits}", (f"__m{bits}", f"__m{bits}bh", f"__m{bits}bh")
    )
    for bits, prefix in ((512, "_mm512"), (256, "_mm256"), (128, "_mm"))
}
"""Functions by LLVM's name. Compilers choose AVX-VNNI or AVX-512 VNNI for those of 256 and 128 bits."""

_MACROS = {
    name: f"__{name.upper()}__"
    for name in ("avx512f", "avx512dq", "avx512vl", "avx512vnni", "avxvnni", "avx512bf16", "fma")
}
"""The predefined macros of instruction sets, by LLVM's name."""

_REGISTERS = {4: "_mm", 8: "_mm256", 16: "_mm512"}

SCALED_LANES = frozenset(_REGISTERS)
"""The numbers of lanes of float32 vectors for which ``scale`` and ``limit`` exist."""


def has_form(needs: Iterable[str], names: Iterable[str]) -> bool:
    """Whether C can test for the instruction sets ``needs`` and call the LLVM intrinsics ``names``."""
    return all(n in _MACROS for n in needs) and all(n in INTRINSICS for n in names)


def condition(needs: Iterable[str]) -> str:
    """The ``#if`` condition that is true if all instruction sets in ``needs`` are available."""
    return " && ".join(f"defined({_MACROS[name]})" for name in needs)


def scaling_needs(lanes: int) -> tuple[str, ...]:
    """The instruction sets that ``scale`` and ``limit`` need for this number of lanes."""
    return ("avx512f", "avx512dq") if lanes == 16 else ("avx512f", "avx512dq", "avx512vl")


def mask_needs(lanes: int) -> tuple[str, ...]:
    """The instruction sets that ``extreme`` and ``padding``, with their masks, need for these lanes."""
    return ("avx512f",) if lanes == 16 else ("avx512f", "avx512vl")


def extreme(lanes: int, greatest: bool, a: str, b: str) -> str:
    """The maximum or minimum of float32 vectors: ``b`` where either operand is NaN or both are 0."""
    return f"{_REGISTERS[lanes]}_{'max' if greatest else 'min'}_ps({a}, {b})"


def padding(lanes: int, type_: str, holds: str, place: str) -> str:
    """The float32 vector at ``place`` if ``holds`` is true, else zeros without reading memory."""
    return f"(({type_}){_REGISTERS[lanes]}_maskz_loadu_ps((__mmask{max(lanes, 8)})-({holds}), {place}))"


def call(name: str, args: Iterable[str]) -> str:
    """The text of a call of LLVM's intrinsic ``name``."""
    known = INTRINSICS[name]
    given = (f"({kind}){arg}" for kind, arg in zip(known.arguments, args, strict=True))
    return f"{known.name}({', '.join(given)})"


class Form(NamedTuple):
    """An expression in C, and the instruction sets that it needs."""

    text: str
    needs: tuple[str, ...]


def multiply_add(lanes: int, dtype: str, a: str, b: str, c: str) -> Form | None:
    """``a * b + c``, rounded once; None for vectors that do not fill a register."""
    letter, bits = ("s", 32 * lanes) if dtype == "float32" else ("d", 64 * lanes)
    if bits not in (128, 256, 512):
        return None
    prefix, type_ = ("_mm" if bits == 128 else f"_mm{bits}"), f"__m{bits}{'' if letter == 's' else 'd'}"
    args = ", ".join(f"({type_})({x})" for x in (a, b, c))
    return Form(f"{prefix}_fmadd_p{letter}({args})", ("avx512f",) if bits == 512 else ("fma",))


def scale(lanes: int, x: str, whole: str) -> str:
    """``x * 2**whole`` for float32 vectors."""
    return f"{_REGISTERS[lanes]}_scalef_ps({x}, {whole})"


def limit(lanes: int, x: str, most: str) -> str:
    """``x`` limited to a magnitude of at most ``most``: the lesser magnitude with the sign of ``x``."""
    return f"{_REGISTERS[lanes]}_range_ps({x}, {most}, 2)"
