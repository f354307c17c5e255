"""The intrinsic for four taps of each channel of a block: ``vpdpbusd`` after a transposition of bytes.

With channels in blocks, four neighbouring pixels are one register of ``(4, 16)`` bytes, pixels outermost.
After the transposition, each 32-bit lane holds the four pixels of one channel, which are multiplied by that
channel's weights.
"""

from __future__ import annotations

from functools import cache

from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.intrin.declare_intrin import Emit, decl_tensor_intrin
from tvmlite.te.intrin.extern_calls import call_llvm_intrin, reinterpret
from tvmlite.te.loop import ir
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis

TAPS = 4
"""The number of products of one channel that are added at once."""

_ANY_BYTE = {16: "llvm.x86.avx512.permvar.qi.512"}
_ANY_WORD = {16: "llvm.x86.avx512.permvar.si.512", 8: "llvm.x86.avx2.permd"}
_BYTE_WITHIN_16 = {16: "llvm.x86.avx512.pshuf.b.512", 8: "llvm.x86.avx2.pshuf.b"}
"""Permutations of a register's bytes, of its 32-bit words, and of the bytes within each 16."""

_NEEDS = {
    16: {"avx512bw,avx512vnni": False, "avx512bw,avx512vnni,avx512vbmi": True},
    8: {"avx2,avxvnni": False},
}
"""By the number of 32-bit lanes: the instruction sets needed, and whether they include a permutation of all
bytes; the last entry is the best."""


def channels_at_once(target: Target) -> int:
    """How many channels ``target`` multiplies by four taps each at once; 0 without the instruction."""
    for lanes, steps in _NEEDS.items():
        if target.lanes("int32") == lanes and any(all(map(target.has, needs.split(","))) for needs in steps):
            return lanes
    return 0


@cache
def taps_4x16_uint8_int8_int32(int32_lanes: int = 16) -> TensorIntrin:
    """``C[i] += sum(uint8 data[k, i] * int8 kernel[i, k])`` for 16 channels ``i`` and 4 taps ``k``, of int32.

    ::

        for i in range(16):                         -->    columns = transposed(data[0:4, 0:16])
            for k in range(4):                             C[0:16] = vpdpbusd(C[0:16], columns,
                C[i] += data[k, i] * kernel[i, k]                             kernel[0:16, 0:4])

    ``data`` and ``kernel`` are dense. Sums wrap, as int32 does. ``int32_lanes`` may also be 8; for other
    numbers there are only plain loops.
    """
    lanes = int32_lanes
    data, kernel = placeholder((TAPS, lanes), "uint8", "data"), placeholder((lanes, TAPS), "int8", "kernel")
    k = reduce_axis((0, TAPS), name="k")

    def product(i: e.Var) -> e.Expr:
        return reducers.sum(data[k, i].astype("int32") * kernel[i, k].astype("int32"), axis=k)

    result = compute((lanes,), product, name="C")
    dense = {
        data: decl_buffer(data.shape, "uint8", "data", strides=[lanes, 1]),
        kernel: decl_buffer(kernel.shape, "int8", "kernel", strides=[TAPS, 1]),
        result: decl_buffer(result.shape, "int32", "C", strides=[1]),
    }
    special = {needs: _emit(lanes, any_byte) for needs, any_byte in _NEEDS.get(lanes, {}).items()}
    return decl_tensor_intrin(result.op, name="vpdpbusd_taps", binds=dense, special=special)


def _emit(lanes: int, any_byte: bool) -> Emit:
    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> tuple[ir.Stmt, ir.Stmt, ir.Stmt]:
        data, kernel = ins
        (result,) = outs
        pixels = data.vload((0, 0), f"uint8x{lanes * TAPS}")
        columns = _transposed_in_one(pixels, lanes) if any_byte else _transposed_in_two(pixels, lanes)
        weights, zero = kernel.vload((0, 0), f"int8x{lanes * TAPS}"), e.const(0, "int32", lanes)

        def step(before: e.Expr) -> ir.Stmt:
            name = f"llvm.x86.avx512.vpdpbusd.{lanes * 32}"
            return result.vstore(0, call_llvm_intrin(f"int32x{lanes}", name, before, columns, weights))

        return step(zero), result.vstore(0, zero), step(result.vload(0, f"int32x{lanes}"))

    return emit


def _transposed_in_one(pixels: e.Expr, lanes: int) -> e.Expr:
    """The bytes of ``(4, lanes)`` as ``(lanes, 4)``, by one permutation."""
    to = e.Ramp(e.const(0, "uint8"), e.const(1, "uint8"), lanes * TAPS)
    source = (to & 3) * lanes + (to >> 2)
    return call_llvm_intrin(f"uint8x{lanes * TAPS}", _ANY_BYTE[lanes], pixels, source)


def _transposed_in_two(pixels: e.Expr, lanes: int) -> e.Expr:
    """The same by two permutations: first words of four channels, so that each 16 bytes hold four pixels of
    four channels, then bytes."""
    to, words = e.Ramp(e.const(0, "int32"), e.const(1, "int32"), lanes), f"int32x{lanes}"
    source = (to & 3) * (lanes // TAPS) + (to >> 2)
    moved = call_llvm_intrin(words, _ANY_WORD[lanes], reinterpret(words, pixels), source)
    to, bytes_ = e.Ramp(e.const(0, "uint8"), e.const(1, "uint8"), lanes * TAPS), f"uint8x{lanes * TAPS}"
    source = (to & 3) * TAPS + (to >> 2 & 3)
    return call_llvm_intrin(bytes_, _BYTE_WITHIN_16[lanes], reinterpret(bytes_, moved), source)
