"""Functions that return a number: ``tir.ret(x)`` at their end becomes an output without axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder, rewrite
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

_RET = "ret"


def ret(val: Any, span: Any = None) -> e.Expr:
    """The end of a function, for ``tir.Evaluate``: its call gives ``val``, an array without axes."""
    value = e.scalar("ret", val)
    return e.Call(_RET, (value,), value.dtype)


def with_output(body: ir.Stmt) -> tuple[ir.Stmt, ir.Buffer | None]:
    """``body`` storing what it returned, and where; None if it returns nothing. An UnsupportedError if
    anything might follow a return."""
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
    """The statements that end ``stmt``."""
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
