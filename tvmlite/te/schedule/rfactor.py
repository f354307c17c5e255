"""``rfactor``: split a reduction into partial results and their combination."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.derived import (
    axes_of,
    change_op,
    check_separable,
    equal,
    move_annotations,
    range_of,
    ranges_of,
)
from tvmlite.te.schedule.relations import (
    Number,
    derived_from,
    overruns,
    values_up,
)
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import Fuse, Split
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.inline import Bodies
from tvmlite.te.tensor.reduction import initial_values
from tvmlite.te.tensor.tensor import IterVar, Tensor, TensorRead


class RfactorPrimitive:
    """The primitive of ``Schedule`` that splits a reduction in two."""

    @primitive
    def rfactor(self: Any, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Factor ``axis`` out of the reduction: compute a partial result for each of its iterations first.

        ::

            for ko in range(n):              -->    for ki in range(16):
                for ki in range(16):                    B.rf[ki] = 0
                    B[0] += A[ko * 16 + ki]             for ko in range(n):
                                                            B.rf[ki] += A[ko * 16 + ki]
                                                    for ki.v in range(16):
                                                        B[0] += B.rf[ki.v]

        ``factor_axis`` is the position of the new data axis in the partial results. Returns these, as one
        tensor or a list.
        """
        schedule: Schedule = self
        stage = schedule[tensor]
        op = stage.op
        stage.require_leaf("rfactor", axis)
        if not isinstance(op, t.ComputeOp) or axis.kind != "reduce":
            raise ScheduleError(
                f"rfactor: axis {axis.var.name} of stage {stage.name} is a {axis.kind} axis, "
                "expected a reduce axis",
                Span.of_caller(),
            )
        stage.refuse_shrinking("rfactor")
        factor_axis = arguments.whole("rfactor: factor_axis", factor_axis, ScheduleError)
        place = factor_axis + len(op.axis) + 1 if factor_axis < 0 else factor_axis
        if not 0 <= place <= len(op.axis):
            raise ScheduleError(
                f"rfactor: factor_axis is {factor_axis}, expected one of 0 to {len(op.axis)}",
                Span.of_caller(),
            )
        partial, new, loops = _partial(stage, op, axis, place)
        reducing = derived_from(stage.relations, op.reduce_axis)
        check_separable("rfactor", stage, reducing)
        made = schedule.insert(schedule.stages.index(stage), partial, "global")
        whole = _whole(op, partial, new, place)
        _arrange(stage, made, whole, {one: loops.get(one, one) for one in reducing}, axis)
        change_op(schedule, stage, whole)
        return list(partial.outputs) if op.num_outputs > 1 else partial.output(0)


def _arrange(
    stage: Stage, made: Stage, whole: t.ComputeOp, loops: dict[IterVar, IterVar], axis: IterVar
) -> None:
    """Move the loops that reduce to the partial stage, as the loops that ``loops`` maps them to. ``stage``
    keeps the others, with its new reduction in place of the outermost of them."""
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    assert isinstance(made.op, t.ComputeOp)
    reducing, touched = set(loops), _touched(stage, op, axis)
    inside = [leaf for leaf in stage.leaf_iter_vars if leaf in reducing]
    others = [one for one in stage.all_iter_vars if one in reducing - touched]
    leaves = [loops[leaf] for leaf in inside if leaf is not axis]
    made.change(
        relations=tuple(r for r in stage.relations if axes_of(r) <= reducing - touched),
        leaf_iter_vars=(*made.op.axis, *leaves),
        all_iter_vars=tuple(dict.fromkeys([*made.op.axis, *others, *leaves])),
    )
    move_annotations(stage, made, loops)
    stage.change(
        relations=tuple(r for r in stage.relations if not axes_of(r) & reducing),
        leaf_iter_vars=tuple(
            one
            for leaf in stage.leaf_iter_vars
            for one in (whole.reduce_axis if leaf is inside[0] else () if leaf in reducing else (leaf,))
        ),
        all_iter_vars=(*(one for one in stage.all_iter_vars if one not in reducing), *whole.reduce_axis),
    )


