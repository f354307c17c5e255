"""Select the version for the target of statements that have a special one for some processors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen import c_functions
from tvmlite.te.codegen.c import x86 as c_x86
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import Walker, with_body

if TYPE_CHECKING:
    from tvmlite.machine.target import Target


def select_version(function: ir.Function, target: Target) -> ir.Function:
    """Replace a ``Choice`` by its special statement on an LLVM target with the features it needs, else by its
    portable one. For C it stays if its intrinsics have C forms, as only the C compiler knows the processor;
    on scalar targets the special one is taken if the C source defines its functions (``c_functions``)::

    if target has avx512vnni:      -->    C[0:16] = vpdpbusd(C[0:16], ...)
        C[0:16] = vpdpbusd(...)
    else:
        for i in range(0, 16): ...
    """
    return with_body(function, _Choose(target).stmt(function.body))


class _Choose(Walker):
    def __init__(self, target: Target) -> None:
        self.target = target

    def plain(self, stmt: ir.Stmt) -> ir.Stmt:
        if not isinstance(stmt, ir.Choice):
            return super().plain(stmt)
        names = _intrinsics(stmt.special)
        if self.target.kind == "c" and names and c_x86.has_form(stmt.needs, names):
            return super().plain(stmt)
        if self.target.kind == "c" and names and self.target.scalar and c_functions.are_known(names):
            return self.stmt(stmt.special)
        fits = self.target.kind == "llvm" and all(self.target.has(one) for one in stmt.needs)
        return self.stmt(stmt.special if fits else stmt.portable)


def _intrinsics(stmt: ir.Stmt) -> list[str]:
    """The names of the intrinsics and C functions that ``stmt`` calls."""
    return [n.name for n in postorder(stmt) if isinstance(n, e.Foreign) and n.kind != "bits"]
