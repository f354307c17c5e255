"""The initialisation of a reduction: the loops that set its result, before the loops that reduce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.guards import Guard, axis_kinds, depth_of, guarded
from tvmlite.te.schedule.relations import Number, derived_from, values_up
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import SHRINK, UNROLL, VECTORIZE, Fuse, Relation, Split
from tvmlite.te.tensor.tensor import IterVar


@dataclass
class Init:
    """Code before the loop at ``depth``: ``body``, in its own ``loops``, under those of ``guards`` that
    depend on them. ``finish``, if any, is executed after that loop."""

    body: ir.Stmt
    depth: int
    loops: Mapping[IterVar, e.Var]
    guards: Sequence[Guard]
    finish: ir.Stmt | None = None


def init_depth(stage: Stage, leaves: Sequence[IterVar]) -> int:
    """The position among ``leaves`` of the loop before which the reduction is initialised: the outermost that
    reduces, unless ``decompose_reduction`` names one further out."""
    parts, wanted = axis_kinds(stage), stage.init_axis
    reducing = next((n for n, leaf in enumerate(leaves) if "reduce" in parts[leaf]), len(leaves))
    if wanted is None:
        return reducing
    depth = next((n for n, leaf in enumerate(leaves) if leaf is wanted), len(leaves))
    if depth > reducing:
        raise ScheduleError(
            f"decompose_reduction: axis {wanted.var.name} of stage {stage.name} is no loop outside the "
            "reduction any more",
            stage.span_of("decompose_reduction"),
        )
    return depth


def init_axes(stage: Stage, leaves: Sequence[IterVar]) -> list[IterVar]:
    """The data axes to iterate over to reach all elements of the loops ``leaves``. A loop fused from data and
    reduce axes has no iteration if the reduction is empty, so the data axes it was fused from are used
    instead; likewise the axis of tiles that shrink in further loops."""
    parts = axis_kinds(stage)
    sources = {}
    partial: list[IterVar] = []
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner):
                sources[outer] = sources[inner] = (parent,)
                if relation.tail == SHRINK and outer in leaves:
                    partial += [outer, inner]
            case Fuse(outer, inner, fused):
                sources[fused] = (outer, inner)
    found: dict[IterVar, None] = {}
    todo, in_part = list(reversed(leaves)), derived_from(stage.relations, partial)
    while todo:
        axis = todo.pop()
        if parts[axis] == {"data"} and axis not in in_part:
            found[axis] = None
        elif "data" in parts[axis]:
            todo.extend(reversed(sources[axis]))
    return list(found)


def init_values(
    stage: Stage, bounds: Bounds, outer: Sequence[IterVar], loops: Mapping[IterVar, e.Var]
) -> dict[IterVar, Number]:
    """The values of all data axes inside the stage's loops ``outer`` and the ``loops`` of its
    initialisation."""
    parts = axis_kinds(stage)
    values: dict[IterVar, Number] = {leaf: bounds.position(leaf) for leaf in outer}
    for axis, var in loops.items():
        first, extent = bounds.ranges[axis]
        values[axis] = first if e.is_const(extent, 1) else var + first
    below = derived_from(stage.relations, list(loops)) - loops.keys()  # derived from axes in ``loops``

    def is_known(relation: Relation) -> bool:
        match relation:
            case Split(parent, outer):
                return parts[parent] == {"data"} and outer not in below
            case Fuse(_, _, fused):
                return parts[fused] == {"data"} and fused not in below
            case _:
                return False

    values_up([one for one in stage.relations if is_known(one)], bounds.ranges, values)
    return values


def init_loops(stage: Stage, bounds: Bounds, init: Init) -> ir.Stmt:
    """The statement of ``init``, whose loops get new variables."""
    axes = list(init.loops)
    fresh = {axis: e.Var(f"{axis.var.name}.init", e.INDEX) for axis in axes}
    chosen = [g for g in init.guards if g.for_init]
    depths = [depth_of(guard.condition, axes, init.loops) for guard in chosen]
    body = init.body
    for depth in range(len(axes) - 1, -1, -1):
        body = guarded([g for g, d in zip(chosen, depths, strict=True) if d == depth], body)
        body = one_loop(stage, axes[depth], fresh[axes[depth]], bounds, body)
    return substitute(body, {init.loops[axis]: var for axis, var in fresh.items()})


def one_loop(stage: Stage, axis: IterVar, var: e.Var, bounds: Bounds, body: ir.Stmt) -> ir.Stmt:
    """Wrap ``body`` in a loop over ``axis``, unless it runs once."""
    extent = e.convert(bounds.ranges[axis].extent, e.INDEX)
    if e.is_const(extent, 1):
        return body
    kind = stage.loop_kinds.get(axis, ir.SERIAL)
    if kind in (VECTORIZE, UNROLL) and not e.is_const(extent):
        raise stage.error(
            kind,
            f"has {extent} iterations, expected a constant number",
            axis,
            hint="split it by a constant factor",
            span=stage.span_of(stage.loop_kinds[axis], axis),
        )
    return ir.For(var, e.const(0, e.INDEX), extent, body, kind, tuple(stage.pragmas.get(axis, ())))
