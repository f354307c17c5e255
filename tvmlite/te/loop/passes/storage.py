"""Decide the storage of local buffers: small ones on the stack, the others in the workspace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.symbols import WORKSPACE_ALIGNMENT
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import reachable
from tvmlite.te import expr as e
from tvmlite.te.arith import mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import BufferRenamer

STACK_BYTES = 16 << 10
"""The most bytes of one buffer on the stack of the calling thread."""

SMALL_STACK_BYTES = 64
"""The most bytes of one buffer on the stack of a machine without an operating system, which may have 2 kB."""

THREAD_STACK_BYTES = 64 << 10
"""The most bytes of one buffer on the stack inside a parallel loop, where each thread has its own stack."""


def storage(
    function: ir.Function, alignment: int = WORKSPACE_ALIGNMENT, stack: int = STACK_BYTES
) -> ir.Function:
    """Turn every Allocate that is too large for the stack, or not of constant size, into a View.

    The function's ``workspace`` grows by the bytes needed. A buffer inside a parallel loop gets one slot per
    thread. The size of a buffer may depend on sizes and scalars; if it depends on loop variables, an upper
    bound over them is used, and a ScheduleError names the buffer if there is none. A function that reads
    ``THREADS`` has a workspace, possibly of 0 bytes, as the number of threads is passed with it.

    Offsets in the workspace are multiples of ``alignment``. A buffer is too large for the stack if it has
    more than ``stack`` bytes, or more than ``THREAD_STACK_BYTES`` inside a parallel loop.
    """
    body, workspace = function.body, function.workspace
    if any(isinstance(node, ir.Allocate) for node in reachable(body)):
        planner = _Storage(function, alignment, stack)
        body = planner.stmt(body)
        workspace = planner.workspace
    if workspace is None and any(node is ir.THREADS for node in reachable(body)):
        workspace = e.const(0, e.INDEX)
    if body is function.body and workspace is function.workspace:
        return function
    return replace(function, body=body, workspace=workspace)


class _Storage(BufferRenamer):
    def __init__(self, function: ir.Function, alignment: int, stack: int) -> None:
        super().__init__(analyzer_of_function(threads=True))
        self.function, self.alignment, self.stack = function, alignment, stack
        self.workspace = function.workspace
        self.loops: list[e.Var] = []
        self.parallel = False
        self.places: dict[tuple[ir.Buffer, bool], tuple[e.Expr, ir.View]] = {}

    def enter(self, head: ir.Let | ir.Allocate | ir.View) -> list[Any]:
        if isinstance(head, ir.Let):
            self.loops.append(head.var)
        if not isinstance(head, ir.Allocate):
            return super().enter(head)
        size = self.bytes(head.buffer)
        limit = THREAD_STACK_BYTES if self.parallel else self.stack
        if isinstance(size, e.Const) and int(size.value) <= limit:
            self.renamed.pop(head.buffer, None)
            return [head]
        known = self.places.get((head.buffer, self.parallel))
        if known is None or known[0] is not size:  # two disjoint lifetimes share one slot
            view = ir.View(replace(head.buffer, scope="view"), self.place(size), ir.Seq(()))
            known = self.places[(head.buffer, self.parallel)] = (size, view)
        self.renamed[head.buffer] = known[1].buffer
        return [known[1]]

    def bytes(self, buffer: ir.Buffer) -> e.Expr:
        """An upper bound on the bytes of ``buffer`` that does not depend on loop variables."""
        total: e.Expr = e.const(dtypes.bytes_of(buffer.dtype), e.INDEX)
        for extent in buffer.shape:
            total = total * extent
        total = self.analyzer.simplify(total)
        if mentions(total, self.loops):
            least = self.analyzer.lower_bound(self.analyzer.simplify(0 - total), self.loops)
            if least is None:
                raise ScheduleError(
                    f"function {self.function.name!r}: the size of buffer {buffer.name!r}, {total} bytes, "
                    "has no bound that is known before its loops run"
                )
            total = self.analyzer.simplify(0 - least)
        return total

    def place(self, size: e.Expr) -> e.Expr:
        """Reserve ``size`` bytes, per thread inside a parallel loop; returns the current thread's offset."""
        align = self.alignment
        slot = self.analyzer.simplify((size + (align - 1)) // align * align)
        begin = self.workspace if self.workspace is not None else e.const(0, e.INDEX)
        begin = self.analyzer.simplify((begin + (align - 1)) // align * align)
        if not self.parallel:
            self.workspace = self.analyzer.simplify(begin + slot)
            return begin
        self.workspace = self.analyzer.simplify(begin + slot * ir.THREADS)
        return self.analyzer.simplify(begin + slot * ir.THREAD)

    def loop(self, loop: ir.For) -> ir.Stmt:
        outer = self.parallel
        self.parallel = outer or loop.kind == ir.PARALLEL
        self.loops.append(loop.var)
        new = super().loop(loop)
        self.loops.pop()
        self.parallel = outer
        return new
