"""Detection of reads that are certainly out of bounds, when a compute is declared."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Node, reachable_from
from tvmlite.core.span import Span
from tvmlite.te import arith
from tvmlite.te import expr as e

Ranges = Mapping[Any, tuple[Any, Any]]
"""The begin and extent of each axis, by its variable."""


_deferred: ContextVar[bool] = ContextVar("deferred", default=False)


@contextmanager
def checks_deferred() -> Iterator[None]:
    """A scope in which declared computes are not checked; the code that lowers them calls ``check_reads``."""
    token = _deferred.set(True)
    try:
        yield
    finally:
        _deferred.reset(token)


def are_checks_deferred() -> bool:
    """Whether this is executed inside a ``with checks_deferred()``."""
    return _deferred.get()


def check_reads(
    body: Sequence[e.Expr],
    ranges: Ranges,
    name: str,
    span: Span | None,
    states: Collection[Any] | None = None,
) -> bool:
    """Raise an error for a read that is out of bounds for some value of the axes, whatever the sizes are.

    The update of a scan reads rows before the current one, which exist when it is executed. Which
    placeholders are the ``states`` of scans is known only when there is a schedule. While ``states`` is None,
    the check of such reads is postponed, which the result reports.

    Only reads under no condition are checked, and only indices that are sums of axes times constants. Any
    other read may still be out of bounds, with undefined results.
    """
    if _deferred.get():
        return False
    if any(isinstance(extent, int) and extent == 0 for _, extent in ranges.values()):
        return False  # no element, so no read
    postponed = False
    for read in _unguarded_reads(body):
        for position, (index, extent) in enumerate(zip(read.indices, read.tensor.shape, strict=True)):
            reached = _value_range(index, ranges)
            if reached is None:
                continue
            low, high = reached
            if position == 0 and _may_read_scan_state(read, index, ranges):
                if states is None:
                    postponed = True
                    continue
                if read.tensor in states:
                    continue
            if _is_certain(low, -1) or _is_certain(extent, high):
                raise TensorExpressionError(
                    f"compute {name!r} reads tensor {read.tensor.name!r} at {low} to {high} on axis "
                    f"{position}, whose extent is {extent}",
                    span,
                    hint="guard the read: te.if_then_else(condition, A[i], other)",
                )
    return postponed


def _unguarded_reads(body: Sequence[e.Expr]) -> list[Any]:
    """The reads executed for every element, under no condition."""

    def evaluated(node: Node) -> Sequence[Node]:
        choice = isinstance(node, e.Select) or (isinstance(node, e.Call) and node.name == "if_then_else")
        return node.children()[:1] if choice else node.children()

    every = reachable_from(body, evaluated)
    return [node for node in every if hasattr(node, "tensor") and hasattr(node, "indices")]


def _value_range(index: e.Expr, ranges: Ranges) -> tuple[Any, Any] | None:
    """The least and the greatest value of ``index``, if it is a sum of axes times constants, else None."""
    terms = _linear(index)
    if terms is None:
        return None
    low: Any = terms.pop(None, 0)
    high: Any = low
    for variable, factor in terms.items():
        if variable not in ranges or variable is None:
            return None
        begin, extent = ranges[variable]
        ends = begin * factor, (begin + (extent - 1)) * factor
        low, high = low + ends[factor < 0], high + ends[factor > 0]
    return _plain(low), _plain(high)


def _linear(index: e.Expr) -> dict[e.Expr | None, int] | None:
    """The factor of each variable, and the constant term under None; None if ``index`` is not such a sum."""
    match index:
        case e.Const():
            return {None: int(index.value)}
        case e.Var():
            return {index: 1}
        case e.Cast() if index.dtype in ("int32", "int64"):
            return _linear(index.value)
        case e.Add() | e.Sub():
            left, right = _linear(index.a), _linear(index.b)
            if left is None or right is None:
                return None
            sign = 1 if isinstance(index, e.Add) else -1
            for variable, factor in right.items():
                left[variable] = left.get(variable, 0) + sign * factor
            return left
        case e.Mul(a=e.Const(value=int(number)), b=other) | e.Mul(a=other, b=e.Const(value=int(number))):
            inner = _linear(other)
            return None if inner is None else {v: f * number for v, f in inner.items()}
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, int):
        return value
    simple = arith.simplify(value)
    return int(simple.value) if isinstance(simple, e.Const) else simple


def _is_certain(less: Any, more: Any) -> bool:
    """Whether ``less <= more`` is certain."""
    fits = less <= more
    return fits if isinstance(fits, bool) else bool(arith.Analyzer().prove(fits))


def _may_read_scan_state(read: Any, index: e.Expr, ranges: Ranges) -> bool:
    """Whether this reads an earlier row of a placeholder, as the update of a ``te.scan`` reads its state: the
    update is never computed for the first rows."""
    first = next(iter(ranges), None)
    match index:
        case e.Sub(a, e.Const(value)) if a is first:
            return not read.tensor.op.inputs and value > 0
        case e.Add(a, e.Const(value)) if a is first:
            return not read.tensor.op.inputs and value < 0
        case _:
            return False
