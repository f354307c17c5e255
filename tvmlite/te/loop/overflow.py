"""Detection of int64 overflow in expressions of sizes."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import Node, postorder
from tvmlite.te import expr as e

OVERFLOW = -(2**63)
"""The result that replaces a number too large for an int64."""

_SLACK = 1e-6
"""The largest relative difference of an exact integer and the same value computed in float64."""


def or_overflow(value: e.Expr) -> e.Expr:
    """``value``, an int64, or ``OVERFLOW`` if computing it wraps around.

    The value is also computed in float64, which does not wrap, and compared. Sizes and constants are exact.
    """
    if not any(isinstance(node, e.Binary) for node in postorder(value)):
        return value
    about = _in_float(value)
    gap = e.Call("abs", (e.Sub(e.Cast("float64", value), about),), "float64")
    slack = e.Mul(e.Call("abs", (about,), "float64"), e.const(_SLACK, "float64"))
    return e.Select(e.LessEqual(gap, slack), value, e.const(OVERFLOW, e.INDEX))


def _in_float(root: e.Expr) -> e.Expr:
    """``root`` computed in float64, including its conditions."""
    made: dict[Node, e.Expr] = {}
    for node in postorder(root):
        assert isinstance(node, e.Expr)
        made[node] = _node_in_float(node, made)
    return made[root]


def _node_in_float(node: e.Expr, made: dict[Node, e.Expr]) -> e.Expr:
    match node:
        case e.Cast() if dtypes.is_int(node.value.dtype):
            return made[node.value]
        case e.FloorDiv() | e.FloorMod() | e.TruncDiv() | e.TruncMod():
            return _division(node, made[node.a], made[node.b])
        case e.Binary() | e.Not() | e.Select() | e.Call(name="if_then_else"):
            children = [made[child] for child in node.children()]
            return type(node)(*children) if not isinstance(node, e.Call) else e.Select(*children)
    return node if node.dtype == "bool" else e.Cast("float64", node)


def _division(node: e.Binary, a: e.Expr, b: e.Expr) -> e.Expr:
    """The division ``node`` of ``a`` by ``b`` in float64; by zero it gives 0, as for integers."""
    rounding = "floor" if isinstance(node, (e.FloorDiv, e.FloorMod)) else "trunc"
    zero = e.const(0.0, "float64")
    by_zero = e.Equal(b, zero)
    quotient = e.Call(rounding, (e.Div(a, e.Select(by_zero, e.const(1.0, "float64"), b)),), "float64")
    remains = isinstance(node, (e.FloorMod, e.TruncMod))
    return e.Select(by_zero, zero, e.Sub(a, e.Mul(quotient, b)) if remains else quotient)
