"""Reads that are certainly out of bounds, which are refused when a TVM program lowers a schedule."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from tvmlite import te
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.schedule.relations import plain
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.bounds_check import check_reads, is_later, later
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.tvm.absent import instead_of
from tvmlite.tvm.marks import with_marked_constants
from tvmlite.tvm.written import plain as plain_of

_UNCHECKED = "reads_unchecked"


def computed(*args: Any) -> Any:
    """Like ``te.compute``, but bounds of reads are checked later, by ``check_reads_of``."""
    extents, function, *others = args
    with later():
        made = te.compute(plain_of(extents), _of_plain(function), *others)
    op: Any = (made if isinstance(made, t.Tensor) else made[0]).op
    object.__setattr__(op, _UNCHECKED, True)
    for node in (*(axis.dom for axis in (*op.axis, *op.reduce_axis)), *op.body):
        with_marked_constants(node)
    return made


def _of_plain(function: Any) -> Any:
    """``function``, wrapped to return nodes of ``tvmlite.te`` only, or to raise a TensorExpressionError if
    it returns a statement."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def apply(*indices: Any) -> Any:
        made = plain_of(function(*indices))
        if isinstance(made, ir.Stmt):
            raise TensorExpressionError(
                "compute: fcompute returns a statement (such as tir.call_packed), expected an expression",
                Span.of_caller(),
                hint=instead_of("te.trace"),
            )
        return made

    return apply


def is_declaring() -> bool:
    """Whether the function of a compute is currently being called."""
    return is_later()


def check_reads_of(schedule: Schedule) -> None:
    """Raise a TensorExpressionError if a compute of ``schedule`` reads out of bounds for some element.
    Reads of earlier rows of a scan's state are allowed, and of computes that a scan reads only the rows that
    it needs are checked."""
    ops = [stage.origin_op for stage in schedule.stages]
    states = {tensor for op in ops if isinstance(op, ScanOp) for tensor in op.state}
    for op in ops:
        if vars(op).get(_UNCHECKED):
            assert isinstance(op, t.ComputeOp)
            try:
                check_reads(op.body, op.axis_ranges(), op.name, op.span, states)
            except TensorExpressionError:
                if not states or schedule[op].op is not op:
                    raise
                check_reads(op.body, _needed(op, schedule), op.name, op.span, states)


def _needed(op: t.ComputeOp, schedule: Schedule) -> dict[e.Var, tuple[Any, Any]]:
    """The begin and the extent of the part of each axis of ``op`` that ``schedule`` computes."""
    infer = importlib.import_module("tvmlite.tvm.te.schedule").InferBound
    found = infer(schedule)
    axes = [axis for axis in (*op.axis, *op.reduce_axis) if axis in found]
    return {
        **op.axis_ranges(),
        **{axis.var: (plain(found[axis].min), plain(found[axis].extent)) for axis in axes},
    }
