"""Dot products of short rows by one instruction of x86: VNNI's ``vpdpbusd`` and AVX-512's ``vdpbf16ps``.

Each is declared with plain loops, made from its formula, for the interpreter, for C and for all machines that
lack the instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te import reducers
from tvmlite.te.declare import compute, placeholder, reduce_axis
from tvmlite.te.declare_intrin import Emit, decl_tensor_intrin
from tvmlite.te.foreign import call_llvm_intrin, reinterpret
from tvmlite.te.intrin.words import half_of
from tvmlite.te.loop import ir
from tvmlite.te.tensor import Tensor
from tvmlite.te.tensor_intrin import TensorIntrin, decl_buffer

QUADS = {16: "avx512vnni", 8: "avxvnni", 4: "avxvnni"}
"""What sums of four products need, by how many are made at once."""

_BF16 = {16: "avx512bf16", 8: "avx512bf16,avx512vl", 4: "avx512bf16,avx512vl"}


@cache
def dot_16x1x16_uint8_int8_int32(int32_lanes: int = 16) -> TensorIntrin:
    """``C[i] += sum(uint8 data[k] * int8 kernel[i, k])`` for 16 ``i`` and 4 ``k``, of int32.

    ::

        for i in range(16):                 -->    C[0:16] = vpdpbusd(C[0:16], data[0:4] 16 times,
            for k in range(4):                                        kernel[0:16, 0:4])
                C[i] += data[k] * kernel[i, k]

    ``kernel`` is dense: 16 rows of 4. Sums wrap, as int32 does; ``int32_lanes`` may also be 8 or 4.
    """
    lanes = _checked("dot_16x1x16_uint8_int8_int32", int32_lanes)
    data, kernel = placeholder((4,), "uint8", "data"), placeholder((lanes, 4), "int8", "kernel")
    return _dot(data, kernel, "int32", QUADS[lanes], f"llvm.x86.avx512.vpdpbusd.{lanes * 32}")


@cache
def dot_16x1x16_bfloat16_float32(float32_lanes: int = 16, words: bool = False) -> TensorIntrin:
    """``C[i] += sum(bfloat16 data[k] * bfloat16 kernel[i, k])`` for 16 ``i`` and 2 ``k``, of float32.

    ::

        for i in range(16):                 -->    C[0:16] = vdpbf16ps(C[0:16], data[0:2] 16 times,
            for k in range(2):                                         kernel[0:16, 0:2])
                C[i] += data[k] * kernel[i, k]

    ``kernel`` is dense: 16 rows of 2. With ``words``, ``data`` is one uint32, of two bfloat16, whose halves
    (``half_of``) are multiplied. The instruction rounds each of its two steps to nearest and takes
    subnormal numbers for 0, so results differ in the last places from those of plain loops.
    """
    lanes = _checked("dot_16x1x16_bfloat16_float32", float32_lanes)
    data = placeholder((1,), "uint32", "data") if words else placeholder((2,), "bfloat16", "data")
    kernel = placeholder((lanes, 2), "bfloat16", "kernel")
    return _dot(data, kernel, "float32", _BF16[lanes], f"llvm.x86.avx512bf16.dpbf16ps.{lanes * 32}")


def quad_products(
    sums: ir.Buffer,
    at: Sequence[Any],
    data: ir.Buffer,
    data_at: Sequence[Any],
    kernel: ir.Buffer,
    kernel_at: Sequence[Any],
    lanes: int,
) -> ir.Stmt:
    """``sums[at, i] += sum(data[k] * kernel[i * 4 + k])`` for ``lanes`` ``i`` and 4 ``k``: int32, of uint8 by
    int8, from ``data_at`` and ``kernel_at`` on; as a statement of loops that are written by hand."""

    def moved(place: Sequence[Any], by: Any) -> tuple[e.Expr, ...]:
        return (*(e.convert(one) for one in place[:-1]), e.convert(place[-1]) + by)

    def instructions(width: int) -> ir.Stmt:
        stores = []
        for begin in range(0, lanes, width):
            word = reinterpret("int32", data.vload(data_at, "uint8x4"))
            repeated = reinterpret(f"uint8x{width * 4}", e.broadcast(word, width))
            rows = kernel.vload(moved(kernel_at, begin * 4), f"int8x{width * 4}")
            place = moved(at, begin)
            before = sums.vload(place, f"int32x{width}")
            name = f"llvm.x86.avx512.vpdpbusd.{width * 32}"
            stores.append(
                sums.vstore(place, call_llvm_intrin(f"int32x{width}", name, before, repeated, rows))
            )
        return ir.sequence(*stores)

    lane = e.Var("i", e.INDEX)
    place = moved(at, lane)
    total = sums.vload(place)
    for k in range(4):
        value, weight = data.vload(moved(data_at, k)), kernel.vload(moved(kernel_at, lane * 4 + k))
        total = total + e.cast("int32", value) * e.cast("int32", weight)
    body = sums.vstore(place, total)
    made: ir.Stmt = ir.For(lane, e.const(0, e.INDEX), e.const(lanes, e.INDEX), body, ir.VECTORIZE)
    for width, needs in reversed(QUADS.items()):
        if lanes % width == 0:
            made = ir.Choice(tuple(needs.split(",")), instructions(width), made)
    return made


def _dot(data: Tensor, kernel: Tensor, dtype: str, needs: str, instruction: str) -> TensorIntrin:
    """Rows of ``kernel`` times ``data``, summed in ``dtype``: 32 bits of each row at once."""
    lanes, count = (int(n) for n in kernel.shape)  # type: ignore[arg-type]
    k = reduce_axis((0, count), name="k")

    def product(i: e.Var) -> e.Expr:
        value = half_of(data[0], k.var) if data.dtype == "uint32" else data[k].astype(dtype)
        return reducers.sum(value * kernel[i, k].astype(dtype), axis=k)

    result = compute((lanes,), product, name="C")
    emit = _emit(kernel, dtype, instruction)
    dense = {
        data: decl_buffer(data.shape, data.dtype, "data", strides=[1]),
        kernel: decl_buffer(kernel.shape, kernel.dtype, "kernel", strides=[count, 1]),
        result: decl_buffer(result.shape, dtype, "C", strides=[1]),
    }
    name = instruction.split(".")[-2]
    return decl_tensor_intrin(result.op, name=name, binds=dense, special={needs: emit})


def _emit(rows_of: Tensor, dtype: str, instruction: str) -> Emit:
    lanes, count = (int(n) for n in rows_of.shape)  # type: ignore[arg-type]

    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> tuple[ir.Stmt, ir.Stmt, ir.Stmt]:
        data, kernel = ins
        (result,) = outs
        together = 1 if data.dtype == "uint32" else count
        four_bytes = reinterpret("int32", data.vload(0, f"{data.dtype}x{together}"))
        operand = kernel.dtype if data.dtype == "uint32" else data.dtype
        repeated = reinterpret(f"{operand}x{lanes * count}", e.broadcast(four_bytes, lanes))
        rows = kernel.vload((0, 0), f"{kernel.dtype}x{lanes * count}")
        zero = e.const(0, dtype, lanes)

        def step(before: e.Expr) -> ir.Stmt:
            return result.vstore(0, call_llvm_intrin(f"{dtype}x{lanes}", instruction, before, repeated, rows))

        return step(zero), result.vstore(0, zero), step(result.vload(0, f"{dtype}x{lanes}"))

    return emit


def _checked(name: str, lanes: int) -> int:
    if lanes not in QUADS:
        raise TensorExpressionError(f"{name}: {lanes} lanes, expected 16, 8 or 4", Span.of_caller())
    return lanes
