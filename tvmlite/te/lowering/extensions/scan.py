"""Scans: the loops in which their stages are computed, and the memory that their parts share."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.errors import ScheduleError
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.lowering.building import Building
from tvmlite.te.lowering.nest import loops_around_body
from tvmlite.te.lowering.widen import Widening
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, ROOT
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.bounds_check import check_reads
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.te.tensor.tensor import Operation, Tensor


def check_earlier_rows(ops: Sequence[Operation]) -> None:
    """Raise a TensorExpressionError if ``ops`` read rows before the first, except of the state of a scan."""
    states = {tensor for op in ops if isinstance(op, ScanOp) for tensor in op.state}
    for op in ops:
        if isinstance(op, t.ComputeOp) and op.reads_earlier_rows:
            check_reads(op.body, op.axis_ranges(), op.name, op.span, states)


def put_into_scans(schedule: Schedule) -> None:
    """Attach the stages of a scan's iteration to its loop, unless they are attached to another loop in it."""
    for scan in schedule.stages:
        if not isinstance(scan.op, ScanOp):
            continue
        body = scan.op.body()
        for stage in schedule.stages:
            if stage.op in body and stage.attach_type == ROOT:
                stage.attach(AT, scan, scan.op.scan_axis, scan.op.span)


def loop_nest(stage: Stage, building: Building) -> ir.Stmt:
    """The loop of a scan, in which the stages attached to it compute the next row."""
    return loops_around_body(stage, building, ir.Seq(()), [])


def same_memory(normal: Schedule) -> dict[Tensor, Tensor]:
    """Map the inits, updates, states and results of scans to the result whose memory they use."""
    found: dict[Tensor, Tensor] = {}
    for stage in normal.stages:
        op = stage.op
        if not isinstance(op, ScanOp):
            continue
        for parts in zip(op.outputs, op.init, op.update, op.state, strict=True):
            for one in parts:
                if found.setdefault(one, parts[0]) is not parts[0]:
                    raise ScheduleError(
                        f"scan: {one.name} is a part of {found[one].name} and {parts[0].name}",
                        op.span,
                    )
    return found


def room_for_scans(normal: Schedule, widening: Widening) -> list[ir.Stmt]:
    """Run-time checks that scans have the rows that their inits write, where this is not known before."""
    checks: list[ir.Stmt] = []
    for stage in normal.stages:
        if isinstance(stage.op, ScanOp):
            dom = stage.op.scan_axis.dom
            assert dom is not None
            extent = widening.extent(dom.extent)
            if isinstance(extent, e.Expr) and not e.is_const(extent):
                message = f"scan {stage.op.name!r}: there are fewer rows than its init has"
                checks.append(ir.Assert(extent >= 0, message))
    return checks
