"""Bound inference: which part of its tensor each stage computes, and how far each loop runs.

Stages are met from the outputs backwards. A stage computes the union of what its consumers read while the
loops inside its attach point run; the loops outside stand still. From that its own loops follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te import tensor as t
from tvmlite.te.arith import Analyzer
from tvmlite.te.expr import Expr
from tvmlite.te.intervals import at_least, evaluate, simplify, union
from tvmlite.te.relations import Extent, Interval, Number, Ranges, intervals_up, pass_down, plain
from tvmlite.te.schedule import Schedule
from tvmlite.te.stage import AT, Stage
from tvmlite.te.tensor import IterVar, Operation, Tensor, TensorRead
from tvmlite.te.widen import Widening


@dataclass
class Formula:
    """What a compute's stage computes, in int64 index arithmetic, and the elements it reads for it."""

    op: t.ComputeOp
    body: tuple[Expr, ...]
    reads: dict[Tensor, list[tuple[Expr, ...]]]


@dataclass
class Bounds:
    """What bound inference found.

    ``ranges`` are those of all axes of all stages: of an operation's own axis the part that its stage
    computes, ``whole`` the part the operation defines. A loop's variable, in ``loops``, counts from 0 to
    its range's extent; ``variables`` are the axes as formulas know them.
    """

    analyzer: Analyzer
    widening: Widening
    ranges: Ranges = field(default_factory=dict)
    whole: Ranges = field(default_factory=dict)
    loops: dict[IterVar, e.Var] = field(default_factory=dict)

    def variable(self, axis: IterVar) -> e.Var:
        """The axis as formulas know it."""
        return self.widening.variable(axis.var)

    def position(self, leaf: IterVar) -> Number:
        """The value of a loop's axis at one iteration."""
        first, extent = self.ranges[leaf]
        return first if e.is_const(extent, 1) else self.loops[leaf] + first

    def region(self, op: Operation) -> tuple[Extent, ...] | None:
        """The part of ``op``'s tensors that its stage computes; None for all of it."""
        if not isinstance(op, t.ComputeOp):
            return None
        return tuple(self.ranges[axis] for axis in op.axis)


def formula_of(op: t.ComputeOp, widening: Widening) -> Formula:
    """``op``'s formula with its index arithmetic widened."""
    body = tuple(widening.value(b) for b in op.body)
    reads: dict[Tensor, dict[tuple[Expr, ...], None]] = {}
    for root in body:
        for node in postorder(root):
            if isinstance(node, TensorRead):
                reads.setdefault(node.tensor, {})[node.indices] = None
    return Formula(op, body, {tensor: list(places) for tensor, places in reads.items()})


def infer(
    schedule: Schedule,
    formulas: dict[Operation, Formula],
    given: Collection[Operation],
    analyzer: Analyzer,
    widening: Widening,
) -> Bounds:
    """The bounds of a normalised ``schedule``. The tensors of the operations ``given`` are needed whole."""
    bounds = Bounds(analyzer, widening)
    consumers: dict[Operation, list[Stage]] = {stage.op: [] for stage in schedule.stages}
    for stage in schedule.stages:
        for op in dict.fromkeys(tensor.op for tensor in stage.op.inputs):
            consumers[op].append(stage)
    for stage in reversed(schedule.stages):
        op = stage.op
        if not isinstance(op, t.ComputeOp):
            if isinstance(op, t.ExternOp):
                _check_scope(stage, consumers[op])
            continue
        for axis in (*op.axis, *op.reduce_axis):
            assert axis.dom is not None
            bounds.whole[axis] = Extent(
                widening.extent(plain(axis.dom.min)), widening.extent(plain(axis.dom.extent))
            )
            bounds.ranges[axis] = bounds.whole[axis]
        if op not in given:
            _set_region(stage, op, consumers[op], formulas, bounds)
        _set_loops(stage, bounds)
    return bounds


def _set_loops(stage: Stage, bounds: Bounds) -> None:
    """Ranges of the axes made by splits and fuses, and a variable for each loop."""

    def simple(value: Number) -> Number:
        return simplify(bounds.analyzer, value)

    pass_down(stage.relations, bounds.ranges, simple, bounds.widening.extent)
    for leaf in stage.leaf_iter_vars:
        first, extent = bounds.ranges[leaf]
        var = bounds.variable(leaf)
        # A formula's variable counts from the range's min, a loop's from 0: they are one only if that is 0.
        bounds.loops[leaf] = var if e.is_const(first, 0) else e.Var(var.name, var.dtype)
        bounds.analyzer.bind(bounds.loops[leaf], 0, extent)


