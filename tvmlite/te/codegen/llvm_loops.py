"""Which loops LLVM is to leave as they are."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.target import Target
from tvmlite.te import expr as e
from tvmlite.te.arith import mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import loads

ENOUGH = 4
"""Vectors stored in a turn of a loop that need no more of them beside it."""


def is_written_out(var: e.Var, body: ir.Stmt, target: Target) -> bool:
    """Whether the loop of ``var`` does enough in a turn: a schedule's innermost loop, unrolled.

    Unrolled further by LLVM, it takes longer to compile for no gain; and where LLVM unrolls a loop whole, it
    keeps what that has loaded for the next, on the stack. Not so if the loop goes through an array that
    could be in registers: only unrolled can it be there.
    """
    inside = body.body if isinstance(body, ir.Seq) else (body,)
    stores = [s for s in inside if isinstance(s, ir.Store) and s.value.lanes > 1]
    others = [s for s in inside if s not in stores and not isinstance(s, ir.Evaluate)]
    if len(stores) < ENOUGH or others:
        return False
    registers = target.vector_registers * target.vector_bits // 8
    accesses: list[ir.Store | ir.Load] = [*stores]
    for store in stores:
        accesses += loads(store.value)
    return not any(
        mentions(access.indices[0], (var,)) for access in accesses if _fits(access.buffer, registers)
    )


def _fits(buffer: ir.Buffer, size: int) -> bool:
    """Whether a buffer is on the stack and of at most ``size`` bytes."""
    if buffer.scope != "local":
        return False
    (length,) = buffer.shape
    return isinstance(length, e.Const) and int(length.value) * dtypes.bytes_of(buffer.dtype) <= size
