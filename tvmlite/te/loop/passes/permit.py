"""Ask the system for the use of AMX's tile registers, where a function uses them."""

from __future__ import annotations

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import expressions, with_body

REFUSED = "the system does not let this process use AMX's tiles; compile with -mattr=-amx-tile"


def permit(function: ir.Function) -> ir.Function:
    """A function that uses tiles begins by asking, and ends there if the answer is no::

                                      -->    assert tile.permitted()
    tile.zero(0)                             tile.zero(0)
    """
    uses = any(isinstance(one, e.Foreign) and one.kind == "tile" for one in expressions(function.body))
    if not uses:
        return function
    asked = ir.Assert(e.Foreign("tile", "tile.permitted", (), "bool"), REFUSED)
    return with_body(function, ir.sequence(asked, function.body))
