"""Bound inference: the region of its tensor that each stage computes, and the extent of each loop.

Stages are visited from the outputs backwards. A stage computes the union of what its consumers read while the
loops inside its attach point run and those outside are fixed. Its own loops follow from that region.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions
from tvmlite.te.expr import Expr
from tvmlite.te.extensions import extension
from tvmlite.te.lowering.intervals import Environment, at_least, evaluate, simplify, union
from tvmlite.te.lowering.widen import Widening
from tvmlite.te.schedule.relations import (
    Extent,
    Interval,
    Number,
    Ranges,
    all_of,
    derived_from,
    intervals_up,
    nonempty_with,
    pass_down,
    plain,
    unfused,
)
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, SHRINK, Fuse, Split, loops_around
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor, TensorRead


@dataclass
class Formula:
    """A stage's formula in int64 index arithmetic, and the indices at which it reads each tensor."""

    op: t.ComputeOp
    body: tuple[Expr, ...]
    reads: dict[Tensor, list[tuple[Expr, ...]]]


@dataclass
class Bounds:
    """The result of bound inference.

    ``ranges`` holds the ranges of all axes of all stages: for an operation's own axis, the part that its
    stage computes; ``whole`` holds the part that the operation defines. The variable of a loop, in ``loops``,
    counts from 0 to the extent of its range; ``variable`` gives the axes as they appear in formulas.
    """

    analyzer: Analyzer
    widening: Widening
    ranges: Ranges = field(default_factory=dict)
    whole: Ranges = field(default_factory=dict)
    loops: dict[IterVar, e.Var] = field(default_factory=dict)

    constant_size: ClassVar[bool] = True
    """Whether a stage's region has one size in all iterations of the loops around it, as a buffer has."""

    def variable(self, axis: IterVar) -> e.Var:
        """The variable that stands for ``axis`` in formulas."""
        return self.widening.variable(axis.var)

    def position(self, leaf: IterVar) -> Number:
        """The value of a loop's axis in the current iteration."""
        first, extent = self.ranges[leaf]
        return first if e.is_const(extent, 1) else self.loops[leaf] + first

    def runs(self, needed: Stage | None, owner: Stage, leaf: IterVar, inside: bool) -> bool:
        """Whether the loop ``leaf`` runs while ``needed`` is computed: if ``inside`` the attach point."""
        return inside

    @contextmanager
    def inside(self, stage: Stage, own: bool) -> Iterator[None]:
        """A scope in which the analyzer knows the ranges of the loops around ``stage``, and of its ``own``
        loops if asked for, and that these loops have an iteration. Proofs elsewhere must not assume this."""
        around = list(loops_around(stage))
        if own:
            around = [*((stage, leaf) for leaf in reversed(stage.leaf_iter_vars)), *around]
        with self.analyzer.scope():
            known: set[Number] = set()
            for owner, leaf in reversed(around):
                extent = self.ranges[leaf].extent
                self.analyzer.bind(self.loops[leaf], 0, extent)
                if isinstance(extent, Expr):
                    self._assume_iteration(owner, leaf, known)
            yield

    def _assume_iteration(self, stage: Stage, leaf: IterVar, known: set[Number]) -> None:
        """Assume what one iteration of the loop ``leaf`` implies for other axes: their ranges are not empty;
        the axes it was fused from stay in range, which a quotient by an unknown extent does not show; and so
        do the tiles of a split with shrinking tails."""
        for split in stage.relations:
            if isinstance(split, Split) and split.tail == SHRINK and split.outer is leaf:
                begin, size = self.ranges[split.inner]
                room = self.ranges[split.parent].extent - begin - size - self.position(leaf) * size
                if isinstance(room, Expr):
                    self.analyzer.assume(room >= 0)
        for axis in nonempty_with(stage.relations, leaf):
            extent = self.ranges[axis].extent
            if axis is not leaf and isinstance(extent, Expr) and extent not in known:
                known.add(extent)
                self.analyzer.assume(extent >= 1)
        for axis, value in unfused(stage.relations, self.ranges, leaf, self.position(leaf)).items():
            first, extent = self.ranges[axis]
            if axis is not leaf and isinstance(value, Expr):
                self.analyzer.assume(value < first + extent)

    def region(self, op: Operation) -> tuple[Extent, ...] | None:
        """The region of ``op``'s tensors that its stage computes; None for all of them."""
        if not isinstance(op, t.ComputeOp):
            return None
        return tuple(self.ranges[axis] for axis in op.axis)


