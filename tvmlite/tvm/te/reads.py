"""Reads that are certainly outside their tensors: an error when TVM's programs lower a schedule."""

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
from tvmlite.te.tensor.bounds_check import are_checks_deferred, check_reads, checks_deferred
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.tvm.absent import instead_of
from tvmlite.tvm.marks import with_marked_constants
from tvmlite.tvm.written import plain as plain_of

_UNCHECKED = "reads_unchecked"


def computed(*args: Any) -> Any:
    """As ``te.compute``, whose reads are left to ``check_reads_of``."""
    extents, function, *others = args
    with checks_deferred():
        made = te.compute(plain_of(extents), _of_plain(function), *others)
    op: Any = (made if isinstance(made, t.Tensor) else made[0]).op
    object.__setattr__(op, _UNCHECKED, True)
    for node in (*(axis.dom for axis in (*op.axis, *op.reduce_axis)), *op.body):
        with_marked_constants(node)
    return made


def _of_plain(function: Any) -> Any:
    """``function``, giving nodes of ours alone. A TensorExpressionError for a statement."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def apply(*indices: Any) -> Any:
        made = plain_of(function(*indices))
        if isinstance(made, ir.Stmt):
            raise TensorExpressionError(
                "compute: its element is a statement, as tir.call_packed is, expected a value",
                Span.of_caller(),
                hint=instead_of("te.trace"),
            )
        return made

    return apply


def is_declaring() -> bool:
    """Whether the function of a compute is being called."""
    return are_checks_deferred()


def check_reads_of(schedule: Schedule) -> None:
    """A TensorExpressionError if a compute of ``schedule`` reads outside a tensor for some element. What the
    update of a scan reads of its state's earlier rows is there; and of what a scan needs, only the rows that
    it asks for are computed."""
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
    """The begin and the extent of each axis that ``schedule`` computes of ``op``."""
    infer = importlib.import_module("tvmlite.tvm.te.schedule").InferBound
    found = infer(schedule)
    axes = [axis for axis in (*op.axis, *op.reduce_axis) if axis in found]
    return {
        **op.axis_ranges(),
        **{axis.var: (plain(found[axis].min), plain(found[axis].extent)) for axis in axes},
    }
