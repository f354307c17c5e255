"""Unroll the loops marked for it, and short loops over arrays that fit in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite, substitute_each
from tvmlite.te import expr as e
from tvmlite.te.arith import mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import Walker, expressions, loads, statements, with_body

MOST_STATEMENTS = 1 << 14
"""A loop with more statements once unrolled stays a loop, as compiling them would take a minute.
``lowering.unrolling`` warns the user who unrolled it."""

MOST_VECTORS = 64
"""A loop over an array in registers that would have more stores than this once unrolled stays a loop."""

SHORT = 4
"""The most iterations of such a loop if it stores scalars: LLVM can vectorize longer ones."""


def unroll(function: ir.Function, registers: int = 0, write_out: bool = True) -> ir.Function:
    """Unroll every ``For`` of kind unroll with a constant extent; those of other extents become serial.

    In a loop annotated ``auto_unroll_max_step``, inner loops of constant extent are unrolled, too, from the
    innermost outwards, as long as they then have at most that many stores::

        for i in range(0, n, auto_unroll_max_step=8):   -->    for i in range(0, n):
            for j in range(0, 2):                                  for j in range(0, 2):
                for k in range(0, 8):                                  C[i, j, 0] = ...
                    C[i, j, k] = ...                                   C[i, j, 1] = ...

    In a loop annotated ``unroll_explicit=False`` all become serial; LLVM or the C compiler may unroll them.

    The compiler can keep a local array in registers (``registers`` bytes in total) if all its indices are
    constant: therefore short loops over an array of at most that size are unrolled as well.

    Without ``write_out``, these loops stay, as loops of kind unroll, for which the generated C has a pragma:
    it is equally fast if the C compiler obeys, and shorter to read.
    """
    return with_body(function, _Unroll(registers, write_out).stmt(function.body))


def rolled(function: ir.Function, kinds: Sequence[str] = (ir.VECTORIZE, ir.UNROLL)) -> ir.Function:
    """Turn loops of these ``kinds`` (vectorize, unroll or parallel) into serial ones::

    for i in vectorize(0, 4):    -->    for i in range(0, 4):
        C[i] = A[i]                         C[i] = A[i]
    """

    def rule(node: Any) -> Any:
        return replace(node, kind=ir.SERIAL) if isinstance(node, ir.For) and node.kind in kinds else node

    return with_body(function, rewrite(function.body, rule))


class _Unroll(Walker):
    def __init__(self, registers: int, write_out: bool) -> None:
        self.registers, self.write_out = registers, write_out
        self.most_stores = 0
        self.explicit = True
        self._sizes: dict[ir.Stmt, int] = {}

    def loop(self, loop: ir.For) -> ir.Stmt:
        outer = self.most_stores, self.explicit
        for key, value in loop.annotations:
            if key == "auto_unroll_max_step":
                self.most_stores = int(value)
            elif key == "unroll_explicit":
                self.explicit = bool(value)
        body = self.stmt(loop.body)
        in_registers = self.explicit and self.indexes_registers(loop, body)
        self.most_stores, self.explicit = outer
        if loop.kind != ir.UNROLL and not self.is_small(loop, body) and not in_registers:
            return loop if body is loop.body else replace(loop, body=body)
        if not self.write_out and isinstance(loop.extent, e.Const) and int(loop.extent.value) > 1:
            same = loop.kind == ir.UNROLL and body is loop.body
            return loop if same else replace(loop, body=body, kind=ir.UNROLL)
        if self.explicit and isinstance(loop.extent, e.Const):
            extent = int(loop.extent.value)
            if extent * self.size(body) <= MOST_STATEMENTS:
                iterations = (e.fold(e.Add, loop.min, e.const(k, loop.min.dtype)) for k in range(extent))
                return ir.sequence(*substitute_each(body, loop.var, iterations))
        return replace(loop, body=body, kind=ir.SERIAL)

    def size(self, stmt: ir.Stmt) -> int:
        """The number of statements in ``stmt``, itself included; memoized, as all outer loops need it."""
        known = self._sizes.get(stmt)
        if known is None:
            inside = () if isinstance(stmt, ir.Store) else stmt.children()
            known = 1 + sum(self.size(one) for one in inside if isinstance(one, ir.Stmt))
            self._sizes[stmt] = known
        return known

    def is_small(self, loop: ir.For, body: ir.Stmt) -> bool:
        """Whether ``auto_unroll_max_step`` unrolls ``loop``: it has no loop left inside, and few stores."""
        if not self.most_stores or loop.kind != ir.SERIAL or not isinstance(loop.extent, e.Const):
            return False
        inside = statements(body)
        stores = sum(isinstance(one, ir.Store) for one in inside)
        loops = any(isinstance(one, (ir.For, ir.While)) for one in inside)
        return not loops and stores * int(loop.extent.value) <= self.most_stores

    def indexes_registers(self, loop: ir.For, body: ir.Stmt) -> bool:
        """Whether ``loop`` is short, has no loop inside, and indexes an array that fits in registers."""
        if not self.registers or loop.kind != ir.SERIAL or not isinstance(loop.extent, e.Const):
            return False
        extent, inside = int(loop.extent.value), statements(body)
        stores = [one for one in inside if isinstance(one, ir.Store)]
        if len(stores) * extent > MOST_VECTORS or any(isinstance(one, (ir.For, ir.While)) for one in inside):
            return False
        if extent > SHORT and any(one.value.lanes == 1 for one in stores):
            return False
        accesses = [*stores, *(load for expr in expressions(body) for load in loads(expr))]
        return any(self.fits(a.buffer) and mentions(a.indices[0], (loop.var,)) for a in accesses)

    def fits(self, buffer: ir.Buffer) -> bool:
        """Whether ``buffer`` is local, of constant size, and no larger than the registers."""
        if buffer.scope != "local" or len(buffer.shape) != 1:
            return False
        (length,) = buffer.shape
        fixed = isinstance(length, e.Const)
        return fixed and int(length.value) * dtypes.bytes_of(buffer.dtype) <= self.registers
