"""The conditions under which a stage computes: tails of splits, and regions that stick out of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.intervals import at_least, simplify
from tvmlite.te.schedule.relations import Number, made_from, overruns
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import SHRINK, Fuse, Split
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar


@dataclass
class Guard:
    """A condition under which a stage computes, which is about ``axis``, and whether the start of a reduction
    needs it."""

    axis: IterVar
    condition: Expr
    for_start: bool


def guards_of(stage: Stage, op: t.ComputeOp, values: Mapping[IterVar, Number], bounds: Bounds) -> list[Guard]:
    """What must hold of the axes that have ``values`` for an iteration to count: splits may overrun their
    axis, and the part of a tensor that a consumer needs may stick out of the tensor."""
    analyzer, parts = bounds.analyzer, parts_of(stage)
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


def parts_of(stage: Stage) -> dict[IterVar, frozenset[str]]:
    """Of each axis, whether it comes from data axes, reduce axes, or both."""
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
    """Whether two numbers are known to be equal."""

    def equal(a: Number, b: Number) -> bool:
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return e.is_const(simplify(bounds.analyzer, a - b), 0)

    return equal


def guarded(guards: Sequence[Guard], body: ir.Stmt) -> ir.Stmt:
    """``body`` where all ``guards`` hold."""
    return ir.If(e.all_of([g.condition for g in guards]), body) if guards else body


def depth_in(guard: Guard, stage: Stage, leaves: Sequence[IterVar], loops: Mapping[IterVar, e.Var]) -> int:
    """The innermost of ``leaves`` that ``guard`` has to stand in; -1 if in none: of those that it speaks of,
    and of those whose tiles shrink, as each of the loops that follow them has guards of its own."""
    depth = depth_of(guard.condition, leaves, loops)
    for split in stage.relations:
        if isinstance(split, Split) and split.tail == SHRINK and split.outer in leaves:
            if split.parent in made_from(stage.relations, [guard.axis]):
                depth = max(depth, leaves.index(split.outer))
    return depth


def depth_of(condition: Expr, leaves: Sequence[IterVar], loops: Mapping[IterVar, e.Var]) -> int:
    """The innermost of ``leaves``, whose variables are ``loops``, that ``condition`` speaks of; -1 if of
    none."""
    used = set(postorder(condition))
    return max((n for n, leaf in enumerate(leaves) if loops[leaf] in used), default=-1)
