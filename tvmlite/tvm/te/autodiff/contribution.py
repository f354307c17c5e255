"""The terms that one compute contributes to the derivatives with respect to the tensors it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith.analyzer import Analyzer
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.te.autodiff.partials import Partial, partials, times


def contributions(
    op: t.ComputeOp, heads: Sequence[t.Tensor | None], prefix: tuple[Any, ...]
) -> list[tuple[t.Tensor, t.Tensor]]:
    """For each read of a float tensor in ``op``: the tensor, and the sum over the elements of ``op`` of
    ``heads`` (one per output) times the derivative with respect to the element read."""
    found: list[tuple[t.Tensor, t.Tensor]] = []
    for body, head in zip(op.body, heads, strict=True):
        if head is None:
            continue
        if isinstance(body, t.Reduce):
            if len(body.source) != 1 or body.init or body.free_values:
                raise UnsupportedError(
                    f"te.gradient: {op.name} is a reduction of several values, or one with init, which are "
                    "not differentiated",
                    Span.of_caller(),
                )
            parts = partials(body.source[0], _is_read)
            made = _of_sum if body.combiner.name == "sum" else _of_reduction
            found += [(one.leaf.tensor, made(op, body, one, head, prefix)) for one in parts]
        else:
            parts = partials(body, _is_read)
            found += [(one.leaf.tensor, _summed(op, op.axis, one, head, prefix)) for one in parts]
    return found


def _is_read(node: Any) -> bool:
    return isinstance(node, t.TensorRead) and dtypes.is_float(node.dtype)


def _of_sum(op: Any, body: t.Reduce, part: Partial, head: Any, prefix: Any) -> t.Tensor:
    conditions = part.conditions if e.is_const(body.condition, 1) else (*part.conditions, body.condition)
    within = Partial(part.leaf, part.value, conditions)
    return _summed(op, (*op.axis, *body.axis), within, head, prefix)


def _summed(op: Any, axes: Sequence[t.IterVar], part: Partial, head: Any, prefix: Any) -> t.Tensor:
    """The sum over ``axes`` of the head times ``part``, restricted to where the element read is the one
    whose derivative is computed."""
    read, rank = part.leaf, len(prefix)

    def element(*i: Any) -> Any:
        solved = solve(read.indices, i[rank:], axes, read.tensor.shape)
        new = {axis.var: te.reduce_axis(_bounds(axis), axis.var.name) for axis in solved.rest}
        free = {var: one.var for var, one in new.items()}
        final = {**free, **{var: substitute(value, free) for var, value in solved.values.items()}}
        place = [final[axis.var] for axis in op.axis]
        value = times(head(*i[:rank], *place), substitute(part.value, final))
        wanted = [substitute(one, final) for one in (*solved.conditions, *part.conditions)]
        if wanted:
            value = te.if_then_else(te.all(*wanted), value, e.const(0.0, value.dtype))
        return te.sum(value, axis=list(new.values())) if new else value

    return te.compute((*prefix, *read.tensor.shape), element, name=f"{read.tensor.name}_grad")


def _of_reduction(op: Any, body: t.Reduce, part: Partial, head: Any, prefix: Any) -> t.Tensor:
    """Like ``_of_sum``, for any other combiner: reduce pairs of a value and its derivative."""
    read, combiner = part.leaf, body.combiner
    shape = (*read.tensor.shape, *(_range(axis)[1] for axis in op.axis))
    count = len(read.tensor.shape)

    def element(*i: Any) -> Any:
        new = {axis.var: te.reduce_axis(_bounds(axis), axis.var.name) for axis in body.axis}
        names = {var: one.var for var, one in new.items()}
        names |= {axis.var: value for axis, value in zip(op.axis, i[count:], strict=True)}
        same = [e.Equal(substitute(a, names), v) for a, v in zip(read.indices, i, strict=False)]
        wanted = [*same, *(substitute(one, names) for one in part.conditions)]
        slope, zero = substitute(part.value, names), e.const(0.0, body.dtype)
        slope = te.if_then_else(te.all(*wanted), slope, zero) if wanted else slope
        pair = (substitute(body.source[0], names), slope)
        where = substitute(body.condition, names)
        return _pairs(combiner)(pair, axis=list(new.values()), where=where)

    slopes = te.compute(shape, element, name=f"{op.name}_slope")[1]
    rank = len(prefix)

    def total(*i: Any) -> Any:
        axes = [te.reduce_axis(_bounds(axis), axis.var.name) for axis in op.axis]
        place = [one.var for one in axes]
        value = head(*i[:rank], *place) * slopes(*i[rank:], *place)
        return te.sum(value, axis=axes) if axes else value

    return te.compute((*prefix, *read.tensor.shape), total, name=f"{read.tensor.name}_grad")


def _pairs(combiner: t.CommReducer) -> Any:
    """``combiner`` extended to pairs of a value and its derivative."""
    (left,), (right,), (result,) = combiner.left, combiner.right, combiner.result
    parts = partials(result, lambda node: node is left or node is right)

    def combine(a: Any, b: Any) -> Any:
        names = {left: a[0], right: b[0]}
        slope = e.const(0.0, result.dtype)
        for one in parts:
            term = substitute(one.value, names) * (a[1] if one.leaf is left else b[1])
            for condition in one.conditions:
                term = te.select(substitute(condition, names), term, e.const(0.0, result.dtype))
            slope = slope + term
        return substitute(result, names), slope

    return te.comm_reducer(
        combine, lambda a, b: (combiner.identity[0], e.const(0.0, b)), name=f"{combiner.name}_slope"
    )


@dataclass
class Solution:
    """The ``values`` of the solved variables, for which the indices equal the wanted ones wherever
    ``conditions`` hold; ``rest`` are the axes still free, whose variables may occur in the values."""

    values: dict[e.Var, e.Expr] = field(default_factory=dict)
    conditions: list[e.Expr] = field(default_factory=list)
    rest: list[t.IterVar] = field(default_factory=list)


def solve(
    indices: Sequence[e.Expr], wanted: Sequence[e.Expr], axes: Sequence[t.IterVar], shape: Sequence[Any]
) -> Solution:
    """Solve ``indices == wanted`` for ``axes``, where ``indices`` index a tensor of ``shape``. An index that
    is linear in an axis with factor 1 or -1 is solved for that axis; any other becomes a condition."""
    analyzer, made = Analyzer(), Solution(rest=list(axes))
    for value, extent in zip(wanted, shape, strict=True):
        if isinstance(value, e.Var):
            analyzer.bind(value, 0, extent)
    for axis in axes:
        analyzer.bind(axis.var, *_range(axis))
    for index, value in zip(indices, wanted, strict=True):
        found = substitute(index, made.values)
        for axis in made.rest:
            factor, others = analyzer.linear(found, axis.var) or (0, found)
            if abs(factor) == 1:
                break
        else:
            made.conditions.append(e.Equal(found, value))
            continue
        answer = analyzer.simplify((value - others) * factor)
        made.values = {var: substitute(one, {axis.var: answer}) for var, one in made.values.items()}
        made.conditions = [substitute(one, {axis.var: answer}) for one in made.conditions]
        made.values[axis.var] = answer
        made.rest = [one for one in made.rest if one is not axis]
        first, last = _bounds(axis)
        within = answer >= first, answer < last
        made.conditions += [one for one in within if not analyzer.prove(one)]
    return made


def _bounds(axis: t.IterVar) -> tuple[Any, Any]:
    first, extent = _range(axis)
    return first, first + extent


def _range(axis: t.IterVar) -> tuple[Any, Any]:
    """The first value of ``axis`` and its extent."""
    assert axis.dom is not None  # axes of computes have one
    return axis.dom.min, axis.dom.extent
