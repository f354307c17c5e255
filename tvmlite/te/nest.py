"""The loop nest of one stage: loops, guards, the initialisation of a reduction, attached stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core.errors import ScheduleError, TensorExpressionError
from tvmlite.core.node import Node, postorder, rewrite, substitute
from tvmlite.te import expr as e
from tvmlite.te import tensor as t
from tvmlite.te.bounds import Bounds, Formula
from tvmlite.te.expr import Expr
from tvmlite.te.inline import Bodies
from tvmlite.te.intervals import at_least, simplify
from tvmlite.te.layout import IndexMap
from tvmlite.te.loop import ir
from tvmlite.te.relations import Number, overruns, values_up
from tvmlite.te.scan import ScanOp
from tvmlite.te.stage import Fuse, Split, Stage
from tvmlite.te.staging import doubled, one_ahead, prefetches
from tvmlite.te.tensor import IterVar, Operation, Tensor, TensorRead
from tvmlite.te.tensorize import intrinsic_statements


@dataclass
class Guard:
    """A condition under which a stage computes, and whether the initialisation of a reduction needs it."""

    condition: Expr
    for_init: bool


@dataclass
class Building:
    """What the loop nests are built from, and where they go: ``attached`` are the stages that stand in a
    loop, ``current`` gives what stands for a tensor, ``shared`` tensors live in the memory of others."""

    bounds: Bounds
    formulas: dict[Operation, Formula]
    buffers: dict[Tensor, ir.Buffer]
    given: frozenset[Operation]
    attached: dict[IterVar, list[Stage]]
    current: Callable[[Tensor], Tensor]
    layouts: dict[Operation, IndexMap]
    shared: frozenset[Tensor]

    def first(self, op: Operation) -> tuple[Number, ...]:
        """The element of ``op``'s tensors that stands first in their buffers."""
        region = None if op in self.given else self.bounds.region(op)
        return () if region is None else tuple(extent.min for extent in region)

    def place(self, tensor: Tensor, indices: Sequence[Number]) -> tuple[Expr, ...]:
        """Where in its buffer the element of ``tensor`` at ``indices`` is."""
        first = self.first(tensor.op) or (0,) * len(indices)
        here: Sequence[Number] = [i - f for i, f in zip(indices, first, strict=True)]
        if tensor.op in self.layouts:
            here = self.layouts[tensor.op].indices(here)
        return tuple(index_of(i) for i in here)


def index_of(value: Number) -> Expr:
    """``value`` as an int64 expression."""
    return e.const(value, e.INDEX) if isinstance(value, int) else value


def loop_nest(stage: Stage, building: Building) -> ir.Stmt:
    """The loops that compute ``stage``, with the stages attached to them."""
    if isinstance(stage.op, t.ExternOp):
        return _extern(stage.op, building)
    if isinstance(stage.op, ScanOp):
        return _loops(stage, building, ir.Seq(()), [])
    bounds, op = building.bounds, stage.op
    assert isinstance(op, t.ComputeOp)
    values = {leaf: bounds.position(leaf) for leaf in stage.leaf_iter_vars}
    values_up(stage.relations, bounds.ranges, values)
    mapping = {bounds.variable(axis): index_of(values[axis]) for axis in (*op.axis, *op.reduce_axis)}
    mapping = {var: value for var, value in mapping.items() if var is not value}
    with bounds.inside(stage, own=True):
        guards = _guards(stage, op, values, bounds)
    when = None
    if stage.predicate is not None:
        every = {bounds.variable(axis): index_of(values[axis]) for axis in stage.all_iter_vars}
        when = substitute(bounds.widening.value(stage.predicate), every)
    if stage.tensorized is not None:
        return _tensorized(stage, building, guards)
    places = [building.place(tensor, [values[axis] for axis in op.axis]) for tensor in op.outputs]
    reduces = [node for node in building.formulas[op].body if isinstance(node, t.Reduce)]
    if not reduces:
        body = _in_buffers(building.formulas[op].body, mapping, building)
        stores = [
            ir.Store(building.buffers[o], p, v) for o, p, v in zip(op.outputs, places, body, strict=True)
        ]
        whole = ir.sequence(*stores)
        return _loops(stage, building, whole if when is None else ir.If(when, whole), guards)
    init, update = _reduction(op, reduces, places, mapping, building)
    update = update if when is None else ir.If(when, update)
    return _loops(stage, building, update, guards, init)


