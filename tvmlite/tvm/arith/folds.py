"""Simplifications that need no known facts: of constants, equal operands and equal lanes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Reduce


def folded(node: Any) -> Any:
    """``node`` in a simpler form, if it has one."""
    match node:
        case Reduce(axis=(), init=()) if e.is_const(node.condition, 1):
            return node.source[node.value_index]  # without axes, a reduction is its source
        case e.Compare(e.Broadcast(a), e.Broadcast(b)):
            return e.Broadcast(type(node)(a, b), node.lanes)
        case e.Min(e.Min(a, e.Broadcast(b)), e.Broadcast(c)) | e.Max(
            e.Max(a, e.Broadcast(b)), e.Broadcast(c)
        ):
            return type(node)(a, e.Broadcast(e.fold(type(node), b, c), node.lanes))
        case e.Binary(a, b) if type(node) in _OF_EQUALS and dtypes.is_int(a.dtype) and alike(a, b):
            return e.const(_OF_EQUALS[type(node)], node.dtype, node.lanes)
        case e.Call(name, (e.Const(a), e.Const(b))) if name in _BITS and _is_defined(name, b, node.dtype):
            return e.const(_BITS[name](int(a), int(b)), node.dtype, node.lanes)
    return node


_OF_EQUALS = {e.Sub: 0, e.Equal: 1, e.NotEqual: 0, e.Less: 0, e.LessEqual: 1}

_BITS: dict[str, Callable[[int, int], int]] = {
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


def _is_defined(name: str, by: float, dtype: str) -> bool:
    """Whether a bitwise operation is defined: shifts must be by less than the width of ``dtype``."""
    return not name.startswith("shift") or 0 <= by < dtypes.width(dtype)
