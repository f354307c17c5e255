"""Count the arithmetic operations of a computation by TVM's rules."""

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
    """The operations of a computation cannot be counted. It is also a RuntimeError, as in TVM."""


def compute_flop(sch: Schedule) -> int:
    """Count the arithmetic operations of a computation; a FlopCalculationError if there are none, or if some
    of its stages cannot be counted.

    An operator, including comparisons, counts as one; index arithmetic, conversions and functions such as
    ``exp`` count as none. A stage counts once for each of its readers.
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


def stage_flop(op: Any) -> int:
    """The arithmetic operations of a stage by the auto-scheduler's rules: its attribute ``FLOP``, or else the
    count of ``compute_flop`` restricted to operators with an operand of the same kind of dtype as the result.
    A stage that is not a compute counts as 0."""
    if not isinstance(op, t.ComputeOp):
        return 0
    stated = dict(op.attrs).get("FLOP")
    if stated is not None:
        return int(getattr(stated, "value", stated))
    kind = _kind(op.body[0].dtype)
    return _elements(op.axis) * sum(_count(one, kind) for one in op.body)


def _kind(dtype: str) -> str:
    return dtype.rstrip("0123456789")


def _count(node: Any, kind: str | None = None) -> int:
    """Count the operations of an expression; with ``kind``, only operators with an operand of that kind."""
    count = functools.partial(_count, kind=kind)
    match node:
        case t.Reduce():
            if kind is None and len(node.source) != 1:
                raise _uncounted("a reduction has several values")
            return _elements(node.axis) * sum(map(count, (*node.combiner.result, *node.source)))
        case e.Binary():
            counts = kind is None or kind in (_kind(node.a.dtype), _kind(node.b.dtype))
            return counts + count(node.a) + count(node.b)
        case e.Not():
            return (kind in (None, _kind(node.a.dtype))) + count(node.a)
        case e.Select():
            return count(node.condition) + max(count(node.a), count(node.b))
        case e.Cast():
            return count(node.value)
        case e.Call() | e.Foreign():
            return sum(map(count, node.args))
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
