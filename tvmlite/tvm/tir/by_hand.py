"""Translates hand-written functions to tvmlite's loop IR.

``tir.ret(x)`` at the end becomes an output of rank 0. Loop variables and extents of int32 become int64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder, rewrite
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

_RET = "ret"


def ret(val: Any, span: Any = None) -> e.Expr:
    """Return ``val`` from a function, for use in ``tir.Evaluate``. The caller gets an array of rank 0; only
    the end of a function may return."""
    value = e.scalar("ret", val)
    return e.Call(_RET, (value,), value.dtype)


def stmt_seq(*args: Any) -> ir.Stmt:
    """Return the sequence of the given statements; expressions become ``Evaluate`` statements. A single
    statement is returned as it is."""
    listed = [one if isinstance(one, ir.Stmt) else ir.Evaluate(e.scalar("stmt_seq", one)) for one in args]
    return listed[0] if len(listed) == 1 else ir.Seq(tuple(listed))


def stmt_list(stmt: ir.Stmt) -> list[ir.Stmt]:
    """Return the statements of the sequence ``stmt``, with nested sequences flattened."""
    if not isinstance(stmt, ir.Seq):
        return [stmt]
    return [found for one in stmt.body for found in stmt_list(one)]


def with_output(body: ir.Stmt) -> tuple[ir.Stmt, ir.Buffer | None]:
    """``body`` with its returns replaced by stores, and the output buffer they write; None for the buffer if
    nothing is returned. Raises an UnsupportedError for a return that is not at the end."""
    every = [node for node in postorder(body) if _returns(node)]
    if not every:
        return body, None
    last = set(_last(body))
    if not all(node in last for node in every):
        raise UnsupportedError("tir.ret: a function returns at its end only", Span.of_caller())
    first: Any = every[0]
    output = ir.Buffer("returned", first.value.dtype, (), "param")

    def rule(node: Any) -> Any:
        return ir.Store(output, (), e.cast(output.dtype, node.value.args[0])) if _returns(node) else node

    return rewrite(body, rule), output


def _returns(node: Any) -> bool:
    return isinstance(node, ir.Evaluate) and isinstance(node.value, e.Call) and node.value.name == _RET


def _last(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
    """The statements that may be executed last in ``stmt``."""
    if isinstance(stmt, ir.Seq) and stmt.body:
        yield from _last(stmt.body[-1])
    elif isinstance(stmt, ir.If):
        yield from _last(stmt.then)
        if stmt.otherwise is not None:
            yield from _last(stmt.otherwise)
    elif isinstance(stmt, (ir.Let, ir.Allocate)):
        yield from _last(stmt.body)
    else:
        yield stmt


def widened(params: Sequence[Any], body: ir.Stmt) -> tuple[tuple[Any, ...], ir.Stmt]:
    """The parameters and body of a function with int64 loop variables and int64 extents, except for extents
    that are parameters. Where one of these variables is used as a value, it is cast to its former dtype."""
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
