"""Write out the turns of loops marked for it."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import substitute_each
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import Walker, statements, with_body

MOST_STATEMENTS = 1 << 14
"""A loop whose unrolled body would have more statements than this stays a loop."""


def unroll(function: ir.Function) -> ir.Function:
    """``For`` of kind unroll with a constant extent becomes its body once a turn; others become serial.

    In a loop annotated ``auto_unroll_max_step``, inner loops of constant extent are unrolled too, from the
    innermost on, as long as they then have no more stores than it says::

        for i in range(0, n, auto_unroll_max_step=8):   -->    for i in range(0, n):
            for j in range(0, 2):                                  for j in range(0, 2):
                for k in range(0, 8):                                  C[i, j, 0] = ...
                    C[i, j, k] = ...                                   C[i, j, 1] = ...

    In one annotated ``unroll_explicit=False`` all stay loops, for the compiler that comes after us.
    """
    return with_body(function, _Unroll().stmt(function.body))


class _Unroll(Walker):
    def __init__(self) -> None:
        self.most_stores = 0
        self.explicit = True

    def loop(self, loop: ir.For) -> ir.Stmt:
        outer = self.most_stores, self.explicit
        for key, value in loop.annotations:
            if key == "auto_unroll_max_step":
                self.most_stores = int(value)
            elif key == "unroll_explicit":
                self.explicit = bool(value)
        body = self.stmt(loop.body)
        self.most_stores, self.explicit = outer
        if loop.kind != ir.UNROLL and not self.is_small(loop, body):
            return loop if body is loop.body else replace(loop, body=body)
        if self.explicit and isinstance(loop.extent, e.Const):
            extent = int(loop.extent.value)
            if extent * len(statements(body)) <= MOST_STATEMENTS:
                turns = (e.fold(e.Add, loop.min, e.const(k, loop.min.dtype)) for k in range(extent))
                return ir.sequence(*substitute_each(body, loop.var, turns))
        return replace(loop, body=body, kind=ir.SERIAL)

    def is_small(self, loop: ir.For, body: ir.Stmt) -> bool:
        """Whether ``loop``, not marked, is to be unrolled: it has no loop left inside, and few stores."""
        if not self.most_stores or loop.kind != ir.SERIAL or not isinstance(loop.extent, e.Const):
            return False
        inside = statements(body)
        stores = sum(isinstance(one, ir.Store) for one in inside)
        loops = any(isinstance(one, (ir.For, ir.While)) for one in inside)
        return not loops and stores * int(loop.extent.value) <= self.most_stores