def _set_region(
    stage: Stage, op: t.ComputeOp, consumers: list[Stage], formulas: dict[Operation, Formula], bounds: Bounds
) -> None:
    """The part of ``op``'s axes that ``consumers`` need at one turn of the loop the stage is attached to."""
    needed: list[Interval | None] | None = None
    for consumer in consumers:
        running = _running(stage, consumer, bounds)
        if not isinstance(consumer.op, t.ComputeOp):
            return
        for tensor, places in formulas[consumer.op].reads.items():
            for place in places if tensor.op is op else ():
                met = [evaluate(index, running, bounds.analyzer) for index in place]
                if needed is None:
                    needed = met
                else:
                    needed = [union(a, b, bounds.analyzer) for a, b in zip(needed, met, strict=True)]
    for axis, interval in zip(op.axis, needed or [], strict=False):
        bounds.ranges[axis] = _clip(interval, bounds.whole[axis], stage, bounds)


def _running(stage: Stage, consumer: Stage, bounds: Bounds) -> dict[e.Var, Interval]:
    """Over what the axes of ``consumer`` run during one turn of the loop that ``stage`` is attached to."""
    found: dict[IterVar, Interval] = {}
    outside: dict[e.Var, Interval] = {}
    inside = True
    for leaf in reversed(consumer.leaf_iter_vars):
        inside = inside and leaf is not stage.attach_ivar
        first, extent = bounds.ranges[leaf]
        running = inside and not e.is_const(extent, 1)
        found[leaf] = Interval(first, extent - 1) if running else Interval(bounds.position(leaf), 0)
    for leaf in _loops_around(consumer):
        inside = inside and leaf is not stage.attach_ivar
        if inside:
            outside[bounds.loops[leaf]] = Interval(0, bounds.ranges[leaf].extent - 1)
    if inside and stage.attach_type == AT:
        _complain(stage, consumer)
    intervals_up(consumer.relations, bounds.ranges, found)
    op = consumer.op
    axes = (*op.axis, *op.reduce_axis) if isinstance(op, t.ComputeOp) else ()
    return {bounds.variable(axis): _relax(axis, found[axis], outside, bounds) for axis in axes}


def _relax(axis: IterVar, interval: Interval, outside: dict[e.Var, Interval], bounds: Bounds) -> Interval:
    """``interval`` of ``axis`` while the loops ``outside``, on which its low end may depend, run too."""
    if not outside or isinstance(interval.low, int):
        return interval
    low = evaluate(interval.low, outside, bounds.analyzer)
    if low is None:
        return Interval(bounds.whole[axis].min, bounds.whole[axis].extent - 1)
    return Interval(low.low, low.width + interval.width)


def _loops_around(stage: Stage) -> Iterator[IterVar]:
    """The loops that ``stage`` stands in, innermost first."""
    while stage.attach_type == AT:
        parent, axis = stage.attach_stage, stage.attach_ivar
        assert parent is not None
        leaves = parent.leaf_iter_vars
        position = next(n for n, leaf in enumerate(leaves) if leaf is axis)
        yield from reversed(leaves[: position + 1])
        stage = parent


def _check_scope(stage: Stage, consumers: list[Stage]) -> None:
    """An error if a consumer of ``stage`` stands outside the loop it is attached to."""
    for consumer in consumers if stage.attach_type == AT else ():
        within = (*consumer.leaf_iter_vars, *_loops_around(consumer))
        if not any(leaf is stage.attach_ivar for leaf in within):
            _complain(stage, consumer)


def _complain(stage: Stage, consumer: Stage) -> None:
    assert stage.attach_stage is not None
    assert stage.attach_ivar is not None
    raise ScheduleError(
        f"compute_at: {stage.name} is computed at axis {stage.attach_ivar.var.name} of "
        f"{stage.attach_stage.name}, but {consumer.name}, which is outside that loop, reads it too",
        stage.attach_span,
    )


def _clip(interval: Interval | None, whole: Extent, stage: Stage, bounds: Bounds) -> Extent:
    """The range to compute, given the interval that is read: all of the axis where that is not less, and
    where the interval is of unknown extent. Reads are in bounds, so what sticks out is never read."""
    analyzer = bounds.analyzer
    if interval is None:
        return whole
    low, width = simplify(analyzer, interval.low), _constant_width(interval.width, stage, bounds)
    if width is None or at_least(width + 1 - whole.extent, 0, analyzer):
        return whole
    if isinstance(low, int) and isinstance(width, int) and isinstance(whole.extent, int):
        begin = int(whole.min)  # type: ignore[arg-type]
        first, last = max(low, begin), min(low + width, begin + whole.extent - 1)
        return Extent(first, max(0, last - first + 1))
    if stage.attach_type != AT and not (isinstance(low, int) and isinstance(width, int)):
        return whole
    extent = width + 1
    if not at_least(extent, 0, analyzer):
        extent = 0 if isinstance(extent, int) else e.Max(extent, e.const(0, e.INDEX))
    return Extent(low, extent)


def _constant_width(width: Number, stage: Stage, bounds: Bounds) -> Number | None:
    """``width`` as a constant if it can be, else over size variables only; None if neither is possible."""
    width = simplify(bounds.analyzer, width)
    if isinstance(width, int):
        return width
    loops = set(bounds.loops.values())
    if not any(node in loops for node in postorder(width)):
        return width
    return bounds.analyzer.interval(width).high
