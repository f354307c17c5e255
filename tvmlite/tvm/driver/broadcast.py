"""Broadcast arguments with extents that are known only at run time and may then be 1.

TVM binds such an argument to a buffer that is read at index 0 along an axis of extent 1 ("auto_broadcast").
Here the index along such an axis becomes a select on the extent, unless it is proved to be in range.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tvmlite import te
from tvmlite.core.node import postorder, rewrite
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.schedule.derived import change_op
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor import tensor as t


def with_broadcasts(schedule: Schedule) -> Schedule:
    """Return ``schedule`` with reads of arguments at index 0 along axes whose extent is 1 at run time; a copy
    if anything changes."""
    made = schedule
    for origin in schedule.stages:
        op = origin.op
        if isinstance(op, t.ComputeOp) and not (origin.tensorized or origin.alongside):
            body = tuple(_broadcasting(root, op) for root in op.body)
            if any(new is not old for new, old in zip(body, op.body, strict=True)):
                made = schedule.copy() if made is schedule else made
                change_op(made, made[op], dataclasses.replace(op, body=body))
    return made


def _broadcasting(root: e.Expr, op: t.ComputeOp) -> Any:
    reads = [node for node in postorder(root) if isinstance(node, t.TensorRead) and _may_broadcast(node)]
    if not reads:
        return root
    known = Analyzer()
    for axis in (*op.axis, *op.reduce_axis):
        assert axis.dom is not None
        known.bind(axis.var, axis.dom.min, axis.dom.extent)

    def index(value: e.Expr, extent: Any) -> e.Expr:
        if not isinstance(extent, e.Var) or known.prove(value < extent):
            return value
        return te.select(extent.equal(1), e.const(0, value.dtype), value)

    def rule(node: Any) -> Any:
        if not isinstance(node, t.TensorRead) or not _may_broadcast(node):
            return node
        places = zip(node.indices, node.tensor.shape, strict=True)
        indices = tuple(index(value, extent) for value, extent in places)
        same = all(new is old for new, old in zip(indices, node.indices, strict=True))
        return node if same else dataclasses.replace(node, indices=indices)

    return rewrite(root, rule)


def _may_broadcast(read: t.TensorRead) -> bool:
    """Whether ``read`` reads an argument with an extent that is known only at run time."""
    given = isinstance(read.tensor.op, t.PlaceholderOp)
    return given and any(isinstance(extent, e.Var) for extent in read.tensor.shape)
