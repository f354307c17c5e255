"""Dot products of four bytes by instructions of AArch64, with four sums per vector: ``sdot``
multiplies int8 by int8, ``usdot`` uint8 by int8."""

from __future__ import annotations

from functools import cache

from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.techniques.common.quads import QuadInstruction, one_instruction, quad_dot

LANES = 4
"""The number of int32 sums in a vector of 128 bits."""

QUADS = (
    QuadInstruction(
        "usdot", "neon,i8mm", LANES, "uint8", one_instruction("llvm.aarch64.neon.usdot.v4i32.v16i8")
    ),
    QuadInstruction(
        "sdot", "neon,dotprod", LANES, "int8", one_instruction("llvm.aarch64.neon.sdot.v4i32.v16i8")
    ),
)
"""The preferred one first: in most models, quantized data is uint8."""


@cache
def dot_4x1x4_int8(data: str = "uint8", words: bool = False) -> TensorIntrin:
    """``C[i] += sum(data[k] * int8 kernel[i, k])`` for 4 ``i`` and 4 ``k``, in int32.

    ::

        for i in range(4):                  -->    C[0:4] = usdot(C[0:4], data[0:4] 4 times, kernel[0:4, 0:4])
            for k in range(4):
                C[i] += data[k] * kernel[i, k]

    ``data`` is uint8 (``usdot``) or int8 (``sdot``); with ``words`` it is one uint32, or int32, that holds
    four bytes (``byte_of``). ``kernel`` is dense: 4 rows of 4. Sums wrap, as int32 does.
    """
    steps = {row.needs: row.step for row in QUADS if row.data == data}
    return quad_dot(LANES, data, words, "usdot" if data == "uint8" else "sdot", steps)
