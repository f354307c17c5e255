"""Guards: conditions for the tails of splits, and for regions that exceed a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.intervals import at_least, simplify
from tvmlite.te.schedule.relations import Number, derived_from, overruns
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import SHRINK, Fuse, Split
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar


@dataclass
class Guard:
    """A condition on ``axis`` under which a stage computes. ``for_init``: whether the initialisation of a
    reduction needs it too."""

    axis: IterVar
    condition: Expr
    for_init: bool


def guards_of(stage: Stage, op: t.ComputeOp, values: Mapping[IterVar, Number], bounds: Bounds) -> list[Guard]:
    """The conditions for an iteration to count, where the axes have ``values``: splits may exceed their axis,
    and the region that a consumer needs may exceed the tensor."""
    analyzer, parts = bounds.analyzer, axis_kinds(stage)
    guards: list[Guard] = []

    def require(axis: IterVar, room: Number) -> None:
        if not at_least(room, 0, analyzer):
            condition = analyzer.simplify(room >= 0) if isinstance(room, e.Expr) else e.const(False)
            guards.append(Guard(axis, condition, "data" in parts[axis]))

    risky = overruns(stage.relations, stage.leaf_iter_vars, bounds.ranges, prover(bounds))
    for axis in stage.all_iter_vars:
        if axis in risky and axis in values:
            first, extent = bounds.ranges[axis]
            require(axis, first + extent - 1 - values[axis])
    for axis in (*op.axis, *op.reduce_axis):
        part, whole = bounds.ranges[axis], bounds.whole[axis]
        if part is not whole and axis in values:
            require(axis, values[axis] - whole.min)
            require(axis, whole.min + whole.extent - 1 - values[axis])
    return guards


def axis_kinds(stage: Stage) -> dict[IterVar, frozenset[str]]:
    """For each axis, whether it is derived from data axes, reduce axes, or both."""
    parts = {axis: frozenset(["reduce" if axis.kind == "reduce" else "data"]) for axis in stage.op.loop_axes}
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner):
                parts[outer] = parts[inner] = parts[parent]
            case Fuse(outer, inner, fused):
                parts[fused] = parts[outer] | parts[inner]
            case _:
                parts[relation.iter] = frozenset(["data"])
    return parts


def prover(bounds: Bounds) -> Callable[[Number, Number], bool]:
    """A predicate: whether two numbers are known to be equal."""

    def equal(a: Number, b: Number) -> bool:
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return e.is_const(simplify(bounds.analyzer, a - b), 0)

    return equal


def guarded(guards: Sequence[Guard], body: ir.Stmt) -> ir.Stmt:
    """``body`` where all ``guards`` hold."""
    return ir.If(e.all_of([g.condition for g in guards]), body) if guards else body


def depth_in(guard: Guard, stage: Stage, leaves: Sequence[IterVar], loops: Mapping[IterVar, e.Var]) -> int:
    """The position of the innermost of ``leaves`` that ``guard`` must be inside, -1 if none: of those in its
    condition, and of those whose tiles shrink, as the loops that follow them have their own guards."""
    depth = depth_of(guard.condition, leaves, loops)
    for split in stage.relations:
        if isinstance(split, Split) and split.tail == SHRINK and split.outer in leaves:
            if split.parent in derived_from(stage.relations, [guard.axis]):
                depth = max(depth, leaves.index(split.outer))
    return depth


def depth_of(condition: Expr, leaves: Sequence[IterVar], loops: Mapping[IterVar, e.Var]) -> int:
    """The position of the innermost of ``leaves``, whose variables are ``loops``, in ``condition``; -1 if
    none."""
    used = set(postorder(condition))
    return max((n for n, leaf in enumerate(leaves) if loops[leaf] in used), default=-1)
