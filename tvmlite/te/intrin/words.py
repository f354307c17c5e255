"""Two bfloat16 in one word: neighbours for an instruction that takes pairs, made by whole vectors of words.

Where two rows are to be read pair by pair, storing halves alternately would go one by one.
"""

from __future__ import annotations

from typing import Any

from tvmlite.te import expr as e


def word_of(low: e.Expr, high: e.Expr) -> e.Expr:
    """The uint32 whose lower half is the bfloat16 ``low``, and whose upper half is ``high``."""
    first, second = (e.Call("reinterpret", (e.cast("float32", x),), "uint32") for x in (low, high))
    return first >> 16 | second


def half_of(word: e.Expr, which: Any) -> e.Expr:
    """Half ``which``, 0 or 1, of a word of two bfloat16, as a float32."""
    down = e.cast("uint32", e.convert(which) * 16)
    return e.Call("reinterpret", (word >> down << 16,), "float32")
