"""The amount of work of a computation: the arithmetic of its formulas, independent of the schedule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tvmlite.core.errors import InputError
from tvmlite.core.node import Node, postorder, reachable_from, substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation

_ARITHMETIC = (e.Add, e.Sub, e.Mul, e.Div, e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod, e.Min, e.Max)
STATED = "operations"
"""The attribute with which an operation states its number of operations for each element."""

STATED_WHOLE = "FLOP"
"""The attribute with which an operation states its total number of operations."""

_NO_ARITHMETIC = ("if_then_else", "likely", "fits_int32", *PREFETCHES, "reinterpret")


def operations(outputs: Sequence[Operation], sizes: Mapping[str, int]) -> int:
    """The number of arithmetic operations of ``outputs`` and all they depend on, each element computed once.

    Additions, multiplications, divisions, minima, maxima and calls of intrinsics count as one (``fma`` as
    two); conversions, comparisons and index arithmetic are not counted. A reduction of ``n`` values counts as
    ``n`` combinations. Both alternatives of a selection count; where a schedule leaves only one, an operation
    may state its own count, per element in its attribute ``operations`` or in total in ``FLOP``. Loops given
    by the user (``te.extern``) cannot be counted and count as nothing.
    """
    return sum(_of_compute(op, sizes) for op in _reached(outputs) if isinstance(op, t.ComputeOp))


def value_of(extent: int | e.Expr, sizes: Mapping[str, int]) -> int:
    """``extent`` as a number, given the ``sizes`` of its variables; an InputError if a size is missing."""
    if isinstance(extent, int):
        return extent
    variables = {node: node.name for node in postorder(extent) if isinstance(node, e.Var)}
    for name in variables.values():
        if name not in sizes:
            raise InputError(
                f"visualize: the size {name!r} is not known", hint=f"give it: sizes={{{name!r}: 1024}}"
            )
    numbers = {variable: e.const(sizes[name], variable.dtype) for variable, name in variables.items()}
    value = simplify(substitute(extent, numbers))
    assert isinstance(value, e.Const), f"{value} is no number"
    return int(value.value)


def index_readers(outputs: Sequence[Operation]) -> set[t.Tensor]:
    """The tensors whose elements are used as indices of other tensors."""
    found: set[t.Tensor] = set()
    for op in _reached(outputs):
        for body in op.body if isinstance(op, t.ComputeOp) else ():
            reads = [node for node in postorder(body) if isinstance(node, t.TensorRead)]
            inside = [n for read in reads for index in read.indices for n in postorder(index)]
            found.update(node.tensor for node in inside if isinstance(node, t.TensorRead))
    return found


def _of_compute(op: t.ComputeOp, sizes: Mapping[str, int]) -> int:
    attrs = dict(op.attrs)
    if (whole := attrs.get(STATED_WHOLE)) is not None:
        return int(whole.value if isinstance(whole, e.Const) else whole)
    points, stated = _points(op.axis, sizes), attrs.get(STATED)
    if stated is not None:
        return points * stated
    first = op.body[0]
    if not isinstance(first, t.Reduce):
        return points * _arithmetic(op.body)
    each = _arithmetic(first.source) + _arithmetic(first.combiner.result)
    return points * _points(first.axis, sizes) * each


def _points(axes: Iterable[IterVar], sizes: Mapping[str, int]) -> int:
    return math.prod(value_of(axis.dom.extent, sizes) for axis in axes if axis.dom is not None)


def _arithmetic(bodies: Sequence[e.Expr]) -> int:
    """The number of operations of ``bodies``; shared subexpressions count once."""
    total = 0
    for node in reachable_from(bodies, _values):
        if isinstance(node, e.Call):
            total += 0 if node.name in _NO_ARITHMETIC else 2 if node.name == "fma" else 1
        total += isinstance(node, _ARITHMETIC)
    return total


def _values(node: Node) -> Iterator[Node]:
    """The children that are values, excluding indices and conditions."""
    match node:
        case t.TensorRead() | e.Compare():
            return
        case e.Select(_, a, b) | e.Call("if_then_else", (_, a, b)):
            yield from (a, b)
        case _:
            yield from node.children()


def _reached(outputs: Sequence[Operation]) -> list[Operation]:
    return list(reachable_from(outputs, lambda op: [tensor.op for tensor in op.inputs]))
