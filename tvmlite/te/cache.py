"""``cache_read`` and ``cache_write``: a copy of a tensor between its producer and its readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te import tensor as t
from tvmlite.te.inline import Bodies
from tvmlite.te.tensor import IterVar, Tensor, TensorRead

if TYPE_CHECKING:
    from tvmlite.te.schedule import Schedule


def cache_read(schedule: Schedule, tensor: Tensor, scope: str, readers: Any) -> Tensor:
    """See ``Schedule.cache_read``."""
    source = schedule.current(tensor)
    given = readers if isinstance(readers, (list, tuple)) else (readers,)
    stages = [schedule[reader] for reader in given]
    for stage in stages:
        if source not in stage.op.inputs:
            raise ScheduleError(
                f"cache_read: stage {stage.name} does not read {tensor.name}", Span.of_caller()
            )
    axis = tuple(_axis(f"ax{k}", extent) for k, extent in enumerate(source.shape))
    read = TensorRead(source, tuple(a.var for a in axis))
    op = t.ComputeOp(f"{source.name}.{scope}", axis, (), (read,), span=Span.of_caller())
    made = schedule.insert(schedule.stages.index(schedule[source]) + 1, op)
    made.scope = scope
    schedule.replace_reads({source: op.output(0)}, stages)
    return op.output(0)


def cache_write(schedule: Schedule, tensor: Any, scope: str) -> Any:
    """See ``Schedule.cache_write``."""
    several = isinstance(tensor, (list, tuple))
    tensors = [schedule.current(one) for one in (tensor if several else (tensor,))]
    stage = schedule[tensors[0]]
    op = stage.op
    _check(stage, tensors)
    assert isinstance(op, t.ComputeOp)
    axis = tuple(IterVar(a.dom, e.Var(f"{a.var.name}.c", a.var.dtype)) for a in op.axis)
    renamed = {old.var: new.var for old, new in zip(op.axis, axis, strict=True)}
    body = substitute(Bodies(op.body), renamed).body
    cached = t.ComputeOp(
        f"{op.name}.{scope}", axis, op.reduce_axis, body, op.tag, op.attrs, op.span or Span.of_caller()
    )
    places = tuple(a.var for a in op.axis)
    copies = tuple(TensorRead(one, places) for one in cached.outputs)
    copy = t.ComputeOp(op.name, op.axis, (), copies, op.tag, op.attrs, op.span)
    made = schedule.insert(schedule.stages.index(stage), cached)
    made.scope = scope
    data = [leaf for leaf in stage.leaf_iter_vars if leaf.kind == "data"]
    stage.all_iter_vars, stage.leaf_iter_vars = list(op.axis), data
    schedule.change_op(stage, copy)
    return list(cached.outputs) if several else cached.output(0)


def _check(stage: Any, tensors: list[Tensor]) -> None:
    op = stage.op
    if not isinstance(op, t.ComputeOp):
        raise ScheduleError(f"cache_write: stage {stage.name} is not a compute", Span.of_caller())
    if set(tensors) != set(op.outputs):
        raise ScheduleError(
            f"cache_write: {op.name} has {op.num_outputs} outputs, which are cached together or not at all",
            Span.of_caller(),
        )
    if stage.relations:
        raise ScheduleError(
            f"cache_write: the axes of stage {stage.name} are split or fused already",
            Span.of_caller(),
            hint="call cache_write first, then arrange the loops of both stages",
        )


def _axis(name: str, extent: t.Extent) -> IterVar:
    whole = e.convert(extent)
    return IterVar(t.Range(e.const(0, whole.dtype), whole), e.Var(name, whole.dtype))
