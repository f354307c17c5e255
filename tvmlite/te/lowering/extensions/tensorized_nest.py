"""The loop nest of a tensorized stage, and where the intrinsic's reset and update are placed."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core.errors import ScheduleError
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.building import Building, index_of
from tvmlite.te.lowering.extensions.tensorize import intrinsic_statements
from tvmlite.te.lowering.guards import Guard, axis_kinds, depth_of, prover
from tvmlite.te.lowering.nest import init_of, loops_around_body
from tvmlite.te.lowering.reduction_init import Init, init_axes, init_depth
from tvmlite.te.schedule.relations import Number, overruns, values_up
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import Fuse
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar


def loop_nest(stage: Stage, building: Building, guards: list[Guard]) -> ir.Stmt:
    """The loops of ``stage`` outside the intrinsic, around the intrinsic's statements."""
    assert stage.tensorized is not None
    assert isinstance(stage.op, t.ComputeOp)
    bounds, leaves = building.bounds, stage.leaf_iter_vars
    position = stage.require_leaf("tensorize", stage.tensorized[0], stage.span_of("tensorize"))
    outer, inner = leaves[:position], leaves[position:]
    for leaf in inner:
        for one in building.attached.get(leaf, ()):
            raise ScheduleError(
                f"tensorize: {one.name} is computed at axis {leaf.var.name} of {stage.name}, a loop that "
                "the intrinsic replaces",
                stage.span_of("tensorize"),
            )
    risky = overruns(stage.relations, leaves, bounds.ranges, prover(bounds))
    made = intrinsic_statements(stage, building, inner, risky)
    body, reset, update = made.body, made.reset, made.update
    guards = [g for g in guards if depth_of(g.condition, leaves, bounds.loops) < position]
    parts = axis_kinds(stage)
    around = [leaf for leaf in outer if "reduce" in parts[leaf]]
    if not around:
        return loops_around_body(stage, building, body, guards, leaves=outer)
    if update is None:
        raise ScheduleError(
            f"tensorize: axis {around[0].var.name} of {stage.name} reduces outside the intrinsic "
            f"{stage.tensorized[1].name}, which has no update",
            stage.span_of("tensorize"),
            hint="its function must give (body, reset, update)",
        )
    if reset is not None:
        init = _reset(stage, bounds, outer, reset, guards)
        if made.finish is not None:
            _check_window_sums(stage, building, outer, init)
            init.finish = made.finish
        return loops_around_body(stage, building, update, guards, init, outer)
    stage.refuse_shrinking("tensorize", ("reduce",), stage.span_of("tensorize"))
    if not all(_has_iterations(bounds.ranges[axis].extent) for axis in stage.op.reduce_axis):
        reduces = [node for node in building.formulas[stage.op].body if isinstance(node, t.Reduce)]
        return loops_around_body(
            stage, building, update, guards, init_of(stage, stage.op, reduces, building), outer
        )
    first = _first_iteration(stage, bounds, around)
    return loops_around_body(stage, building, ir.If(first, body, update), guards, leaves=outer)


def _has_iterations(extent: Number) -> bool:
    """Whether a loop of ``extent`` is known to have an iteration."""
    return int(extent.value) > 0 if isinstance(extent, e.Const) else isinstance(extent, int) and extent > 0


def _first_iteration(stage: Stage, bounds: Bounds, around: Sequence[IterVar]) -> Expr:
    """The condition that the loops ``around``, which reduce, are at the start of an element's reduction. A
    loop fused from data and reduce axes is at the start once for each element."""
    parts = axis_kinds(stage)
    values: dict[IterVar, Number] = dict.fromkeys(stage.leaf_iter_vars, 0)
    values |= {leaf: bounds.position(leaf) for leaf in around}
    values_up(stage.relations, bounds.ranges, values)
    mixed = [r for r in stage.relations if isinstance(r, Fuse) and len(parts[r.fused]) > 1]
    reducing = [leaf for leaf in around if len(parts[leaf]) == 1]
    reducing += [axis for r in mixed for axis in (r.outer, r.inner) if parts[axis] == {"reduce"}]
    ranges = {axis: bounds.ranges[axis] for axis in reducing if not e.is_const(bounds.ranges[axis].extent, 1)}
    return e.all_of([e.Equal(index_of(values[axis]), index_of(one.min)) for axis, one in ranges.items()])


def _reset(
    stage: Stage, bounds: Bounds, outer: Sequence[IterVar], reset: ir.Stmt, guards: list[Guard]
) -> Init:
    """The initialisation that runs an intrinsic's ``reset`` for the windows that the loops ``outer``
    cover."""
    depth, parts = init_depth(stage, outer), axis_kinds(stage)
    for leaf in outer[depth:]:
        if len(parts[leaf]) > 1:
            raise ScheduleError(
                f"tensorize: axis {leaf.var.name} of {stage.name}, outside the intrinsic, both reduces and "
                "runs over elements",
                stage.span_of("tensorize"),
            )
    axes = init_axes(stage, outer[depth:])
    if not bounds.loops.keys() >= set(axes):  # the intrinsic does not have the windows of smaller tiles
        stage.refuse_shrinking("tensorize", ("data",), stage.span_of("tensorize"))
    loops = {axis: bounds.loops[axis] for axis in axes}
    return Init(reset, depth, loops, guards)


def _check_window_sums(stage: Stage, building: Building, outer: Sequence[IterVar], init: Init) -> None:
    """Check an intrinsic that holds a window's sums until its finish: inside the reduction, all loops around
    it reduce, and no other such intrinsic is called."""
    assert stage.tensorized is not None
    name, span = stage.tensorized[1].name, stage.span_of("tensorize")
    if init.loops:
        axis = next(iter(init.loops))
        raise ScheduleError(
            f"tensorize: axis {axis.var.name} of {stage.name} runs over elements inside its reduction, while "
            f"the intrinsic {name} holds the sums of one window",
            span,
            hint="reorder: what runs over elements outside what reduces, and the intrinsic inside",
        )
    todo = [one for leaf in outer[init.depth :] for one in building.attached.get(leaf, ())]
    while todo:
        one = todo.pop()
        if one.tensorized is not None and one.tensorized[1].finish is not None:
            raise ScheduleError(
                f"tensorize: {one.name}, whose intrinsic {one.tensorized[1].name} holds sums, is computed "
                f"inside the reduction of {stage.name}, while the intrinsic {name} holds those",
                one.span_of("tensorize"),
            )
        todo += [other for leaf in one.leaf_iter_vars for other in building.attached.get(leaf, ())]
