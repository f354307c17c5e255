"""Words of two bfloat16 or four bytes: operands for instructions that take several adjacent elements at once,
packed as whole vectors of words.

Interleaving several rows by storing their elements alternately would need scalar stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.te import expr as e

WORDS = {"uint8": "uint32", "int8": "int32"}
"""The dtype of a word of four bytes, by the dtype of the bytes."""


def word_of(low: e.Expr, high: e.Expr) -> e.Expr:
    """The uint32 whose lower half is the bfloat16 ``low``, and whose upper half is ``high``."""
    first, second = (e.Call("reinterpret", (e.cast("float32", x),), "uint32") for x in (low, high))
    return first >> 16 | second


def half_of(word: e.Expr, which: Any) -> e.Expr:
    """Half ``which``, 0 (low) or 1, of a word of two bfloat16, as a float32."""
    down = e.cast("uint32", e.convert(which) * 16)
    return e.Call("reinterpret", (word >> down << 16,), "float32")


def word_of_bytes(parts: Sequence[e.Expr]) -> e.Expr:
    """The word of four uint8 or four int8, lowest byte first: a uint32 or an int32 (``WORDS``)."""
    kind = WORDS[parts[0].dtype]
    word = e.cast("uint32", _unsigned(parts[0]))
    for n, part in enumerate(parts[1:], start=1):
        word = word | e.cast("uint32", _unsigned(part)) << 8 * n
    return word if kind == "uint32" else e.Call("reinterpret", (word,), kind)


def _unsigned(byte: e.Expr) -> e.Expr:
    """A byte reinterpreted as uint8."""
    return byte if byte.dtype == "uint8" else e.Call("reinterpret", (byte,), "uint8")


def byte_of(word: e.Expr, which: Any) -> e.Expr:
    """Byte ``which``, 0 (lowest) to 3, of a word of uint8 or int8, as an int32."""
    if word.dtype == "uint32":
        down = e.cast("uint32", e.convert(which) * 8)
        return e.cast("int32", word >> down & 0xFF)
    up = e.cast("int32", 24 - e.convert(which) * 8)
    return word << up >> 24


def part_of(word: e.Expr, which: Any, count: int) -> e.Expr:
    """Element ``which`` of a word of two bfloat16, as float32, or of four bytes, as int32."""
    return half_of(word, which) if count == 2 else byte_of(word, which)
