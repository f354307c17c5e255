"""Matrix products and poolings on targets without vectors: one result after the other."""

from __future__ import annotations

from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, reduction_loops
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor
from tvmlite.techniques.common.outermost import parallelize_outermost
from tvmlite.techniques.elementwise.injective import schedule_other_outputs


@template("scalar_loops", anchors.DENSE, anchors.BATCH_MATMUL, anchors.POOL)
def scalar_reduction(group: Group) -> bool:
    """Sum each result in a register, in the loop in which the epilogue stores it.

    False, with nothing scheduled, for targets with vectors and for groups with several reductions.
    """
    sums = [op for op in _computes(group) if op.reduce_axis]
    if not group.target.scalar or len(sums) != 1 or len(sums[0].body) != 1:
        return False
    result = sums[0].output(0)
    rows = group.tagged("matmul_unpack")
    host = group.host(rows[-1].output(0) if rows else result)
    group.inline_all_but({host.op})
    sum_in_register(group, result, host, group.axes(host))
    parallelize_outermost(group, host, sums[0])
    schedule_other_outputs(group, host)
    return True


def sum_in_register(
    group: Group, result: Tensor, host: Tensor, axes: list[IterVar], one_loop: bool = False
) -> None:
    """Compute ``result`` element by element in the innermost of ``axes``, the loops of ``host``; with
    ``one_loop``, the loops of the reduction are fused into one."""
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(sums)
    if axes:
        stage.compute_at(group.stage(host), axes[-1])
    terms = reduction_loops(stage)
    if one_loop and len(terms) > 1:
        stage.fuse(*terms)


def _computes(group: Group) -> list[ComputeOp]:
    return [stage.op for stage in group.schedule.stages if isinstance(stage.op, ComputeOp)]
