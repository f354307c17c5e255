"""How a running program detects the instruction sets of its processor.

One row per instruction set, by LLVM's name. On x86 it is a bit of the result of the instruction CPUID
(Intel's manual, volume 2, "CPUID"; AMD's, volume 3, appendix E), with the registers that the system must save
at a thread switch (bits of XCR0, volume 1, chapter 13). Elsewhere it is a bit of the auxiliary vector that
Linux gives each process (``getauxval(3)``, ``asm/hwcap.h``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tvmlite.machine.target import family

_EAX, _EBX, _ECX, _EDX = range(4)

_SSE, _AVX, _AVX512, _TILES = 0, 0x6, 0xE6, 0x60000
"""The bits of XCR0 for the registers that every 64-bit system saves; YMM; ZMM and masks; tiles."""


@dataclass(frozen=True)
class CpuCheck:
    """The position of the bit that is set if the processor has ``name``.

    It is bit ``bit`` of register ``part`` after CPUID with ``leaf`` and ``subleaf``, or of the entry of type
    ``leaf`` in the auxiliary vector. ``state`` are the bits of XCR0 that must be set; ``tiles``: whether the
    process must also request tiles from the system.
    """

    name: str
    leaf: int
    subleaf: int
    part: int
    bit: int
    state: int = 0
    tiles: bool = False


def _x86(names: str, leaf: int, subleaf: int, part: int, state: int) -> Iterable[CpuCheck]:
    for word in names.split():
        name, bit = word.split(":")
        tiles = state == _TILES
        yield CpuCheck(name, leaf, subleaf, part, int(bit), state, tiles)


_X86 = (
    *_x86("sse2:26", 1, 0, _EDX, _SSE),
    *_x86("sse3:0 ssse3:9 sse4.1:19 sse4.2:20 popcnt:23", 1, 0, _ECX, _SSE),
    *_x86("avx:28 fma:12 f16c:29", 1, 0, _ECX, _AVX),
    *_x86("lzcnt:5", 0x80000001, 0, _ECX, _SSE),
    *_x86("bmi:3 bmi2:8", 7, 0, _EBX, _SSE),
    *_x86("avx2:5", 7, 0, _EBX, _AVX),
    *_x86("gfni:8", 7, 0, _ECX, _SSE),
    *_x86("avx512f:16 avx512dq:17 avx512ifma:21 avx512cd:28 avx512bw:30 avx512vl:31", 7, 0, _EBX, _AVX512),
    *_x86("avx512vbmi:1 avx512vbmi2:6 avx512vnni:11 avx512bitalg:12", 7, 0, _ECX, _AVX512),
    *_x86("avx512vpopcntdq:14", 7, 0, _ECX, _AVX512),
    *_x86("avx512fp16:23", 7, 0, _EDX, _AVX512),
    *_x86("avxvnni:4", 7, 1, _EAX, _AVX),
    *_x86("avx512bf16:5", 7, 1, _EAX, _AVX512),
    *_x86("avxvnniint8:4", 7, 1, _EDX, _AVX),
    *_x86("amx-bf16:22 amx-tile:24 amx-int8:25", 7, 0, _EDX, _TILES),
    *_x86("amx-fp16:21", 7, 1, _EAX, _TILES),
)

_HWCAP, _HWCAP2 = 16, 26
"""Types of entries of the auxiliary vector."""

_AARCH64 = tuple(
    CpuCheck(name, leaf, 0, 0, bit)
    for name, leaf, bit in (
        ("neon", _HWCAP, 1),
        ("fp-armv8", _HWCAP, 0),
        ("fullfp16", _HWCAP, 10),
        ("dotprod", _HWCAP, 20),
        ("sve", _HWCAP, 22),
        ("fp16fml", _HWCAP, 23),
        ("sve2", _HWCAP2, 1),
        ("i8mm", _HWCAP2, 13),
        ("bf16", _HWCAP2, 14),
        ("sme", _HWCAP2, 23),
    )
)

_RISCV = tuple(CpuCheck(name, _HWCAP, 0, 0, ord(name) - ord("a")) for name in "mafdcv")

_BY_FAMILY = {"x86": _X86, "aarch64": _AARCH64, "riscv": _RISCV}


def checks_of(triple: str, instructions: Iterable[str]) -> tuple[CpuCheck, ...]:
    """The checks for those of ``instructions`` that a program for ``triple`` can detect, in table order."""
    wanted = frozenset(instructions)
    return tuple(one for one in _BY_FAMILY.get(family(triple), ()) if one.name in wanted)
