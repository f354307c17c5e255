"""Dot products of short rows by one instruction of x86: VNNI's ``vpdpbusd`` and AVX-512's ``vdpbf16ps``.

Each is declared with plain loops, made from its formula, for the interpreter, for C and for all machines that
lack the instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.declare_intrin import Emit, decl_tensor_intrin
from tvmlite.te.intrin.extern_calls import call_llvm_intrin, reinterpret
from tvmlite.te.intrin.words import part_of
from tvmlite.te.loop import ir
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis
from tvmlite.te.tensor.tensor import Tensor

QUAD = 4
"""Products of 8 bits that are added to a sum at once."""

QUADS = {16: ("avx512bw", "avx512vnni"), 8: ("avx2", "avxvnni"), 4: ("avxvnni",)}
"""What sums of four products need, by how many are made at once; the last is ``vpdpbusd``, quicker than the
other (``_by_halves``)."""

_PAIRS = {
    16: ("llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512"),
    8: ("llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd"),
}
"""Sums of two products: of uint8 by int8 in int16, which saturate; and of int16 in int32."""

_BF16 = {16: "avx512bf16", 8: "avx512bf16,avx512vl", 4: "avx512bf16,avx512vl"}


@cache
def dot_16x1x16_uint8_int8_int32(int32_lanes: int = 16, words: bool = False) -> TensorIntrin:
    """``C[i] += sum(uint8 data[k] * int8 kernel[i, k])`` for 16 ``i`` and 4 ``k``, of int32.

    ::

        for i in range(16):                 -->    C[0:16] = vpdpbusd(C[0:16], data[0:4] 16 times,
            for k in range(4):                                        kernel[0:16, 0:4])
                C[i] += data[k] * kernel[i, k]

    ``kernel`` is dense: 16 rows of 4. Sums wrap, as int32 does; ``int32_lanes`` may also be 8 or 4. With
    ``words``, ``data`` is one uint32, of four bytes (``byte_of``).
    """
    lanes = _checked("dot_16x1x16_uint8_int8_int32", int32_lanes)
    data = placeholder((1,), "uint32", "data") if words else placeholder((4,), "uint8", "data")
    kernel = placeholder((lanes, 4), "int8", "kernel")
    steps = {needs: _quad_step(needs, lanes) for needs in QUADS[lanes]}
    return _dot(data, kernel, "int32", "vpdpbusd", steps)


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
    step = _called(f"llvm.x86.avx512bf16.dpbf16ps.{lanes * 32}")
    return _dot(data, kernel, "float32", "dpbf16ps", {_BF16[lanes]: step})


Step: TypeAlias = Callable[[e.Expr, e.Expr, e.Expr], e.Expr]
"""The sums after ``step(sums, data, rows)``: ``data`` is repeated, for each row."""


def _called(instruction: str) -> Step:
    """The step that is one instruction."""
    return lambda sums, data, rows: call_llvm_intrin(
        f"{sums.dtype}x{sums.lanes}", instruction, sums, data, rows
    )


def _quad_step(needs: str, lanes: int) -> Step:
    """The step of sums of four products on a machine that has ``needs``."""
    if needs == QUADS[lanes][-1]:
        return _called(f"llvm.x86.avx512.vpdpbusd.{lanes * 32}")
    return _by_halves(lanes)


def _by_halves(lanes: int) -> Step:
    """The sums by instructions whose sums of two products saturate in int16: those of the data's lower seven
    bits, and of its highest one, are too small for that: from -128 * 128 * 2 to 128 * 127 * 2."""
    bytes_of, pairs_of = _PAIRS[lanes]
    one = e.const(1, "int16", 2 * lanes)

    def step(sums: e.Expr, data: e.Expr, rows: e.Expr) -> e.Expr:
        for mask in (0x7F, 0x80):
            part = data & e.const(mask, "uint8", 4 * lanes)
            pairs = call_llvm_intrin(f"int16x{2 * lanes}", bytes_of, part, rows)
            sums = sums + call_llvm_intrin(f"int32x{lanes}", pairs_of, pairs, one)
        return sums

    return step


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

    def instructions(width: int, step: Step) -> ir.Stmt:
        stores = []
        for begin in range(0, lanes, width):
            word = reinterpret("int32", data.vload(data_at, "uint8x4"))
            repeated = reinterpret(f"uint8x{width * 4}", e.broadcast(word, width))
            rows = kernel.vload(moved(kernel_at, begin * 4), f"int8x{width * 4}")
            place = moved(at, begin)
            before = sums.vload(place, f"int32x{width}")
            stores.append(sums.vstore(place, step(before, repeated, rows)))
        return ir.sequence(*stores)

    lane = e.Var("i", e.INDEX)
    place = moved(at, lane)
    total = sums.vload(place)
    for k in range(4):
        value, weight = data.vload(moved(data_at, k)), kernel.vload(moved(kernel_at, lane * 4 + k))
        total = total + e.cast("int32", value) * e.cast("int32", weight)
    body = sums.vstore(place, total)
    made: ir.Stmt = ir.For(lane, e.const(0, e.INDEX), e.const(lanes, e.INDEX), body, ir.VECTORIZE)
    for width, choices in reversed(QUADS.items()):
        for needs in choices if lanes % width == 0 else ():
            made = ir.Choice((needs,), instructions(width, _quad_step(needs, width)), made)
    return made


def _dot(data: Tensor, kernel: Tensor, dtype: str, name: str, steps: Mapping[str, Step]) -> TensorIntrin:
    """Rows of ``kernel`` times ``data``, summed in ``dtype``: 32 bits of each row at once; by the last of
    ``steps`` whose needs a machine has."""
    lanes, count = (int(n) for n in kernel.shape)  # type: ignore[arg-type]
    k = reduce_axis((0, count), name="k")

    def product(i: e.Var) -> e.Expr:
        value = part_of(data[0], k.var, count) if data.dtype == "uint32" else data[k].astype(dtype)
        return reducers.sum(value * kernel[i, k].astype(dtype), axis=k)

    result = compute((lanes,), product, name="C")
    dense = {
        data: decl_buffer(data.shape, data.dtype, "data", strides=[1]),
        kernel: decl_buffer(kernel.shape, kernel.dtype, "kernel", strides=[count, 1]),
        result: decl_buffer(result.shape, dtype, "C", strides=[1]),
    }
    special = {needs: _emit(kernel, dtype, step) for needs, step in steps.items()}
    return decl_tensor_intrin(result.op, name=name, binds=dense, special=special)


def _emit(rows_of: Tensor, dtype: str, added: Step) -> Emit:
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
            return result.vstore(0, added(before, repeated, rows))

        return step(zero), result.vstore(0, zero), step(result.vload(0, f"{dtype}x{lanes}"))

    return emit


def _checked(name: str, lanes: int) -> int:
    if lanes not in QUADS:
        raise TensorExpressionError(f"{name}: {lanes} lanes, expected 16, 8 or 4", Span.of_caller())
    return lanes
