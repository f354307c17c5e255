"""Loops written by hand with int32 variables, as loop IR has them: its loops and extents are int64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core.node import postorder, rewrite
from tvmlite.te import expr as e
from tvmlite.te.loop import ir


def widened(params: Sequence[Any], body: ir.Stmt) -> tuple[tuple[Any, ...], ir.Stmt]:
    """Parameters and loops of a function, whose extents that are no parameters, and whose loops' variables,
    became int64; where one is used as a value, it is cast to the dtype it had."""
    wide: dict[e.Var, e.Var] = {}
    for buffer in (one for one in params if isinstance(one, ir.Buffer)):
        for extent in buffer.shape:
            var = extent.value if isinstance(extent, e.Cast) else extent
            if isinstance(var, e.Var) and var.dtype != e.INDEX and var not in params:
                wide.setdefault(var, e.SizeVar(var.name, e.INDEX))
    for loop in postorder(body):
        if isinstance(loop, ir.For) and loop.var.dtype != e.INDEX:
            wide.setdefault(loop.var, e.Var(loop.var.name, e.INDEX))

    def rule(node: Any) -> Any:
        if isinstance(node, e.Var):
            return e.Cast(node.dtype, wide[node]) if node in wide else node
        if isinstance(node, e.Cast) and node.dtype == e.INDEX and isinstance(node.value, e.Cast):
            inner = node.value.value
            return inner if inner in wide.values() else node
        if isinstance(node, (ir.Load, ir.Store)):
            return replace(node, buffer=buffers.get(node.buffer, node.buffer))
        if isinstance(node, ir.For):
            first, extent = e.cast(e.INDEX, node.min), e.cast(e.INDEX, node.extent)
            return replace(node, var=wide.get(node.var, node.var), min=rule(first), extent=rule(extent))
        return node

    buffers = {
        one: replace(one, shape=tuple(rewrite(e.cast(e.INDEX, n), rule) for n in one.shape))
        for one in params
        if isinstance(one, ir.Buffer) and (wide or any(n.dtype != e.INDEX for n in one.shape))
    }
    return tuple(buffers.get(one, one) for one in params), rewrite(body, rule)