def formula_of(op: t.ComputeOp, widening: Widening) -> Formula:
    """``op``'s formula, with its index arithmetic widened."""
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
    known: Mapping[IterVar, e.Var] | None = None,
    kind: type[Bounds] = Bounds,
) -> Bounds:
    """Infer the bounds of a normalised ``schedule``. Tensors of the operations ``given`` are computed whole.

    Loops in ``known`` keep their variables where possible, so that loops of one schedule can be placed among
    those of another. ``kind`` may know more about which loops run.
    """
    bounds = kind(analyzer, widening, loops=dict(known or {}))
    consumers: dict[Operation, list[Stage]] = {stage.op: [] for stage in schedule.stages}
    for stage in schedule.stages:
        for op in dict.fromkeys(tensor.op for tensor in stage.op.inputs):
            consumers[op].append(stage)
    for stage in reversed(schedule.stages):
        op = stage.op
        if op.kind == "extern":
            _check_scope(stage, consumers[op])
        for axis in op.loop_axes:
            assert axis.dom is not None
            bounds.whole[axis] = Extent(
                widening.extent(plain(axis.dom.min)), widening.extent(plain(axis.dom.extent))
            )
            bounds.ranges[axis] = bounds.whole[axis]
        if isinstance(op, t.ComputeOp) and stage.is_computed_with:
            _check_scope(stage, consumers[op])
            extension("compute_with").set_region(stage, op, bounds)
        elif isinstance(op, t.ComputeOp) and op not in given:
            _set_region(stage, op, consumers[op], formulas, bounds)
        _set_loops(stage, bounds)
    return bounds


def _set_loops(stage: Stage, bounds: Bounds) -> None:
    """Set the ranges of the axes derived by splits and fusions, and a variable for each loop."""

    def simple(value: Number) -> Number:
        return simplify(bounds.analyzer, value)

    pass_down(stage.relations, bounds.ranges, simple, bounds.widening.extent)
    for leaf in stage.leaf_iter_vars:
        first, var = bounds.ranges[leaf].min, bounds.variable(leaf)
        # A formula's variable counts from the range's min, a loop's from 0: they are equal only if that is 0.
        if e.is_const(first, 0):
            bounds.loops[leaf] = var
        elif bounds.loops.get(leaf, var) is var:
            bounds.loops[leaf] = e.Var(var.name, var.dtype)


def _set_region(
    stage: Stage, op: t.ComputeOp, consumers: list[Stage], formulas: dict[Operation, Formula], bounds: Bounds
) -> None:
    """Set the ranges of ``op``'s axes to the region that ``consumers`` need in one iteration of the loop that
    the stage is attached to."""
    _check_scope(stage, consumers)
    for consumer in consumers:
        row = consumer.op.row_axis(op)
        if row is not None:
            bounds.ranges[op.axis[0]] = Extent(bounds.position(row), 1)
            return
    if not all(isinstance(consumer.op, t.ComputeOp) for consumer in consumers):
        return
    needed: list[list[Interval | None]] = []
    for consumer in consumers:
        with bounds.inside(consumer, own=True):
            running = running_intervals(consumer, stage.attach_ivar, bounds, stage)
            fused = any(isinstance(r, Fuse) for r in consumer.relations)
            by_loops = extension("fused_reads").by_loops(stage, consumer, bounds) if fused else None
            for tensor, places in formulas[consumer.op].reads.items():
                for place in places if tensor.op is op else ():
                    needed.append([_interval(index, running, by_loops, bounds.analyzer) for index in place])
    with bounds.inside(stage, own=False):
        for axis, *intervals in zip(op.axis, *needed, strict=True):
            # None if nothing is read any more: inlining a stage may drop reads that were passed to it
            interval = reduce(lambda a, b: union(a, b, bounds.analyzer), intervals) if intervals else None
            part = bounds.ranges[axis] = clip(interval, axis, stage, bounds)
            if axis in stage.bound_alignments:
                bounds.ranges[axis] = extension("memory").rounded_to_groups(part, axis, stage, bounds)


def running_intervals(
    stage: Stage, loop: IterVar | None, bounds: Bounds, needed: Stage | None = None
) -> dict[e.Var, Interval]:
    """The intervals of the axes of ``stage`` during one iteration of ``loop``, one of its own loops or of
    those around it, in which the stage ``needed`` is computed. None means the whole function: all loops run.
    """
    found: dict[IterVar, Interval] = {}
    outside: dict[e.Var, Interval] = {}
    partial: set[e.Var] = set()
    inside = True
    for leaf in reversed(stage.leaf_iter_vars):
        inside = inside and leaf is not loop
        first, extent = bounds.ranges[leaf]
        running = bounds.runs(needed, stage, leaf, inside) and not e.is_const(extent, 1)
        found[leaf] = Interval(first, extent - 1) if running else Interval(bounds.position(leaf), 0)
    for owner, leaf in loops_around(stage):
        inside = inside and leaf is not loop
        if bounds.runs(needed, owner, leaf, inside):
            partial.update(_shrinking_tile_loops(owner, leaf, bounds))
            outside[bounds.loops[leaf]] = Interval(0, bounds.ranges[leaf].extent - 1)
    intervals_up(stage.relations, bounds.ranges, found)
    op = stage.op
    axes = (*op.axis, *op.reduce_axis) if isinstance(op, t.ComputeOp) else ()
    return {bounds.variable(axis): _relax(axis, found[axis], outside, partial, bounds) for axis in axes}


def _interval(index: Expr, running: Environment, by_loops: Any, analyzer: Analyzer) -> Interval | None:
    """The interval of ``index`` by the axes in it or, if narrower, by the loops these are derived from."""
    known = evaluate(index, running, analyzer)
    if by_loops is None or (known is not None and known.is_point):
        return known
    return by_loops.narrower(index, known, analyzer)


