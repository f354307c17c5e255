"""Dot products of short rows by instructions of x86: VNNI's ``vpdpbusd``, AVX-512's ``vdpbf16ps``, and for
bytes without VNNI ``pmaddwd``, which every x86 processor has."""

from __future__ import annotations

from functools import cache

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import call_llvm_intrin, reinterpret
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.te.tensor.declare import placeholder
from tvmlite.techniques.common.quads import QuadInstruction, Step, dot, one_instruction, quad_dot

_BF16 = {16: "avx512bf16", 8: "avx512bf16,avx512vl", 4: "avx512bf16,avx512vl"}


def _by_pairs(instruction: str) -> Step:
    """The step by an ``instruction`` that sums two products of int16 in int32, on whole vectors.

    Bytes are widened to int16 in two halves, the even and the odd bytes, so that none changes its lane:
    weights once for all pixels or rows of a tile, data once for all columns.
    """

    def step(sums: e.Expr, data: e.Expr, rows: e.Expr) -> e.Expr:
        pairs = 2 * sums.lanes
        eight = e.const(8, "int16", pairs)
        value, weight = (reinterpret(f"int16x{pairs}", one) for one in (data, rows))
        halves = (
            (value & e.const(0xFF, "int16", pairs), weight << eight >> eight),
            (
                reinterpret(
                    f"int16x{pairs}", reinterpret(f"uint16x{pairs}", value) >> e.const(8, "uint16", pairs)
                ),
                weight >> eight,
            ),
        )
        first, second = (call_llvm_intrin(f"int32x{sums.lanes}", instruction, *half) for half in halves)
        return sums + (first + second)

    return step


QUADS = (
    QuadInstruction("vpdpbusd", "avx512vnni", 16, "uint8", one_instruction("llvm.x86.avx512.vpdpbusd.512")),
    QuadInstruction("pmaddwd", "avx512bw", 16, "uint8", _by_pairs("llvm.x86.avx512.pmaddw.d.512")),
    QuadInstruction("vpdpbusd", "avxvnni", 8, "uint8", one_instruction("llvm.x86.avx512.vpdpbusd.256")),
    QuadInstruction(
        "vpdpbusd", "avx512vnni,avx512vl", 8, "uint8", one_instruction("llvm.x86.avx512.vpdpbusd.256")
    ),
    QuadInstruction("pmaddwd", "avx2", 8, "uint8", _by_pairs("llvm.x86.avx2.pmadd.wd")),
    QuadInstruction("vpdpbusd", "avxvnni", 4, "uint8", one_instruction("llvm.x86.avx512.vpdpbusd.128")),
    QuadInstruction(
        "vpdpbusd", "avx512vnni,avx512vl", 4, "uint8", one_instruction("llvm.x86.avx512.vpdpbusd.128")
    ),
    QuadInstruction("pmaddwd", "sse2", 4, "uint8", _by_pairs("llvm.x86.sse2.pmadd.wd")),
)
"""The preferred ones first. (``pmaddubsw``, with twice as many products, saturates.)"""

LANES = (16, 8, 4)


@cache
def dot_16x1x16_uint8_int8_int32(int32_lanes: int = 16, words: bool = False) -> TensorIntrin:
    """``C[i] += sum(uint8 data[k] * int8 kernel[i, k])`` for 16 ``i`` and 4 ``k``, of int32.

    ::

        for i in range(16):                 -->    C[0:16] = vpdpbusd(C[0:16], data[0:4] 16 times,
            for k in range(4):                                        kernel[0:16, 0:4])
                C[i] += data[k] * kernel[i, k]

    ``kernel`` is dense: 16 rows of 4. Sums wrap, as int32 does; ``int32_lanes`` may also be 8 or 4. With
    ``words``, ``data`` is one uint32 that holds four bytes (``byte_of``).
    """
    lanes = _checked("dot_16x1x16_uint8_int8_int32", int32_lanes)
    steps = {row.needs: row.step for row in reversed(QUADS) if row.lanes == lanes}
    return quad_dot(lanes, "uint8", words, "vpdpbusd", steps)


@cache
def dot_16x1x16_bfloat16_float32(float32_lanes: int = 16, words: bool = False) -> TensorIntrin:
    """``C[i] += sum(bfloat16 data[k] * bfloat16 kernel[i, k])`` for 16 ``i`` and 2 ``k``, of float32.

    ::

        for i in range(16):                 -->    C[0:16] = vdpbf16ps(C[0:16], data[0:2] 16 times,
            for k in range(2):                                         kernel[0:16, 0:2])
                C[i] += data[k] * kernel[i, k]

    ``kernel`` is dense: 16 rows of 2. With ``words``, ``data`` is one uint32 that holds two bfloat16
    (``half_of``). The instruction rounds each of its two steps to nearest and takes subnormal numbers for 0,
    so results differ from those of plain loops in the last bits.
    """
    lanes = _checked("dot_16x1x16_bfloat16_float32", float32_lanes)
    data = placeholder((1,), "uint32", "data") if words else placeholder((2,), "bfloat16", "data")
    kernel = placeholder((lanes, 2), "bfloat16", "kernel")
    step = one_instruction(f"llvm.x86.avx512bf16.dpbf16ps.{lanes * 32}")
    return dot(data, kernel, "bfloat16", "float32", "dpbf16ps", {_BF16[lanes]: step})


def _checked(name: str, lanes: int) -> int:
    if lanes not in LANES:
        raise TensorExpressionError(f"{name}: {lanes} lanes, expected 16, 8 or 4", Span.of_caller())
    return lanes
