"""Reads that are certainly outside their tensors: an error when TVM's programs lower a schedule."""

from __future__ import annotations

from tvmlite.te.extensions import extension
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.scan import ScanOp


def check_reads_of(schedule: Schedule) -> None:
    """A TensorExpressionError if a compute of ``schedule`` reads outside a tensor for some element. What the
    update of a scan reads of its state's earlier rows is there."""
    ops = [stage.origin_op for stage in schedule.stages]
    states = {tensor for op in ops if isinstance(op, ScanOp) for tensor in op.state}
    for op in ops:
        if isinstance(op, t.ComputeOp) and op.reads_unchecked:
            extension("reads").check_reads(op.body, op.axis_ranges(), op.name, op.span, states)
