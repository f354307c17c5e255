"""What a function checks as it runs: that it may use AMX's tiles, and the messages of its Asserts."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import expressions, statements, with_body

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


def asserts(function: ir.Function) -> ir.Function:
    """``messages`` names every Assert's text once, after those it names already, in order."""
    found = dict.fromkeys(function.messages)
    found |= dict.fromkeys(s.message for s in statements(function.body) if isinstance(s, ir.Assert))
    messages = tuple(found)
    return function if messages == function.messages else replace(function, messages=messages)
