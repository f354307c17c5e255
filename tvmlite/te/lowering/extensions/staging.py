"""Memory traffic around a loop: prefetches of data that later iterations read, and stages computed one
iteration ahead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import rewrite, substitute
from tvmlite.machine.machine import LINE_BYTES
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.bounds import running_intervals
from tvmlite.te.lowering.building import Building
from tvmlite.te.lowering.intervals import evaluate, simplify, union
from tvmlite.te.lowering.nest import loop_nest
from tvmlite.te.schedule.relations import Interval, Number, ceil_div
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import Prefetch, loops_around
from tvmlite.te.tensor.tensor import IterVar, Tensor

UNROLLED_LINES = 16
"""Up to this many lines an iteration are prefetched by straight-line code: a loop's overhead would cost
more."""


def prefetches(stage: Stage, leaf: IterVar, building: Building) -> list[ir.Stmt]:
    """The prefetches at the start of the loop ``leaf`` of ``stage``."""
    return [_prefetch(stage, one, building) for one in stage.prefetches if one.place is leaf]


def _prefetch(stage: Stage, asked: Prefetch, building: Building) -> ir.Stmt:
    bounds, tensor = building.bounds, building.current(asked.tensor)
    maker = next((one for one in _attached(building) if tensor in one.op.outputs), None)
    if maker is not None and any(around is asked.axis for _, around in loops_around(maker)):
        raise ScheduleError(
            f"prefetch: {tensor.name} is computed inside the loop {asked.axis.var.name} of {stage.name}, "
            "so there is nothing to prefetch",
            asked.span,
        )
    ahead = bounds.widening.index(asked.offset)
    with bounds.inside(stage, own=True):
        var = bounds.loops[asked.axis]
        lows: list[Expr] = []
        counts: list[int] = []
        for axis, interval in enumerate(_read_in_an_iteration(stage, asked, tensor, building)):
            width = None if interval is None else simplify(bounds.analyzer, interval.width)
            if interval is None or not isinstance(width, int):
                raise ScheduleError(
                    f"prefetch: it is not known how much of axis {axis} of {tensor.name} an iteration of "
                    f"{asked.axis.var.name} reads",
                    asked.span,
                )
            lows.append(substitute(e.convert(interval.low, e.INDEX), {var: var + ahead}))
            counts.append(width + 1)
    return _lines(tensor, lows, counts, asked.share, building)


def _attached(building: Building) -> Iterator[Stage]:
    return (one for stages in building.attached.values() for one in stages)


def _read_in_an_iteration(
    stage: Stage, asked: Prefetch, tensor: Tensor, building: Building
) -> list[Interval | None]:
    """The intervals that ``stage``, and the stages computed in its loop ``asked.axis``, read of ``tensor`` in
    one iteration."""
    analyzer = building.bounds.analyzer
    readers = [stage]
    readers += [r for r in _attached(building) if any(one is asked.axis for _, one in loops_around(r))]
    whole: list[Interval | None] = []
    for reader in readers:
        formula = building.formulas.get(reader.op)
        places = () if formula is None else formula.reads.get(tensor, ())
        running = running_intervals(reader, asked.axis, building.bounds) if places else {}
        for place in places:
            found = [evaluate(index, running, analyzer) for index in place]
            whole = [union(a, b, analyzer) for a, b in zip(whole, found, strict=True)] if whole else found
    if not whole and tensor.ndim:
        raise ScheduleError(f"prefetch: stage {stage.name} does not read {tensor.name} any more", asked.span)
    return whole


def _lines(
    tensor: Tensor, lows: list[Expr], counts: list[int], share: Sequence[IterVar], building: Building
) -> ir.Stmt:
    """Prefetch the lines of a region; in the loops ``share``, each iteration prefetches a part of its longest
    axis."""
    buffer, bounds = building.buffers[tensor], building.bounds
    steps = _steps(tensor, counts)
    iterations: list[Number] = [ceil_div(count, step) for count, step in zip(counts, steps, strict=True)]
    loops = [e.Var(f"{tensor.name}.line{axis}", e.INDEX) for axis in range(len(iterations))]
    lines: list[Expr] = list(loops)
    done: Expr = e.const(False)
    if share and iterations:
        longest = max(range(len(iterations)), key=lambda axis: int(iterations[axis]))  # type: ignore[arg-type]
        iteration, total = e.const(0, e.INDEX), e.const(1, e.INDEX)
        for loop in share:
            first, extent = bounds.ranges[loop]
            iteration, total = iteration * extent + (bounds.position(loop) - first), total * extent
        part = simplify(bounds.analyzer, ceil_div(iterations[longest], total))
        done = e.convert(iteration * part >= iterations[longest])
        iterations[longest], lines[longest] = part, iteration * part + loops[longest]
    indices = [low + line * n for low, line, n in zip(lows, lines, steps, strict=True)] if iterations else []
    load = ir.Load(buffer, building.place(tensor, indices))
    # data that arrive over many iterations must not evict their working set from the first cache
    body: ir.Stmt = ir.Evaluate(e.Call("prefetch_l2" if share else "prefetch", (load,), tensor.dtype))
    known = [count for count in iterations if isinstance(count, int)]
    few = len(known) == len(iterations) and math.prod(known) <= UNROLLED_LINES
    for var, count in reversed(list(zip(loops, iterations, strict=True))):
        body = ir.For(
            var, e.const(0, e.INDEX), e.convert(count, e.INDEX), body, ir.UNROLL if few else ir.SERIAL
        )
    return body if e.is_const(done, 0) else ir.If(e.Not(done), body)


def _steps(tensor: Tensor, counts: list[int]) -> list[int]:
    """The distance between lines along each axis. Where inner axes are read whole and share a line, it is the
    number of steps that share one."""
    steps, left = [], max(1, LINE_BYTES // dtypes.bytes_of(tensor.dtype))
    for extent, count in zip(reversed(tensor.shape), reversed(counts), strict=True):
        steps.append(left)
        whole = isinstance(extent, int) and extent == count > 0 and left % count == 0
        left = left // count if whole else 1
    return steps[::-1]


def double_buffered_loop(made: Sequence[tuple[Stage, ir.Stmt]], loop: ir.For, building: Building) -> ir.Stmt:
    """``loop`` with the statements of ``made``, which compute its double-buffered stages, moved one iteration
    ahead."""
    stages, producers = zip(*made, strict=True)
    if loop.kind != ir.SERIAL:
        raise ScheduleError(
            f"double_buffer: {stages[0].name} is computed in the {loop.kind} loop {loop.var.name}, whose "
            "iterations have no order",
            stages[0].span_of("double_buffer"),
        )
    outputs = [tensor for stage in stages for tensor in stage.op.outputs]
    pairs = {building.buffers[x]: _doubled_buffer(building.buffers[x]) for x in outputs}
    iteration = loop.var - loop.min
    ahead, following = (
        _select_half(stmt, pairs, iteration % 2) for stmt in (ir.sequence(*producers), loop.body)
    )
    next_iteration = substitute(ahead, {loop.var: loop.var + 1})
    first = substitute(ahead, {loop.var: loop.min})
    last = loop.min + loop.extent
    body = ir.sequence(ir.If(loop.var + 1 < last, next_iteration), following)
    result = ir.sequence(ir.If(loop.extent >= 1, first), replace(loop, body=body))
    for double in pairs.values():
        result = ir.Allocate(double, result)
    return result


def _doubled_buffer(buffer: ir.Buffer) -> ir.Buffer:
    strides: tuple[Expr, ...] = ()
    if buffer.strides:
        size: Expr = buffer.strides[0] * buffer.shape[0]
        strides = (size, *buffer.strides)
    return ir.Buffer(
        buffer.name,
        buffer.dtype,
        (e.const(2, e.INDEX), *buffer.shape),
        buffer.scope,
        strides,
        buffer.alignment,
    )


def _select_half(stmt: ir.Stmt, pairs: dict[ir.Buffer, ir.Buffer], half: Expr) -> Any:
    """``stmt`` with accesses to the ``half`` of each doubled buffer."""

    def place(buffer: ir.Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if len(indices) == len(buffer.shape):
            return (half, *indices)
        size: Expr = e.const(1, e.INDEX)
        for extent in buffer.shape:
            size = size * extent
        if buffer.strides:
            size = buffer.strides[0] * buffer.shape[0]
        return (indices[0] + e.broadcast(half * size, indices[0].lanes),)

    def rule(node: Any) -> Any:
        match node:
            case ir.Load(buffer, indices, predicate) if buffer in pairs:
                return ir.Load(pairs[buffer], place(buffer, indices), predicate)
            case ir.Store(buffer, indices, value, predicate) if buffer in pairs:
                return ir.Store(pairs[buffer], place(buffer, indices), value, predicate)
            case _:
                return node

    return rewrite(stmt, rule)


def double_buffered_stages(
    stages: list[Stage], reader: Stage, leaf: IterVar, building: Building
) -> list[tuple[Stage, ir.Stmt]]:
    """The double-buffered ones of ``stages``, which are computed in the loop ``leaf`` of ``reader``."""
    found: list[tuple[Stage, ir.Stmt]] = []
    for stage in stages:
        if not stage.double_buffered:
            continue
        for other in stages:
            if stage.reads(other.op):  # directly, or through stages computed in its loops
                raise ScheduleError(
                    f"double_buffer: {stage.name} cannot be an iteration ahead of {other.name}, which it "
                    f"reads and which is computed in the same loop {leaf.var.name}",
                    stage.span_of("double_buffer"),
                )
        if e.is_const(building.bounds.ranges[leaf].extent, 1) or leaf in reader.partitions:
            raise ScheduleError(
                f"double_buffer: the loop {leaf.var.name}, in which {stage.name} is computed, "
                + ("is in pieces" if leaf in reader.partitions else "has one iteration"),
                stage.span_of("double_buffer"),
            )
        found.append((stage, loop_nest(stage, building)))
    return found