def _tensorized(stage: Stage, building: Building, guards: list[Guard]) -> ir.Stmt:
    """The loops of ``stage`` outside the intrinsic that the inner ones became, and its statements there."""
    assert stage.tensorized is not None
    bounds, leaves = building.bounds, stage.leaf_iter_vars
    position = stage.require_leaf("tensorize", stage.tensorized[0])
    outer, inner = leaves[:position], leaves[position:]
    for leaf in inner:
        for one in building.attached.get(leaf, ()):
            raise ScheduleError(
                f"tensorize: {one.name} is computed at axis {leaf.var.name} of {stage.name}, a loop that "
                "the intrinsic replaces",
                stage.tensorize_span,
            )
    risky = overruns(stage.relations, leaves, bounds.ranges, _prover(bounds))
    body, reset, update = intrinsic_statements(stage, building, inner, risky)
    guards = [g for g in guards if _depth(g.condition, leaves, bounds) < position]
    parts = _parts(stage)
    around = [leaf for leaf in outer if "reduce" in parts[leaf]]
    if not around:
        return _loops(stage, building, body, guards, leaves=outer)
    if update is None:
        raise ScheduleError(
            f"tensorize: axis {around[0].var.name} of {stage.name} reduces outside the intrinsic "
            f"{stage.tensorized[1].name}, which has no update",
            stage.tensorize_span,
            hint="its function must give (body, reset, update)",
        )
    if reset is not None:
        return _loops(stage, building, update, guards, reset, outer)
    first = e.all_of([e.Equal(bounds.loops[leaf], index_of(0)) for leaf in around])
    return _loops(stage, building, ir.If(first, body, update), guards, leaves=outer)


def _prover(bounds: Bounds) -> Callable[[Number, Number], bool]:
    """Whether two numbers are known to be equal."""

    def equal(a: Number, b: Number) -> bool:
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return e.is_const(simplify(bounds.analyzer, a - b), 0)

    return equal


def _loops(
    stage: Stage,
    building: Building,
    body: ir.Stmt,
    guards: list[Guard],
    init: ir.Stmt | None = None,
    leaves: Sequence[IterVar] | None = None,
) -> ir.Stmt:
    """``body`` in the loops ``leaves`` of ``stage``, by default all. Each guard stands as far out as the
    loops it speaks of allow; ``init``, if any, just outside the outermost loop that reduces."""
    bounds, leaves = building.bounds, stage.leaf_iter_vars if leaves is None else leaves
    parts = _parts(stage)
    begin = next((n for n, leaf in enumerate(leaves) if "reduce" in parts[leaf]), len(leaves))
    if stage.init_axis is not None and init is not None:
        begin = _init_depth(stage, begin)
    depths = [_depth(guard.condition, leaves, bounds) for guard in guards]
    if init is not None:
        inner = [g for g, depth in zip(guards, depths, strict=True) if depth >= begin and g.for_init]
        init = _init_loops(stage, bounds, [n for n in leaves[begin:] if "data" in parts[n]], init, inner)
    for depth in range(len(leaves) - 1, -2, -1):
        if init is not None and depth == begin - 1:
            body = ir.sequence(init, body)
        here = [g for g, d in zip(guards, depths, strict=True) if d == depth]
        body = _guarded(here, body) if depth < 0 else _around(stage, leaves[depth], building, here, body)
    return body


def _around(stage: Stage, leaf: IterVar, building: Building, guards: list[Guard], body: ir.Stmt) -> ir.Stmt:
    """The loop ``leaf`` around ``body``, what is computed in it, and its ``guards``."""
    inside = building.attached.get(leaf, [])
    ahead = doubled(inside, stage, leaf, building, lambda one: loop_nest(one, building))
    body = attach(building, [one for one in inside if one.double_span is None], body)
    body = _guarded(guards, ir.sequence(*prefetches(stage, leaf, building), body))
    body = _loop(stage, leaf, building.bounds.loops[leaf], building.bounds, body)
    body = _in_pieces(stage, leaf, body)
    for one, producer in ahead:
        assert isinstance(body, ir.For)
        body = one_ahead(one, producer, body, building)
    return body


