"""Arguments whose extents are known when the code runs, and are then 1 where others are more.

TVM binds such an argument to a buffer that is read at 0 along an axis of extent 1 ("auto_broadcast"). Here a
read along an axis of such an extent that cannot be shown to stay within it says so itself.
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
    """``schedule``, in which reads of arguments are at 0 along axes that may turn out to have extent 1: a
    copy, if there are any."""
    made = schedule
    for origin in schedule.stages:
        op = origin.op
        if isinstance(op, t.ComputeOp) and not (origin.tensorized or origin.is_computed_with):
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
    """Whether ``read`` is of an argument with an extent that is known when the code runs."""
    given = isinstance(read.tensor.op, t.PlaceholderOp)
    return given and any(isinstance(extent, e.Var) for extent in read.tensor.shape)
