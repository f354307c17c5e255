"""The run-time checks of a function: whether it may use AMX tiles, and the messages of its Asserts."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import expressions, statements, with_body

REFUSED = "the system does not let this process use AMX's tiles; compile with -mattr=-amx-tile"


def permit(function: ir.Function) -> ir.Function:
    """Let a function that uses tiles begin with an Assert that the system permits their use::

                                      -->    assert tile.permitted()
    tile.zero(0)                             tile.zero(0)
    """
    uses = any(isinstance(one, e.Foreign) and one.kind == "tile" for one in expressions(function.body))
    if not uses:
        return function
    asked = ir.Assert(e.Foreign("tile", "tile.permitted", (), "bool"), REFUSED)
    return with_body(function, ir.sequence(asked, function.body))


def asserts(function: ir.Function) -> ir.Function:
    """Add the text of every Assert to the function's ``messages``, each once and in order."""
    found = dict.fromkeys(function.messages)
    found |= dict.fromkeys(s.message for s in statements(function.body) if isinstance(s, ir.Assert))
    messages = tuple(found)
    return function if messages == function.messages else replace(function, messages=messages)
