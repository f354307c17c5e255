"""Parallel loops for targets without vectors: the outermost loop, if there is enough work."""

from __future__ import annotations

from tvmlite.te.templates.group import Group, work_of
from tvmlite.te.templates.share import iterations_of, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, Tensor


def parallelize_outermost(group: Group, host: Tensor, anchor: ComputeOp) -> None:
    """Make the outermost loop of ``host`` with several iterations parallel, if there is enough work."""
    stage = group.stage(host)
    if threads_for(group.target, work_of(anchor)) == 1 or group.target.num_cores == 1:
        return
    several = (leaf for leaf in stage.leaf_iter_vars if iterations_of(stage, leaf) != 1)
    outermost = next(several, None)
    if outermost is not None:
        stage.parallel(outermost)
