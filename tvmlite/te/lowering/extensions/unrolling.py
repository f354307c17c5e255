"""A warning about loops unrolled so far that compiling takes long."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.code_size import unrolled_size
from tvmlite.te.loop.passes.unroll import MOST_STATEMENTS
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage_base import UNROLL

MANY_STORES = 4096
"""From this many stores on, compiling a kernel takes seconds: about 0.8 ms for each with an addition, 2.5 ms
for each with an ``exp``."""


def warn_of_long_code(function: ir.Function, lanes: int, schedule: Schedule | None = None) -> None:
    """Issue a RuntimeWarning, at the line that unrolls most, if ``function`` will have ``MANY_STORES``.

    ``lanes`` is the number of lanes of a vector; ``schedule``, if any, is what the function was lowered from.
    """
    count = unrolled_size(function, lanes)
    if count < MANY_STORES:
        return
    iterations: dict[str, int] = {}
    for node in postorder(function.body):
        if isinstance(node, ir.For) and node.kind == UNROLL and isinstance(node.extent, e.Const):
            iterations[node.var.name] = max(int(node.extent.value), iterations.get(node.var.name, 0))
    if not iterations:
        return
    axes = sorted(iterations, key=lambda name: -iterations[name])
    spans = dict(_spans(schedule))
    span = next((spans[name] for name in axes if name in spans), None) or Span.of_caller()
    listed = ", ".join(f"{name} of {iterations[name]} iterations" for name in axes)
    warnings.warn_explicit(
        f"{function.name}: unrolling {listed} writes out {count} stores, which may take minutes to compile; "
        f"a loop of more than {MOST_STATEMENTS} statements stays one. Split the axis, unroll the inner part",
        RuntimeWarning,
        span.source,
        span.line,
    )


def _spans(schedule: Schedule | None) -> Iterator[tuple[str, Span]]:
    """The names of unrolled axes, with the line that unrolls them."""
    for stage in schedule.stages if schedule is not None else ():
        for axis, kind in stage.loop_kinds.items():
            span = stage.span_of(UNROLL, axis)
            if kind == UNROLL and span is not None:
                yield axis.var.name, span
