"""Products of bytes on targets without vectors."""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.techniques.common.quads import QuadInstruction


def scalar_quads(target: Target) -> QuadInstruction | None:
    """Integer products of int8, the usual dtype, one at a time, for targets without vectors: there, an
    integer product costs at most as much as one of floats, and mostly less. None for other targets."""
    return QuadInstruction("multiply", "", 1, "int8", _plain_loops) if target.scalar else None


def _plain_loops(sums: e.Expr, data: e.Expr, rows: e.Expr) -> e.Expr:
    raise AssertionError("plain loops multiply one by one, and no schedule asks for an instruction")
