"""Transposition of a square block in registers: rows are loaded as vectors, columns are stored as vectors.

Element by element, a vector of ``n`` elements of a column takes ``n`` loads. Here a block of ``n`` rows takes
``n`` loads in all, and ``log2(n)`` shuffles per row.
"""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.intrin.declare_intrin import decl_tensor_intrin
from tvmlite.te.intrin.extern_calls import call_llvm_intrin
from tvmlite.te.loop import ir
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor.declare import compute, placeholder

_NEEDS = {16: "avx512f", 8: "avx2", 4: "neon"}
"""The instruction sets by the number of float32 in their vectors."""


def block_of(target: Target) -> int | None:
    """The size of the square blocks of float32 that ``target`` transposes in registers; None if it cannot."""
    lanes = target.lanes("float32")
    return lanes if lanes in _NEEDS and target.has(_NEEDS[lanes]) else None


def transposed_block(count: int, stride: int, pitch: int) -> TensorIntrin:
    """``C[j, i] = A[i, j]`` for ``count`` rows and columns of float32; rows of ``A`` have the stride
    ``stride``, those of ``C`` the stride ``pitch``, in elements."""
    block = placeholder((count, count), "float32", "A")
    result = compute((count, count), lambda j, i: block[i, j], name="C")
    dense = {
        block: decl_buffer(block.shape, "float32", "A", strides=[stride, 1]),
        result.op.output(0): decl_buffer(result.shape, "float32", "C", strides=[pitch, 1]),
    }
    return decl_tensor_intrin(result.op, name="transposed_block", binds=dense, special={_NEEDS[count]: _emit})


def _emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> ir.Stmt:
    """A step interleaves the rows ``r[0]`` and ``r[n / 2]``, ``r[1]`` and ``r[n / 2 + 1]``, and so on, and
    cuts each result into two rows. After ``log2(n)`` steps row ``j`` is column ``j``."""
    (block,), (result,) = ins, outs
    count = int(block.shape[0].value)  # type: ignore[union-attr]
    bound: list[tuple[e.Var, e.Expr]] = []

    def named(value: e.Expr) -> e.Var:
        bound.append((e.Var(f"row{len(bound)}", value.dtype, value.lanes), value))
        return bound[-1][0]

    rows = [named(block.vload((i, 0), f"float32x{count}")) for i in range(count)]
    half = count // 2
    for _ in range(count.bit_length() - 1):
        wide = [named(_interleaved(a, b)) for a, b in zip(rows[:half], rows[half:], strict=True)]
        rows = [named(_part(one, first)) for one in wide for first in (0, count)]
    statement: ir.Stmt = ir.sequence(*(result.vstore((j, 0), row) for j, row in enumerate(rows)))
    for name, value in reversed(bound):
        statement = ir.Let(name, value, statement)
    return statement


def _interleaved(a: e.Expr, b: e.Expr) -> e.Expr:
    lanes = 2 * a.lanes
    return call_llvm_intrin(f"float32x{lanes}", f"llvm.vector.interleave2.v{lanes}f32", a, b)


def _part(value: e.Expr, first: int) -> e.Expr:
    lanes = value.lanes // 2
    name = f"llvm.vector.extract.v{lanes}f32.v{2 * lanes}f32"
    return call_llvm_intrin(f"float32x{lanes}", name, value, e.const(first, "int64"))
