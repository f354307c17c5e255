"""The loop nest of one stage: loops, guards, the initialisation of a reduction, attached stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import ScheduleError, TensorExpressionError
from tvmlite.core.node import Node, rewrite, substitute
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.building import Building, index_of
from tvmlite.te.lowering.guards import Guard, depth_in, guarded, guards_of
from tvmlite.te.lowering.reduction_init import (
    Init,
    init_axes,
    init_depth,
    init_loops,
    init_values,
    one_loop,
)
from tvmlite.te.schedule.relations import Number, values_up
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.inline import Bodies
from tvmlite.te.tensor.reduction import combined, initial_values
from tvmlite.te.tensor.tensor import IterVar, TensorRead


def loop_nest(stage: Stage, building: Building) -> ir.Stmt:
    """Build the loops that compute ``stage``, including the stages attached to them."""
    bounds, op = building.bounds, stage.op
    if not isinstance(op, t.ComputeOp):
        return extension(op.kind).loop_nest(stage, building)
    if any(not isinstance(bounds.ranges[axis].extent, int) for axis in op.reduce_axis):
        extension("dependent_extents").check(stage, bounds)
    values = {leaf: bounds.position(leaf) for leaf in stage.leaf_iter_vars}
    values_up(stage.relations, bounds.ranges, values)
    with bounds.inside(stage, own=True):
        guards = guards_of(stage, op, values, bounds)
    when = None
    if stage.predicate is not None:
        every = {bounds.variable(axis): index_of(values[axis]) for axis in stage.all_iter_vars}
        when = substitute(bounds.widening.value(stage.predicate), every)
    if stage.tensorized is not None:
        return extension("tensorize").loop_nest(stage, building, guards)
    places = [building.place(tensor, [values[axis] for axis in op.axis]) for tensor in op.outputs]
    mapping = _axes_at(values, op, bounds)
    reduces = [node for node in building.formulas[op].body if isinstance(node, t.Reduce)]
    if not reduces:
        body = _with_loads(building.formulas[op].body, mapping, building)
        stores = [
            ir.Store(building.buffers[o], p, v) for o, p, v in zip(op.outputs, places, body, strict=True)
        ]
        whole = ir.sequence(*stores)
        return loops_around_body(stage, building, whole if when is None else ir.If(when, whole), guards)
    update = _update(op, reduces, places, mapping, building)
    update = update if when is None else ir.If(when, update)
    return loops_around_body(stage, building, update, guards, init_of(stage, op, reduces, building))


def _axes_at(values: dict[IterVar, Number], op: t.ComputeOp, bounds: Bounds) -> dict[e.Var, Expr]:
    """The expressions that replace ``op``'s axes in its formula where the axes have ``values``."""
    found = {bounds.variable(a): index_of(values[a]) for a in (*op.axis, *op.reduce_axis) if a in values}
    return {var: value for var, value in found.items() if var is not value}


def loops_around_body(
    stage: Stage,
    building: Building,
    body: ir.Stmt,
    guards: list[Guard],
    init: Init | None = None,
    leaves: Sequence[IterVar] | None = None,
) -> ir.Stmt:
    """Wrap ``body`` in the loops ``leaves`` of ``stage``, by default all. Each guard is placed as far out as
    the loops in its condition allow; ``init``, if any, at its depth."""
    bounds, leaves = building.bounds, stage.leaf_iter_vars if leaves is None else leaves
    depths = [depth_in(guard, stage, leaves, bounds.loops) for guard in guards]
    for depth in range(len(leaves) - 1, -2, -1):
        if init is not None and depth == init.depth - 1:
            finish = () if init.finish is None else (init.finish,)
            body = ir.sequence(init_loops(stage, bounds, init), body, *finish)
        here = [g for g, d in zip(guards, depths, strict=True) if d == depth]
        body = guarded(here, body) if depth < 0 else _around(stage, leaves[depth], building, here, body)
    return body


def _around(stage: Stage, leaf: IterVar, building: Building, guards: list[Guard], body: ir.Stmt) -> ir.Stmt:
    """Wrap ``body``, with the stages attached to ``leaf`` and the ``guards``, in the loop ``leaf``."""
    inside = building.attached.get(leaf, [])
    ahead = []
    if any(one.double_buffered for one in inside):
        ahead = extension("staging").double_buffered_stages(inside, stage, leaf, building)
    body = attach(building, [one for one in inside if not one.double_buffered], body)
    if stage.prefetches:
        body = ir.sequence(*extension("staging").prefetches(stage, leaf, building), body)
    body = guarded(guards, body)
    body = one_loop(stage, leaf, building.bounds.loops[leaf], building.bounds, body)
    body = _partitioned(stage, leaf, body)
    if ahead:
        assert isinstance(body, ir.For), "double_buffered_stages refuses other loops"
        body = extension("staging").double_buffered_loop(ahead, body, building)
    building.loops[leaf] = body
    return ir.sequence(body, *building.after_loop.get(leaf, ()))


