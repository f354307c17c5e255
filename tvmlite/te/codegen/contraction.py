"""Conversion of sums that may be contracted with a product to multiply-adds, before code generation."""

from __future__ import annotations

from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.te import expr as e

MULTIPLY_ADD = "multiply_add"
"""``Call(MULTIPLY_ADD, (x, y, z))`` is ``x * y + z``, rounded once if the processor has an instruction for
it, else twice."""


def with_multiply_adds(root: Any) -> Any:
    """``root`` with its contracted sums as multiply-adds; those without a product become ordinary sums."""
    return rewrite(root, contract)


def contract(node: Any) -> Any:
    """A contracted sum as a multiply-add, preferably of its right operand; other nodes are unchanged.

    Sums of 16-bit floats become ordinary ones, as these are rounded from float32 after each operation.
    """
    if not isinstance(node, (e.ContractedAdd, e.ContractedSub)):
        return node
    a, b, negative = node.a, node.b, isinstance(node, e.ContractedSub)
    if dtypes.bits(node.dtype) >= 32:
        match a, b:
            case _, e.Mul(x, y):
                if negative:
                    x, y = (_negated(x), y) if isinstance(x, e.Const) else (x, _negated(y))
                return e.Call(MULTIPLY_ADD, (x, y, a), node.dtype)
            case e.Mul(x, y), _:
                return e.Call(MULTIPLY_ADD, (x, y, _negated(b) if negative else b), node.dtype)
    return e.Sub(a, b) if negative else e.Add(a, b)


def _negated(x: e.Expr) -> e.Expr:
    if isinstance(x, e.Const):
        return e.Const(-x.value, x.dtype, x.lanes)
    return e.Sub(e.Const(-0.0, x.dtype, x.lanes), x)
