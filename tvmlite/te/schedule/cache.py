"""``cache_read`` and ``cache_write``: a copy of a tensor between its producer and its readers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.derived import (
    axes_of,
    change_op,
    check_unmixed,
    equal,
    move_annotations,
    range_of,
    ranges_of,
    replace_axes,
    replace_reads,
    values_down,
)
from tvmlite.te.schedule.relations import Number, derived_from, overruns, values_up
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.inline import Bodies
from tvmlite.te.tensor.tensor import IterVar, Tensor, TensorRead


class CachePrimitives:
    """The primitives of ``Schedule`` that add copies of tensors."""

    @primitive
    def cache_read(self: Any, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Add a copy of ``tensor`` that ``readers`` (tensors or operations) read instead, and return it.

        ::

            C[i] = A[i] + 1      -->    A.local[i] = A[i]
                                        C[i] = A.local[i] + 1

        The copy is a stage that can be placed with ``compute_at``. It is named ``A.d.local`` if ``A.local``
        exists.
        """
        schedule: Schedule = self
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
        taken, name = {stage.name for stage in schedule.stages}, source.name
        while f"{name}.{scope}" in taken:
            name += ".d"
        op = t.ComputeOp(f"{name}.{scope}", axis, (), (read,), span=Span.of_caller())
        schedule.insert(schedule.stages.index(schedule[source]) + 1, op, scope)
        replace_reads(schedule, {source: op.output(0)}, stages)
        return op.output(0)

    @primitive
    def cache_write(self: Any, tensor: Any, scope: str) -> Any:
        """Compute ``tensor`` in a separate buffer and then copy it out; return the tensor of the buffer.

        ::

            for i in range(n):               -->    for i.c in range(n):
                C[i] = 0                                C.local[i.c] = 0
                for k in range(m):                      for k in range(m):
                    C[i] += A[i, k]                         C.local[i.c] += A[i.c, k]
                                                    for i in range(n):
                                                        C[i] = C.local[i]

        The reduction moves to the new stage with its loops; ``tensor``'s stage keeps only its data axes. If
        ``tensor`` is a list, of all outputs of one operation, a list is returned. The buffer has an axis for
        each data loop, in their order, also after splits and reorders::

            for i.outer in range(4):         -->    for i.outer.c in range(4):
                for j in range(m):                      for j.c in range(m):
                    for i.inner in range(8):                for i.inner.c in range(8):
                        C[i.outer * 8 + i.inner, j]             C.local[i.outer.c, j.c, i.inner.c] = ...
                            = ...                   for i.outer in range(4): ...
                                                        C[...] = C.local[i.outer, j, i.inner]
        """
        schedule: Schedule = self
        several = isinstance(tensor, (list, tuple))
        tensors = [schedule.current(one) for one in (tensor if several else (tensor,))]
        if not tensors:
            raise ScheduleError("cache_write: no tensors given, expected at least one", Span.of_caller())
        stage = schedule[tensors[0]]
        op = stage.op
        _check(stage, tensors)
        assert isinstance(op, t.ComputeOp)
        stage.refuse_shrinking("cache_write", ("data",))
        reducing = derived_from(stage.relations, op.reduce_axis)
        check_unmixed("cache_write", stage, reducing)
        loops = [leaf for leaf in stage.leaf_iter_vars if leaf not in reducing]
        cached, places = _over_loops(stage, op, loops, f"{op.name}.{scope}")
        copies = tuple(TensorRead(one, places) for one in cached.outputs)
        copy = t.ComputeOp(op.name, op.axis, (), copies, op.tag, op.attrs, op.span)
        made = schedule.insert(schedule.stages.index(stage), cached, scope)
        moved = {one: one for one in reducing}
        moved.update(zip(op.reduce_axis, cached.reduce_axis, strict=True))
        _move_reduction_loops(stage, made, moved)
        change_op(schedule, stage, copy)
        return list(cached.outputs) if several else cached.output(0)


