"""Products of bytes on machines without vectors."""

from __future__ import annotations

from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.techniques.common.quads import Quads


def multiplies_bytes(target: Target) -> Quads | None:
    """Sums of integers where there are no vectors, one at a time and with data as most models have them: such
    a product costs a processor no more than one of floats, and mostly less. None for other targets."""
    return Quads("multiply", "", 1, "int8", _plain_loops) if target.scalar else None


def _plain_loops(sums: e.Expr, data: e.Expr, rows: e.Expr) -> e.Expr:
    raise AssertionError("plain loops multiply one by one, and no schedule asks for an instruction")
