"""An estimate of the code size of a function before its loops are unrolled."""

from __future__ import annotations

from tvmlite.te import expr as e
from tvmlite.te.loop import ir


def unrolled_size(function: ir.Function, lanes: int = 16) -> int:
    """The number of stores once marked loops are unrolled and vectorized, ``lanes`` elements to a vector."""
    return _size(function.body, lanes)


def _size(statement: ir.Stmt, lanes: int) -> int:
    inner = sum(_size(child, lanes) for child in statement.children() if isinstance(child, ir.Stmt))
    if isinstance(statement, ir.For) and isinstance(statement.extent, e.Const):
        extent = int(statement.extent.value)
        if statement.kind == ir.UNROLL:
            return inner * max(extent, 1)
        if statement.kind == ir.VECTORIZE:
            return inner * max(-(-extent // lanes), 1)
    return inner + isinstance(statement, ir.Store)
