"""Take guards out of loops: hoisted, turned into loop bounds, or confined to a loop's first or last turns."""

from __future__ import annotations

from tvmlite.te.loop import ir


def partition(function: ir.Function) -> ir.Function:
    return function
