"""Two bfloat16, or four bytes, in one word: neighbours for an instruction that takes so many at once, made by
whole vectors of words.

Where several rows are to be read side by side, storing their parts alternately would go one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.te import expr as e

WORDS = {"uint8": "uint32", "int8": "int32"}
"""The dtype of a word of four bytes, by theirs."""


def word_of(low: e.Expr, high: e.Expr) -> e.Expr:
    """The uint32 whose lower half is the bfloat16 ``low``, and whose upper half is ``high``."""
    first, second = (e.Call("reinterpret", (e.cast("float32", x),), "uint32") for x in (low, high))
    return first >> 16 | second


def half_of(word: e.Expr, which: Any) -> e.Expr:
    """Half ``which``, 0 or 1, of a word of two bfloat16, as a float32."""
    down = e.cast("uint32", e.convert(which) * 16)
    return e.Call("reinterpret", (word >> down << 16,), "float32")


def word_of_bytes(parts: Sequence[e.Expr]) -> e.Expr:
    """The word of four uint8, or four int8, the first one lowest: a uint32 or an int32 (``WORDS``)."""
    kind = WORDS[parts[0].dtype]
    word = e.cast("uint32", _unsigned(parts[0]))
    for n, part in enumerate(parts[1:], start=1):
        word = word | e.cast("uint32", _unsigned(part)) << 8 * n
    return word if kind == "uint32" else e.Call("reinterpret", (word,), kind)


def _unsigned(byte: e.Expr) -> e.Expr:
    """The bits of a byte as a uint8."""
    return byte if byte.dtype == "uint8" else e.Call("reinterpret", (byte,), "uint8")


def byte_of(word: e.Expr, which: Any) -> e.Expr:
    """Byte ``which``, 0 to 3 from the lowest one, of a word of uint8 or int8, as an int32."""
    if word.dtype == "uint32":
        down = e.cast("uint32", e.convert(which) * 8)
        return e.cast("int32", word >> down & 0xFF)
    up = e.cast("int32", 24 - e.convert(which) * 8)
    return word << up >> 24


def part_of(word: e.Expr, which: Any, count: int) -> e.Expr:
    """Part ``which`` of a word of two bfloat16, in float32, or of four bytes, in int32."""
    return half_of(word, which) if count == 2 else byte_of(word, which)
