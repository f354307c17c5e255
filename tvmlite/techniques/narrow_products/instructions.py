"""``vdpbf16ps`` and ``vpdpbusd``: instructions that multiply two numbers of 16 bits, four of 8, at once."""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.techniques.common import x86


def quads(target: Target) -> int:
    """How many sums of four products of 8 bits ``target`` makes at once; 0: it has no instruction."""
    return next((lanes for lanes, needs in x86.QUADS.items() if any(map(target.has, needs))), 0)


def dot_instruction(target: Target, dtype: str, lanes: int, words: bool) -> TensorIntrin | None:
    """The instruction for ``lanes`` sums of ``dtype``, if ``target`` has it; see ``DotInstructions``."""
    if dtype == "int32":
        return x86.dot_16x1x16_uint8_int8_int32(lanes, words) if quads(target) >= lanes else None
    return x86.dot_16x1x16_bfloat16_float32(lanes, words) if target.has("avx512bf16") else None
