"""The instructions with which a target sums two products of 16 bits, or four of 8, at once."""

from __future__ import annotations

from functools import cache

from tvmlite.machine.target import Target
from tvmlite.te.intrin.words import WORDS
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.techniques.common import arm, x86
from tvmlite.techniques.common.quads import QuadInstruction, quad_dot

QUADS = (*x86.QUADS, *arm.QUADS)
"""The instructions of all architectures, the preferred ones of each first."""


def vector_quads(target: Target) -> QuadInstruction | None:
    """How ``target`` sums four products of bytes; None if it has no instruction as wide as its vectors, as
    floats are faster then."""
    whole = target.lanes("int32")
    return next((row for row in QUADS if row.lanes == whole and row.is_supported_by(target)), None)


def dot_instruction(target: Target, dtype: str, lanes: int, data: str) -> TensorIntrin | None:
    """The instruction for ``lanes`` sums of ``dtype``, if ``target`` has it; see ``DotInstructions``."""
    if dtype == "int32":
        for row in QUADS:
            if row.lanes == lanes and row.is_supported_by(target) and data in (row.data, WORDS[row.data]):
                return _of_row(row, data != row.data)
        return None
    return x86.dot_16x1x16_bfloat16_float32(lanes, data == "uint32") if target.has("avx512bf16") else None


@cache
def _of_row(row: QuadInstruction, words: bool) -> TensorIntrin:
    return quad_dot(row.lanes, row.data, words, row.name, {row.needs: row.step})
