"""Flatten every access to one element index, and every local buffer to one axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import BufferRenamer, with_body


def flatten(function: ir.Function) -> ir.Function:
    """Turn ``A[i, j]`` into ``A[i * n + j]``, an int64 index; a vector index linear in the lane stays a Ramp.

    Parameters and constants keep their shape; local buffers and views get one axis of the length that
    their strides require. An access with one index to a buffer of several axes is already flat.
    """
    return with_body(function, _Flatten(analyzer_of_function()).stmt(function.body))


class _Flatten(BufferRenamer):
    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer)
        self.strides: dict[ir.Buffer, tuple[e.Expr, ...]] = {}

    def enter(self, head: ir.Let | ir.Allocate | ir.View) -> list[Any]:
        if isinstance(head, (ir.Allocate, ir.View)):
            buffer = head.buffer
            if len(buffer.shape) != 1 or buffer.strides:
                self.renamed[buffer] = replace(buffer, shape=(self.length(buffer),), strides=())
                head = replace(head, buffer=self.renamed[buffer])
        return super().enter(head)

    def length(self, buffer: ir.Buffer) -> e.Expr:
        """The number of elements that ``buffer`` spans; with strides, the last one's offset plus 1, or 0."""
        total: e.Expr = e.const(1, e.INDEX)
        if buffer.strides:
            for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
                total = total + (extent - 1) * stride
            total = e.fold(e.Max, total, e.const(0, e.INDEX))
        else:
            for extent in buffer.shape:
                total = total * extent
        return self.analyzer.simplify(total)

    def strides_of(self, buffer: ir.Buffer) -> tuple[e.Expr, ...]:
        """The strides in elements, one per axis: dense and row-major unless the buffer has its own."""
        if buffer.strides:
            return buffer.strides
        known = self.strides.get(buffer)
        if known is None:
            step: e.Expr = e.const(1, e.INDEX)
            backwards = []
            for extent in reversed(buffer.shape):
                backwards.append(step)
                step = self.analyzer.simplify(step * extent)
            known = self.strides[buffer] = tuple(reversed(backwards))
        return known

    def index(self, buffer: ir.Buffer, indices: tuple[e.Expr, ...]) -> tuple[e.Expr, ...]:
        """``indices`` as one flat int64 index; the same tuple if they already are."""
        if len(indices) == 1 and (len(buffer.shape) != 1 or not buffer.strides):
            return indices if indices[0].dtype == e.INDEX else (e.cast(e.INDEX, indices[0]),)
        total: e.Expr = e.const(0, e.INDEX)
        for index, stride in zip(indices, self.strides_of(buffer), strict=True):
            total = total + e.cast(e.INDEX, index) * stride
        return (self.analyzer.simplify(total),)

    def expr(self, expr: e.Expr) -> e.Expr:
        return expr if isinstance(expr, (e.Const, e.Var)) else rewrite(expr, self.rule)

    def rule(self, node: Any) -> Any:
        if not isinstance(node, ir.Load):
            return node
        indices = self.index(node.buffer, node.indices)
        buffer = self.renamed.get(node.buffer, node.buffer)
        if indices is node.indices and buffer is node.buffer:
            return node
        return ir.Load(buffer, indices, node.predicate)

    def store(self, store: ir.Store) -> ir.Stmt:
        new = store.map_children(self.expr)
        indices = self.index(store.buffer, new.indices)
        buffer = self.renamed.get(store.buffer, store.buffer)
        if indices is new.indices and buffer is store.buffer:
            return new
        return ir.Store(buffer, indices, new.value, new.predicate)
