"""Rounding to bytes without the C library, for targets where its functions take many instructions."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import Node, rewrite
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

ROUND_TO = "round_to"
"""``round_to(x, zero)``: the float32 ``x`` rounded to the nearest integer, ties to even, plus the int32
``zero``, saturated to the call's dtype (int8 or uint8); 0 for NaN."""

LARGEST_ZERO = 512
"""The largest zero point: ``x`` is first limited to twice this magnitude, where the result saturates."""


def quantizing(function: ir.Function) -> ir.Function:
    """Make each conversion of a rounded float to a byte one operation, and remove divisions by 1::

    int8(round(x / 1.0) + -128.0)    -->    round_to(x, -128)
    """
    return replace(function, body=rewrite(function.body, _rule))


def _rule(node: Node) -> Node:
    match node:
        case e.Div(a=a, b=b) if dtypes.is_float(node.dtype) and e.is_const(b, 1):
            return a
        case e.Cast(dtype="int8" | "uint8" as dtype, value=value) if node.lanes == 1:
            found = _rounded(value)
            return node if found is None else e.Call(ROUND_TO, found, dtype)
    return node


def _rounded(value: e.Expr) -> tuple[e.Expr, e.Expr] | None:
    """The operand that ``value`` rounds and the zero point that it adds; None for other forms."""
    match value:
        case e.Call("round", (x,), "float32"):
            return x, e.const(0, "int32")
        case e.Add(a=e.Call("round", (x,), "float32"), b=e.Const(value=zero)):
            if zero == int(zero) and abs(zero) <= LARGEST_ZERO:
                return x, e.const(int(zero), "int32")
        case e.Add(a=e.Call("round", (x,), "float32"), b=e.Cast(value=zero)):
            if dtypes.is_int(zero.dtype) and dtypes.bits(zero.dtype) == 8:
                return x, e.cast("int32", zero)
    return None
