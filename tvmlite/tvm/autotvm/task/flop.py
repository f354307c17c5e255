"""The arithmetic operations of a computation, by TVM's rules of what counts."""

from __future__ import annotations

import functools
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.absent import refusing


class FlopCalculationError(ScheduleError, RuntimeError):
    """The operations of a computation cannot be counted; TVM's error is a RuntimeError."""


def compute_flop(sch: Schedule) -> int:
    """The arithmetic operations of a computation; a FlopCalculationError if there are none, or some of its
    stages cannot be counted.

    An operator, a comparison among them, is one; indices, conversions and functions such as ``exp`` are none.
    A stage that several others read counts for each.
    """

    @functools.cache
    def total(op: Any) -> int:
        if isinstance(op, t.PlaceholderOp):
            return 0
        if not isinstance(op, t.ComputeOp):
            raise _uncounted(f"the stage {op.name!r} is given as loops")
        if len(op.body) != 1:
            raise _uncounted(f"the stage {op.name!r} has several outputs")
        return _elements(op.axis) * _count(op.body[0]) + sum(total(one.op) for one in op.input_tensors)

    count = sum(total(op) for op in sch.origins)
    if not count:
        raise _uncounted("it only moves data")
    return count


def _count(node: Any) -> int:
    match node:
        case t.Reduce():
            if len(node.source) != 1:
                raise _uncounted("a reduction has several values")
            combined = _count(node.combiner.result[0]) + _count(node.source[0])
            return _elements(node.axis) * combined
        case e.Binary():
            return 1 + _count(node.a) + _count(node.b)
        case e.Not():
            return 1 + _count(node.a)
        case e.Select():
            return _count(node.condition) + max(_count(node.a), _count(node.b))
        case e.Cast():
            return _count(node.value)
        case e.Call() | e.Foreign():
            return sum(map(_count, node.args))
        case e.Const() | e.Var() | t.TensorRead():
            return 0
    raise _uncounted(f"{type(node).__name__} is no arithmetic")


def _elements(axes: Any) -> int:
    count = 1
    for axis in axes:
        extent = simplify(e.convert(axis.dom.extent))
        if not isinstance(extent, e.Const):
            raise _uncounted("an extent is not known")
        count *= int(extent.value)
    return count


def _uncounted(why: str) -> FlopCalculationError:
    return FlopCalculationError(
        f"the operations of a computation cannot be counted: {why}",
        Span.of_caller(),
        hint="cfg.add_flop(...) in the template says how many there are",
    )


__getattr__ = refusing(__name__)
