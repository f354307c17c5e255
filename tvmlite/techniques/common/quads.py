"""Dot products of four bytes, and of two bfloat16, as tensor intrinsics.

An intrinsic has plain loops as well, made from its formula, for the interpreter, for C and for all
machines that lack the instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.intrin.declare_intrin import Emit, decl_tensor_intrin
from tvmlite.te.intrin.extern_calls import call_llvm_intrin, reinterpret
from tvmlite.te.intrin.words import WORDS, part_of
from tvmlite.te.loop import ir
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis
from tvmlite.te.tensor.tensor import Tensor

QUAD = 4
"""The number of products of bytes added to a sum at once."""

Step: TypeAlias = Callable[[e.Expr, e.Expr, e.Expr], e.Expr]
"""``step(sums, data, rows)`` gives the new sums; ``data`` is repeated for each row."""


@dataclass(frozen=True)
class QuadInstruction:
    """A way to add four products of bytes to each of ``lanes`` sums of int32.

    ``name`` is the instruction's name, ``needs`` the instruction sets by LLVM's names, separated by commas.
    ``data`` is the dtype of the first operand, uint8 or int8; the second is int8. ``step`` computes the sums.
    """

    name: str
    needs: str
    lanes: int
    data: str
    step: Step

    def is_supported_by(self, target: Target) -> bool:
        """Whether ``target`` has the instruction sets, and uses vectors of at least this width."""
        return self.lanes <= target.lanes("int32") and all(map(target.has, self.needs.split(",")))


def one_instruction(instruction: str) -> Step:
    """The step that consists of one instruction."""
    return lambda sums, data, rows: call_llvm_intrin(
        f"{sums.dtype}x{sums.lanes}", instruction, sums, data, rows
    )


def quad_dot(lanes: int, data: str, words: bool, name: str, steps: Mapping[str, Step]) -> TensorIntrin:
    """``C[i] += sum(data[k] * int8 kernel[i, k])`` for ``lanes`` ``i`` and 4 ``k``, in int32. Data is of
    dtype ``data``, or (``words``) one word of four elements (``words.WORDS``). The last of ``steps`` is used
    whose key, the instruction sets it needs, the machine has."""
    operand = placeholder((1,), WORDS[data], "data") if words else placeholder((QUAD,), data, "data")
    return dot(operand, placeholder((lanes, QUAD), "int8", "kernel"), data, "int32", name, steps)


def dot(
    data: Tensor, kernel: Tensor, operand: str, dtype: str, name: str, steps: Mapping[str, Step]
) -> TensorIntrin:
    """The product of each row of ``kernel``, 32 bits long, with ``data``, whose elements are of dtype
    ``operand``, summed in ``dtype``; by the last of ``steps`` whose instruction sets the machine has."""
    lanes, count = (int(n) for n in kernel.shape)  # type: ignore[arg-type]
    k = reduce_axis((0, count), name="k")
    words = data.dtype != operand

    def product(i: e.Var) -> e.Expr:
        value = part_of(data[0], k.var, count) if words else data[k].astype(dtype)
        return reducers.sum(value * kernel[i, k].astype(dtype), axis=k)

    result = compute((lanes,), product, name="C")
    dense = {
        data: decl_buffer(data.shape, data.dtype, "data", strides=[1]),
        kernel: decl_buffer(kernel.shape, kernel.dtype, "kernel", strides=[count, 1]),
        result: decl_buffer(result.shape, dtype, "C", strides=[1]),
    }
    special = {needs: _emit(operand, words, kernel, dtype, step) for needs, step in steps.items()}
    return decl_tensor_intrin(result.op, name=name, binds=dense, special=special)


def _emit(operand: str, words: bool, rows_of: Tensor, dtype: str, added: Step) -> Emit:
    lanes, count = (int(n) for n in rows_of.shape)  # type: ignore[arg-type]

    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> tuple[ir.Stmt, ir.Stmt, ir.Stmt]:
        data, kernel = ins
        (result,) = outs
        four_bytes = reinterpret("int32", data.vload(0, f"{data.dtype}x{1 if words else count}"))
        repeated = reinterpret(f"{operand}x{lanes * count}", e.broadcast(four_bytes, lanes))
        rows = kernel.vload((0, 0), f"{kernel.dtype}x{lanes * count}")
        zero = e.const(0, dtype, lanes)

        def step(before: e.Expr) -> ir.Stmt:
            return result.vstore(0, added(before, repeated, rows))

        return step(zero), result.vstore(0, zero), step(result.vload(0, f"{dtype}x{lanes}"))

    return emit
