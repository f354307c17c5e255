"""Number the messages of a function's Asserts."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import statements


def asserts(function: ir.Function) -> ir.Function:
    """``messages`` names every Assert's text once, after those it names already, in order."""
    found = dict.fromkeys(function.messages)
    found |= dict.fromkeys(s.message for s in statements(function.body) if isinstance(s, ir.Assert))
    messages = tuple(found)
    return function if messages == function.messages else replace(function, messages=messages)
