"""Groups around an extern stage: its given loop nest cannot be scheduled, the other stages can."""

from __future__ import annotations

from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.extern import ExternOp
from tvmlite.te.tensor.tensor import ComputeOp, Operation
from tvmlite.techniques.elementwise.injective import elementwise_loops


@template("elementwise", anchors.STATEMENT)
def extern(group: Group) -> None:
    """Store the inputs of extern stages as arrays, and inline everything else into the outputs."""
    read: set[Operation] = set()
    for stage in group.schedule.stages:
        if isinstance(stage.op, ExternOp):
            read.update(tensor.op for tensor in stage.op.inputs)
    group.inline_all_but(read)
    for stage in list(group.schedule.stages):
        op = stage.op
        if isinstance(op, ComputeOp) and not op.reduce_axis and (stage.is_output or op in read):
            elementwise_loops(group, op.output(0))
