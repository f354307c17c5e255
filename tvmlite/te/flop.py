"""How much arithmetic a computation is: the operations on its values, indices not counted."""

from __future__ import annotations

from collections.abc import Iterable

from tvmlite.core.node import Node, postorder
from tvmlite.te import expr as e
from tvmlite.te.tensor import ComputeOp, Extent, Operation, Reduce, TensorRead

_ARITHMETIC = (e.Add, e.Sub, e.Mul, e.Div, e.Min, e.Max)


def flop_of(outputs: Iterable[Operation]) -> int:
    """The operations of computing ``outputs`` and all they read, each result once.

    An addition, a multiplication, a maximum or a call of a function counts 1, and so does each step of a
    reduction. Only operations with extents that are numbers are counted.
    """
    seen: dict[Operation, None] = {}
    todo = list(outputs)
    while todo:
        op = todo.pop()
        if op not in seen:
            seen[op] = None
            todo += [tensor.op for tensor in op.inputs]
    return sum(_flop_of_one(op) for op in seen if isinstance(op, ComputeOp))


def _flop_of_one(op: ComputeOp) -> int:
    elements = _product(axis.dom.extent if axis.dom else None for axis in op.axis)
    total = 0
    for body in op.body:
        if isinstance(body, Reduce):
            steps = elements * _product(axis.dom.extent if axis.dom else None for axis in body.axis)
            return steps * sum(1 + _operations(source) for source in body.source)
        total += elements * _operations(body)
    return total


def _operations(root: e.Expr) -> int:
    """The operations on values in ``root``: what only makes up an index of a read is left out."""
    indices: set[Node] = set()
    count = 0
    for node in reversed(list(postorder(root))):
        if isinstance(node, TensorRead):
            for index in node.indices:
                indices.update(postorder(index))
        elif node not in indices and isinstance(node, (*_ARITHMETIC, e.Call)):
            count += 1
    return count


def _product(extents: Iterable[Extent | None]) -> int:
    total = 1
    for extent in extents:
        if isinstance(extent, e.Const):
            extent = int(extent.value)
        total *= extent if isinstance(extent, int) else 1
    return total
