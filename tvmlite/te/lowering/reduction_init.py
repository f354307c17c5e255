"""Where a reduction starts: the loops that set its result, before the loops that reduce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import substitute
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.guards import Guard, depth_of, guarded, parts_of
from tvmlite.te.schedule.relations import Number, made_from, values_up
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import SHRINK, UNROLL, VECTORIZE, Fuse, Relation, Split
from tvmlite.te.tensor.tensor import IterVar


@dataclass
class Start:
    """What is done before the loop at ``depth``: ``body``, in ``loops`` of its own, under those of
    ``guards`` that speak of them. ``finish``, if any, is done behind that loop."""

    body: ir.Stmt
    depth: int
    loops: Mapping[IterVar, e.Var]
    guards: Sequence[Guard]
    finish: ir.Stmt | None = None


def start_depth(stage: Stage, leaves: Sequence[IterVar]) -> int:
    """Before which of the loops ``leaves`` the stage's reduction starts: before the outermost that reduces,
    if ``decompose_reduction`` does not ask for one further out."""
    parts, wanted = parts_of(stage), stage.init_axis
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


def start_axes(stage: Stage, leaves: Sequence[IterVar]) -> list[IterVar]:
    """The axes to run over for all elements met in the loops ``leaves``. A loop over elements and terms at
    once has no iteration where there are no terms: the axes over elements that it was made from are taken. So
    is the axis whose smaller tiles are in further loops."""
    parts = parts_of(stage)
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
    todo, in_part = list(reversed(leaves)), made_from(stage.relations, partial)
    while todo:
        axis = todo.pop()
        if parts[axis] == {"data"} and axis not in in_part:
            found[axis] = None
        elif "data" in parts[axis]:
            todo.extend(reversed(sources[axis]))
    return list(found)


def start_values(
    stage: Stage, bounds: Bounds, outer: Sequence[IterVar], loops: Mapping[IterVar, e.Var]
) -> dict[IterVar, Number]:
    """The values of all axes over elements, in the stage's loops ``outer`` and those of its start."""
    parts = parts_of(stage)
    values: dict[IterVar, Number] = {leaf: bounds.position(leaf) for leaf in outer}
    for axis, var in loops.items():
        first, extent = bounds.ranges[axis]
        values[axis] = first if e.is_const(extent, 1) else var + first
    below = made_from(stage.relations, list(loops)) - loops.keys()  # parts of loops that are run over whole

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


def start_loops(stage: Stage, bounds: Bounds, start: Start) -> ir.Stmt:
    """The statement of ``start``, whose loops get names of their own."""
    axes = list(start.loops)
    fresh = {axis: e.Var(f"{axis.var.name}.init", e.INDEX) for axis in axes}
    chosen = [g for g in start.guards if g.for_start]
    depths = [depth_of(guard.condition, axes, start.loops) for guard in chosen]
    body = start.body
    for depth in range(len(axes) - 1, -1, -1):
        body = guarded([g for g, d in zip(chosen, depths, strict=True) if d == depth], body)
        body = one_loop(stage, axes[depth], fresh[axes[depth]], bounds, body)
    return substitute(body, {start.loops[axis]: var for axis, var in fresh.items()})


def one_loop(stage: Stage, axis: IterVar, var: e.Var, bounds: Bounds, body: ir.Stmt) -> ir.Stmt:
    """``body`` in a loop over ``axis``; in none if that runs once."""
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