def _init_depth(stage: Stage, begin: int) -> int:
    """Before which loop the stage's reduction is initialised, by ``decompose_reduction``."""
    wanted, leaves = stage.init_axis, stage.leaf_iter_vars
    position = next((n for n, leaf in enumerate(leaves) if leaf is wanted), len(leaves))
    if position > begin:
        assert wanted is not None
        raise ScheduleError(
            f"decompose_reduction: axis {wanted.var.name} of stage {stage.name} is no loop outside the "
            "reduction any more",
            stage.init_span,
        )
    return position


def _in_pieces(stage: Stage, leaf: IterVar, loop: ir.Stmt) -> ir.Stmt:
    """``loop`` as several one after the other, where ``loop_partition`` says so."""
    sizes = stage.partitions.get(leaf)
    if sizes is None or not isinstance(loop, ir.For):
        return loop
    known = sum(n for n in sizes if n is not None)
    extent = loop.extent
    if not isinstance(extent, e.Const) or extent.value < known:
        raise ScheduleError(
            f"loop_partition: axis {leaf.var.name} of stage {stage.name} has {extent} turns, expected a "
            f"constant of at least {known}",
            stage.partition_spans.get(leaf),
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
    """``stages``, producers first, and then ``body``; their buffers exist just here."""
    for stage in reversed(stages):
        body = ir.sequence(loop_nest(stage, building), body)
        for tensor in reversed(stage.op.outputs):
            if building.buffers[tensor].scope == "local" and tensor not in building.shared:
                body = ir.Allocate(building.buffers[tensor], body)
    return body


def _loop(stage: Stage, leaf: IterVar, var: e.Var, bounds: Bounds, body: ir.Stmt) -> ir.Stmt:
    """One loop; none if it runs once."""
    extent = bounds.ranges[leaf].extent
    if e.is_const(extent, 1):
        return body
    kind = stage.loop_kinds.get(leaf, ir.SERIAL)
    pragmas = tuple(stage.pragmas.get(leaf, ()))
    return ir.For(var, index_of(0), index_of(extent), body, kind, pragmas)


def _init_loops(
    stage: Stage, bounds: Bounds, leaves: list[IterVar], init: ir.Stmt, guards: list[Guard]
) -> ir.Stmt:
    """``init`` in loops of its own over those ``leaves`` that stand inside the reduction."""
    fresh = {leaf: e.Var(f"{leaf.var.name}.init", e.INDEX) for leaf in leaves}
    depths = [_depth(guard.condition, leaves, bounds) for guard in guards]
    body = init
    for depth in range(len(leaves) - 1, -2, -1):
        body = _guarded([g for g, d in zip(guards, depths, strict=True) if d == depth], body)
        if depth >= 0:
            body = _loop(stage, leaves[depth], fresh[leaves[depth]], bounds, body)
    return substitute(body, {bounds.loops[leaf]: var for leaf, var in fresh.items()})


def _guarded(guards: list[Guard], body: ir.Stmt) -> ir.Stmt:
    return ir.If(e.all_of([g.condition for g in guards]), body) if guards else body


def _depth(condition: Expr, leaves: Sequence[IterVar], bounds: Bounds) -> int:
    """The innermost of the loops that ``condition`` speaks of; -1 if of none."""
    used = set(postorder(condition))
    return max((n for n, leaf in enumerate(leaves) if bounds.loops[leaf] in used), default=-1)


def _parts(stage: Stage) -> dict[IterVar, frozenset[str]]:
    """Of each axis, whether it comes from data axes, reduce axes, or both."""
    op = stage.op
    if isinstance(op, ScanOp):
        return {axis: frozenset(["data"]) for axis in stage.all_iter_vars}
    assert isinstance(op, t.ComputeOp)
    parts = {axis: frozenset([axis.kind]) for axis in (*op.axis, *op.reduce_axis)}
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner):
                parts[outer] = parts[inner] = parts[parent]
            case Fuse(outer, inner, fused):
                parts[fused] = parts[outer] | parts[inner]
            case _:
                parts[relation.iter] = frozenset(["data"])
    return parts


