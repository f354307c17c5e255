"""Write out the turns of loops marked for it."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import Walker, statements, with_body

MOST_STATEMENTS = 1 << 14
"""A loop whose unrolled body would have more statements than this stays a loop."""


def unroll(function: ir.Function) -> ir.Function:
    """``For`` of kind unroll with a constant extent becomes its body once a turn; others become serial."""
    return with_body(function, _Unroll().stmt(function.body))


class _Unroll(Walker):
    def loop(self, loop: ir.For) -> ir.Stmt:
        body = self.stmt(loop.body)
        if loop.kind != ir.UNROLL:
            return loop if body is loop.body else replace(loop, body=body)
        if isinstance(loop.extent, e.Const):
            extent = int(loop.extent.value)
            if extent * len(statements(body)) <= MOST_STATEMENTS:
                turns = (
                    substitute(body, {loop.var: e.fold(e.Add, loop.min, e.const(k, loop.min.dtype))})
                    for k in range(extent)
                )
                return ir.sequence(*turns)
        return replace(loop, body=body, kind=ir.SERIAL)