def _over_loops(
    stage: Stage, op: t.ComputeOp, loops: list[IterVar], name: str
) -> tuple[t.ComputeOp, tuple[e.Expr, ...]]:
    """``op`` over one axis for each of ``loops``, and the indices in its result of an element of ``op``."""
    ranges = ranges_of(stage, op)
    axis = tuple(
        IterVar(range_of(ranges[leaf]), e.Var(f"{leaf.var.name}.c", leaf.var.dtype)) for leaf in loops
    )
    values: dict[IterVar, Number] = {leaf: leaf.var for leaf in stage.leaf_iter_vars}
    values.update(zip(loops, (a.var for a in axis), strict=True))
    values_up(stage.relations, ranges, values)
    risky = overruns(stage.relations, stage.leaf_iter_vars, ranges, equal)
    reducing = derived_from(stage.relations, op.reduce_axis)
    conditions = [
        e.convert(values[one] < ranges[one].min + ranges[one].extent)
        for one in stage.all_iter_vars
        if one in risky and one not in reducing
    ]
    mapping: dict[Any, Any] = {a.var: e.cast(a.var.dtype, values[a]) for a in op.axis}
    reduced = {one: _with_extent_mapped(one, mapping) for one in op.reduce_axis}
    bodies = (_replace_reduce_axes(one, reduced) for one in substitute(Bodies(op.body), mapping).body)
    body = tuple(_where(one, conditions) for one in bodies)
    span = op.span or Span.of_caller()
    cached = t.ComputeOp(name, axis, tuple(reduced.values()), body, op.tag, op.attrs, span)
    down: dict[IterVar, Number] = {a: a.var for a in (*op.axis, *op.reduce_axis)}
    values_down(stage.relations, ranges, down)
    return cached, tuple(e.convert(down[leaf]) for leaf in loops)


def _with_extent_mapped(axis: IterVar, mapping: dict[Any, Any]) -> IterVar:
    """The reduce axis ``axis``, with ``mapping`` applied to its extent, which may depend on elements."""
    dom = substitute(axis.dom, mapping) if axis.dom else None
    return axis if dom is axis.dom else replace(axis, dom=dom)


def _replace_reduce_axes(body: e.Expr, reduced: dict[IterVar, IterVar]) -> e.Expr:
    """``body``, with the axes of a reduction replaced as ``reduced`` says."""
    if not isinstance(body, t.Reduce):
        return body
    return replace(body, axis=tuple(reduced[one] for one in body.axis))


def _where(body: e.Expr, conditions: list[e.Expr]) -> e.Expr:
    """``body`` where the conditions hold; elsewhere 0, or a reduction's initial value: never read."""
    if not conditions:
        return body
    if isinstance(body, t.Reduce):
        condition = e.all_of(conditions)
        if not e.is_const(body.condition, 1):  # safe to evaluate only where ``condition`` holds
            condition = e.Call("if_then_else", (condition, body.condition, e.const(False)), "bool")
        return replace(body, condition=condition)
    return e.Call("if_then_else", (e.all_of(conditions), body, e.const(0, body.dtype)), body.dtype)


def _move_reduction_loops(stage: Stage, made: Stage, moved: dict[IterVar, IterVar]) -> None:
    """Move the loops that reduce, ``moved``'s keys, and the stages in them from ``stage`` to ``made``."""
    reducing = moved.keys()
    data = [leaf for leaf in made.leaf_iter_vars if leaf not in moved.values()]
    move_annotations(stage, made, {one: moved[one] for one in stage.all_iter_vars if one in reducing})
    made.change(
        relations=tuple(replace_axes(one, moved) for one in stage.relations if axes_of(one) & reducing),
        leaf_iter_vars=(*data, *(moved[one] for one in stage.leaf_iter_vars if one in reducing)),
        all_iter_vars=(*data, *(moved[one] for one in stage.all_iter_vars if one in reducing)),
    )
    stage.change(
        relations=tuple(one for one in stage.relations if not axes_of(one) & reducing),
        leaf_iter_vars=tuple(one for one in stage.leaf_iter_vars if one not in reducing),
        all_iter_vars=tuple(one for one in stage.all_iter_vars if one not in reducing),
    )


def _check(stage: Any, tensors: list[Tensor]) -> None:
    op = stage.op
    if not isinstance(op, t.ComputeOp):
        raise ScheduleError(f"cache_write: stage {stage.name} is not a compute", Span.of_caller())
    if set(tensors) != set(op.outputs):
        raise ScheduleError(
            f"cache_write: {op.name} has {op.num_outputs} outputs: cache_write needs all of them",
            Span.of_caller(),
        )
    for made, called in ((stage.tensorized, "tensorize"), (stage.layout, "transform_layout")):
        if made is not None:
            raise ScheduleError(
                f"cache_write: {called} was already applied to stage {stage.name}", Span.of_caller()
            )


def _axis(name: str, extent: t.Extent) -> IterVar:
    whole = e.convert(extent)
    return IterVar(t.Range(e.const(0, whole.dtype), whole), e.Var(name, whole.dtype))


extend(Schedule, CachePrimitives)