def _guards(stage: Stage, op: t.ComputeOp, values: dict[IterVar, Number], bounds: Bounds) -> list[Guard]:
    """What must hold for an iteration to count: splits may overrun their axis, and the part of a tensor
    that a consumer needs may stick out of the tensor."""
    analyzer, parts = bounds.analyzer, _parts(stage)

    guards: list[Guard] = []

    def require(axis: IterVar, room: Number) -> None:
        if not at_least(room, 0, analyzer):
            condition = analyzer.simplify(room >= 0) if isinstance(room, e.Expr) else e.const(False)
            guards.append(Guard(condition, "data" in parts[axis]))

    risky = overruns(stage.relations, stage.leaf_iter_vars, bounds.ranges, _prover(bounds))
    for axis in stage.all_iter_vars:
        if axis in risky:
            first, extent = bounds.ranges[axis]
            require(axis, first + extent - 1 - values[axis])
    for axis in (*op.axis, *op.reduce_axis):
        part, whole = bounds.ranges[axis], bounds.whole[axis]
        if part is not whole:
            require(axis, values[axis] - whole.min)
            require(axis, whole.min + whole.extent - 1 - values[axis])
    return guards


def _in_buffers(body: Sequence[Expr], mapping: dict[e.Var, Expr], building: Building) -> tuple[Expr, ...]:
    """``body`` with axes replaced by ``mapping`` and reads of tensors by loads from their buffers."""

    def rule(node: Node) -> Any:
        if isinstance(node, e.Var):
            return mapping.get(node, node)
        if isinstance(node, TensorRead):
            return ir.Load(building.buffers[node.tensor], building.place(node.tensor, node.indices))
        return node

    return rewrite(Bodies(tuple(body)), rule).body


def _reduction(
    op: t.ComputeOp,
    reduces: Sequence[t.Reduce],
    places: Sequence[tuple[Expr, ...]],
    mapping: dict[e.Var, Expr],
    building: Building,
) -> tuple[ir.Stmt, ir.Stmt]:
    """The statement that sets the result to the identity (or to ``init``), and the one that combines one
    more value."""
    one = reduces[0]
    picked = [r.value_index for r in reduces]
    if sorted(picked) != list(range(len(one.source))):
        raise TensorExpressionError(
            f"compute {op.name!r}: the reduction gives {len(one.source)} values, each must be one output",
            op.span,
        )
    source = _in_buffers((*one.source, one.condition, *one.init), mapping, building)
    count = len(one.source)
    values, condition, starts = source[:count], source[count], source[count + 1 :]
    buffers = [building.buffers[o] for o in op.outputs]
    targets = {k: (buffers[n], places[n]) for n, k in enumerate(picked)}
    init = [ir.Store(*targets[k], value) for k, value in enumerate(starts or one.combiner.identity)]
    arguments = {left: ir.Load(*targets[k]) for k, left in enumerate(one.combiner.left)}
    arguments.update(zip(one.combiner.right, values, strict=True))  # type: ignore[arg-type]
    results = substitute(Bodies(one.combiner.result), arguments).body
    update = _store_all([targets[k] for k in range(count)], results)
    if not e.is_const(condition, 1):
        update = ir.If(condition, update)
    return ir.sequence(*init), update


def _store_all(targets: Sequence[tuple[ir.Buffer, tuple[Expr, ...]]], values: Sequence[Expr]) -> ir.Stmt:
    """Store ``values``; all are computed before the first is stored, as they may read what is there."""
    if len(values) == 1:
        return ir.Store(*targets[0], values[0])
    names = [e.Var(f"combined{n}", value.dtype) for n, value in enumerate(values)]
    body: ir.Stmt = ir.sequence(
        *(ir.Store(*target, name) for target, name in zip(targets, names, strict=True))
    )
    for name, value in reversed(list(zip(names, values, strict=True))):
        body = ir.Let(name, value, body)
    return body


def _extern(op: t.ExternOp, building: Building) -> ir.Stmt:
    """An extern's own statement, over our buffers and with int64 indices."""
    twins = dict(zip(op.output_buffers, (building.buffers[o] for o in op.outputs), strict=True))
    twins |= dict(zip(op.input_buffers, (building.buffers[i] for i in op.input_tensors), strict=True))
    widening = building.bounds.widening
    for one in postorder(op.body):
        if isinstance(one, ir.Let):
            widening.keep(one.var)

    def widen(node: Any) -> Any:
        return widening.value(node) if isinstance(node, Expr) else node

    def rule(node: Node) -> Any:
        match node:
            case ir.Store() if node.buffer in twins:
                node = ir.Store(twins[node.buffer], node.indices, node.value, node.predicate)
            case ir.Load() if node.buffer in twins:
                node = ir.Load(twins[node.buffer], node.indices, node.predicate)
        return node.map_children(widen) if isinstance(node, ir.Stmt) else node

    return rewrite(op.body, rule)