def _partitioned(stage: Stage, leaf: IterVar, loop: ir.Stmt) -> ir.Stmt:
    """``loop`` as several consecutive loops, if ``loop_partition`` was called on it."""
    sizes = stage.partitions.get(leaf)
    if sizes is None or not isinstance(loop, ir.For):
        return loop
    known = sum(n for n in sizes if n is not None)
    extent = loop.extent
    if not isinstance(extent, e.Const) or extent.value < known:
        raise ScheduleError(
            f"loop_partition: axis {leaf.var.name} of stage {stage.name} has {extent} iterations, expected a "
            f"constant of at least {known}",
            stage.span_of("loop_partition", leaf),
        )
    rest = int(extent.value) - known
    counts = [rest if n is None else n for n in sizes] + ([] if None in sizes else [rest])
    pieces: list[ir.Stmt] = []
    begin = loop.min
    for number, count in enumerate(counts):
        if count == 0:
            continue
        var = loop.var if number == 0 else e.Var(loop.var.name, loop.var.dtype)
        body = loop.body if var is loop.var else substitute(loop.body, {loop.var: var})
        pieces.append(ir.For(var, begin, index_of(count), body, loop.kind, loop.annotations))
        begin = e.fold(e.Add, begin, index_of(count))
    return ir.sequence(*pieces)


def attach(building: Building, stages: Sequence[Stage], body: ir.Stmt) -> ir.Stmt:
    """Put ``stages``, producers first, before ``body``; their buffers are allocated for just this code."""
    for stage in reversed(stages):
        body = ir.sequence(loop_nest(stage, building), body)
        for tensor in reversed(stage.op.outputs):
            if building.buffers[tensor].scope == "local" and tensor not in building.shared:
                body = ir.Allocate(building.buffers[tensor], body)
    return body


def _with_loads(body: Sequence[Expr], mapping: dict[e.Var, Expr], building: Building) -> tuple[Expr, ...]:
    """``body`` with axes replaced as ``mapping`` says and reads of tensors by loads from their buffers."""

    def rule(node: Node) -> Any:
        if isinstance(node, e.Var):
            return mapping.get(node, node)
        if isinstance(node, TensorRead):
            return ir.Load(building.buffers[node.tensor], building.place(node.tensor, node.indices))
        return node

    return rewrite(Bodies(tuple(body)), rule).body


def init_of(stage: Stage, op: t.ComputeOp, reduces: Sequence[t.Reduce], building: Building) -> Init:
    """The initialisation of the result by the reduction's identity, or by its ``init``."""
    bounds, leaves = building.bounds, stage.leaf_iter_vars
    depth = init_depth(stage, leaves)
    axes = init_axes(stage, leaves[depth:])
    loops = {
        axis: bounds.loops[axis] if axis in bounds.loops else e.Var(axis.var.name, e.INDEX) for axis in axes
    }
    values = init_values(stage, bounds, leaves[:depth], loops)
    with bounds.inside(stage, own=True):
        for axis in axes:
            if axis not in bounds.loops:
                bounds.analyzer.bind(loops[axis], 0, bounds.ranges[axis].extent)
        guards = guards_of(stage, op, values, bounds)
    places = [building.place(tensor, [values[axis] for axis in op.axis]) for tensor in op.outputs]
    one = reduces[0]
    initial = _with_loads(initial_values(one), _axes_at(values, op, bounds), building)
    targets = _targets(op, reduces, places, building)
    body = ir.sequence(*(ir.Store(*targets[k], value) for k, value in enumerate(initial)))
    return Init(body, depth, loops, guards)


def _update(
    op: t.ComputeOp,
    reduces: Sequence[t.Reduce],
    places: Sequence[tuple[Expr, ...]],
    mapping: dict[e.Var, Expr],
    building: Building,
) -> ir.Stmt:
    """The statement that combines the result with one more value."""
    one, targets = reduces[0], _targets(op, reduces, places, building)
    count, own = len(one.source), one.combiner
    given = _with_loads((*one.source, *one.free_values, one.condition), mapping, building)
    arguments: dict[e.Var, Expr] = {left: ir.Load(*targets[k]) for k, left in enumerate(own.left)}
    arguments.update(zip((*own.right, *own.free), given[:-1], strict=True))
    update, condition = _store_all([targets[k] for k in range(count)], combined(own, arguments)), given[-1]
    return update if e.is_const(condition, 1) else ir.If(condition, update)


def _targets(
    op: t.ComputeOp, reduces: Sequence[t.Reduce], places: Sequence[tuple[Expr, ...]], building: Building
) -> dict[int, tuple[ir.Buffer, tuple[Expr, ...]]]:
    """The buffer and indices that hold each value of a reduction."""
    picked, count = [r.value_index for r in reduces], len(reduces[0].source)
    if sorted(picked) != list(range(count)):
        raise TensorExpressionError(
            f"compute {op.name!r}: the reduction gives {count} values, each must be one output", op.span
        )
    buffers = [building.buffers[o] for o in op.outputs]
    return {k: (buffers[n], places[n]) for n, k in enumerate(picked)}


def _store_all(targets: Sequence[tuple[ir.Buffer, tuple[Expr, ...]]], values: Sequence[Expr]) -> ir.Stmt:
    """Store ``values``; all are computed before the first is stored, as they may read the old ones."""
    if len(values) == 1:
        return ir.Store(*targets[0], values[0])
    names = [e.Var(f"combined{n}", value.dtype) for n, value in enumerate(values)]
    body: ir.Stmt = ir.sequence(
        *(ir.Store(*target, name) for target, name in zip(targets, names, strict=True))
    )
    for name, value in reversed(list(zip(names, values, strict=True))):
        body = ir.Let(name, value, body)
    return body