def shrinks(stage: Stage, leaf: IterVar) -> bool:
    """Whether the loop ``leaf`` of ``stage`` runs over tiles that shrink in the loops after it."""
    return any(isinstance(r, Split) and r.tail == SHRINK and r.outer is leaf for r in stage.relations)


def _shrinking_tile_loops(stage: Stage, leaf: IterVar, bounds: Bounds) -> set[e.Var]:
    """The variables of the loops over shrinking tiles whose outer loop is ``leaf`` of ``stage``. A loop of
    one iteration has no variable to look for; ``_ANY`` represents it."""
    if not shrinks(stage, leaf):
        return set()
    split = next(r for r in stage.relations if isinstance(r, Split) and r.outer is leaf)
    parts = derived_from(stage.relations, [split.outer, split.inner])
    hidden = {_ANY} if e.is_const(bounds.ranges[leaf].extent, 1) else set()
    return hidden | {bounds.loops[one] for one in stage.leaf_iter_vars if one in parts}


_ANY = e.Var("any", e.INDEX)
"""Represents a variable that may occur anywhere, unseen."""


def _relax(
    axis: IterVar,
    interval: Interval,
    outside: dict[e.Var, Interval],
    partial: set[e.Var],
    bounds: Bounds,
) -> Interval:
    """Extend ``interval`` of ``axis`` by the running loops ``outside``, on which its low end may depend. The
    loops of ``partial`` continue in further loops, which are not visible here."""
    if _ANY in partial or (isinstance(interval.low, Expr) and mentions(interval.low, tuple(partial))):
        return _whole_range(axis, (*outside, *partial), bounds)
    if not outside or isinstance(interval.low, int):
        return interval
    low = evaluate(interval.low, outside, bounds.analyzer)
    if low is None:
        return _whole_range(axis, (*outside, *partial), bounds)
    return Interval(low.low, low.width + interval.width)


def _whole_range(axis: IterVar, running: tuple[e.Var, ...], bounds: Bounds) -> Interval:
    """The range of ``axis``, which in a scan is all that can be computed at this iteration; or the whole
    axis, if its range depends on loops that are ``running``."""
    part = bounds.ranges[axis]
    moves = any(isinstance(one, Expr) and mentions(one, running) for one in part)
    return all_of(bounds.whole[axis] if moves else part)


def clip(interval: Interval | None, axis: IterVar, stage: Stage, bounds: Bounds) -> Extent:
    """The range of ``axis`` to compute, given the interval that is read: the whole axis if that is no larger,
    or if the interval's extent is unknown. Reads are in bounds, so elements beyond the axis are never read. A
    stage in another one's loop keeps an interval of known extent, though the whole axis may be shorter, such
    as ``min(n, 5)``: its loops, and those of its readers, can then be unrolled."""
    analyzer, whole = bounds.analyzer, bounds.whole[axis]
    if interval is None:
        return whole
    low, width = simplify(analyzer, interval.low), _constant_width(interval.width, bounds)
    if width is None:
        return whole
    only_known = stage.attach_type == AT and isinstance(width, int) and isinstance(whole.extent, Expr)
    if not only_known and at_least(width + 1 - whole.extent, 0, analyzer):
        return whole
    if isinstance(low, int) and isinstance(width, int) and isinstance(whole.extent, int):
        begin = int(whole.min)  # type: ignore[arg-type]
        first, last = max(low, begin), min(low + width, begin + whole.extent - 1)
        return Extent(first, max(0, last - first + 1))
    if stage.attach_type != AT and not (isinstance(low, int) and isinstance(width, int)):
        return whole
    return Extent(low, clamp_to_zero(width + 1) if bounds.constant_size else width + 1)


def clamp_to_zero(extent: Number) -> Number:
    """``extent``, but at least 0: a buffer exists even where loops of that extent have no iteration."""
    if at_least(extent, 0, Analyzer()):
        return extent
    return 0 if isinstance(extent, int) else e.Max(extent, e.const(0, e.INDEX))


def _constant_width(width: Number, bounds: Bounds) -> Number | None:
    """``width`` as a constant if possible, else a width that suits ``bounds``; None if there is neither."""
    width = simplify(bounds.analyzer, width)
    return width if isinstance(width, int) else extension("intervals").loop_invariant_width(width, bounds)


def _check_scope(stage: Stage, consumers: list[Stage]) -> None:
    """Raise an error if a consumer of ``stage`` is outside the loop that it is attached to."""
    for consumer in consumers if stage.attach_type == AT else ():
        within = (*consumer.leaf_iter_vars, *(leaf for _, leaf in loops_around(consumer)))
        if not any(leaf is stage.attach_ivar for leaf in within):
            assert stage.attach_stage is not None
            assert stage.attach_ivar is not None
            raise ScheduleError(
                f"compute_at: {stage.name} is computed at axis {stage.attach_ivar.var.name} of "
                f"{stage.attach_stage.name}, but {consumer.name}, which is outside that loop, reads it too",
                stage.attach_span,
            )