def _partial(
    stage: Stage, op: t.ComputeOp, axis: IterVar, place: int
) -> tuple[t.ComputeOp, t.Range, dict[IterVar, IterVar]]:
    """The operation of the partial results: ``axis`` is a data axis, the other loops of the same reduce axes
    are the reduce axes. Also the range of ``axis``, and the new axis of each of those loops."""
    ranges = ranges_of(stage, op)
    touched = _touched(stage, op, axis)
    first = {leaf: range_of(ranges[leaf]) for leaf in stage.leaf_iter_vars}
    loops = {
        leaf: leaf if leaf in op.reduce_axis else IterVar(first[leaf], leaf.var, "reduce")
        for leaf in stage.leaf_iter_vars
        if leaf in touched and leaf is not axis
    }
    factored = IterVar(first[axis], e.Var(axis.var.name, axis.var.dtype))
    values: dict[IterVar, Number] = {leaf: leaf.var for leaf in stage.leaf_iter_vars}
    values[axis] = factored.var
    values_up(stage.relations, ranges, values)
    data = [IterVar(a.dom, e.Var(a.var.name, a.var.dtype)) for a in op.axis]
    mapping: dict[Any, Any] = {old.var: new.var for old, new in zip(op.axis, data, strict=True)}
    roots = [root for root in op.reduce_axis if root in touched]
    mapping |= {root.var: e.cast(root.var.dtype, values[root]) for root in roots}
    conditions = [
        values[one] < ranges[one].min + ranges[one].extent
        for one in stage.all_iter_vars
        if one in touched and one in overruns(stage.relations, stage.leaf_iter_vars, ranges, equal)
    ]
    others = [root for root in op.reduce_axis if root not in touched]
    reduce_axis = (*others, *loops.values())
    body = substitute(Bodies(op.body), mapping).body
    body = tuple(_restrict(b, reduce_axis, [e.convert(c) for c in conditions]) for b in body)
    axes = (*data[:place], factored, *data[place:])
    made = t.ComputeOp(f"{op.name}.rf", axes, reduce_axis, body, op.tag, op.attrs, op.span)
    return made, first[axis], {**loops, axis: factored}


def _restrict(body: e.Expr, axis: tuple[IterVar, ...], conditions: list[e.Expr]) -> e.Expr:
    """The reduction ``body`` over ``axis``, with further ``conditions``, from the identity. Without axes, its
    value, or the identity where the conditions do not hold."""
    assert isinstance(body, t.Reduce)
    condition = e.all_of(conditions)
    if e.is_const(condition, 1):
        condition = body.condition
    elif not e.is_const(body.condition, 1):  # safe to evaluate only where ``condition`` holds
        condition = e.Call("if_then_else", (condition, body.condition, e.const(False)), "bool")
    if axis:
        return replace(body, axis=axis, condition=condition, init=())
    value = body.source[body.value_index]
    if e.is_const(condition, 1):
        return value
    identity = initial_values(replace(body, init=()))[body.value_index]
    return e.Call("if_then_else", (condition, value, identity), value.dtype)


def _whole(op: t.ComputeOp, partial: t.ComputeOp, dom: t.Range, place: int) -> t.ComputeOp:
    """The operation that combines the partial results."""
    factored = partial.axis[place]
    last = IterVar(dom, e.Var(f"{factored.var.name}.v", factored.var.dtype), "reduce")
    indices = [a.var for a in op.axis]
    indices.insert(place, last.var)
    reads = tuple(TensorRead(one, tuple(indices)) for one in partial.outputs)
    bodies = []
    for old in op.body:
        assert isinstance(old, t.Reduce)
        ordered = tuple(reads[_position(op, k)] for k in range(len(old.source)))
        bodies.append(replace(old, source=ordered, axis=(last,), condition=e.const(True)))
    return t.ComputeOp(op.name, op.axis, (last,), tuple(bodies), op.tag, op.attrs, op.span)


def _position(op: t.ComputeOp, value_index: int) -> int:
    """The index of the output that holds the ``value_index``-th value of the reduction."""
    return [b.value_index for b in op.body if isinstance(b, t.Reduce)].index(value_index)


def _touched(stage: Stage, op: t.ComputeOp, axis: IterVar) -> set[IterVar]:
    """The axes that have a reduce axis in common with ``axis``."""
    touched = {axis}
    before = 0
    while len(touched) != before:
        before = len(touched)
        for relation in stage.relations:
            match relation:
                case Split(a, b, c) | Fuse(a, b, c) if touched & {a, b, c}:
                    touched |= {a, b, c}
    mixed = [one.var.name for one in op.axis if one in touched]
    if mixed:
        raise ScheduleError(
            f"rfactor: axis {axis.var.name} of stage {stage.name} is fused with data axis {mixed[0]}",
            Span.of_caller(),
        )
    return touched


extend(Schedule, RfactorPrimitive)
