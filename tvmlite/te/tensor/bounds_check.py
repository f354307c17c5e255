"""Reads that are certainly outside their tensors, found while a compute is being written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Node, reached
from tvmlite.core.span import Span
from tvmlite.te import arith
from tvmlite.te import expr as e

Ranges = Mapping[Any, tuple[Any, Any]]
"""The begin and the extent of each axis, by its variable."""


_later: ContextVar[bool] = ContextVar("later", default=False)


@contextmanager
def later() -> Iterator[None]:
    """Computes that are declared in this ``with`` are not judged: who lowers them calls ``check_reads``."""
    token = _later.set(True)
    try:
        yield
    finally:
        _later.reset(token)


def is_later() -> bool:
    """Whether this runs inside such a ``with``."""
    return _later.get()


def check_reads(
    body: Sequence[e.Expr],
    ranges: Ranges,
    name: str,
    span: Span | None,
    states: Collection[Any] | None = None,
) -> bool:
    """Refuse a read that goes outside for some value of the axes, whatever the sizes are.

    The update of a scan reads rows before those it is asked for, which exist where it is carried out. Which
    placeholders are the ``states`` of scans is known only when there is a schedule: as long as it is None,
    such reads are left to be judged then, as the result says.

    Only reads that no condition guards are judged, and only by indices that are sums of axes times numbers:
    what remains may still be outside, and is then undefined.
    """
    if _later.get():
        return False
    if any(isinstance(extent, int) and extent == 0 for _, extent in ranges.values()):
        return False  # no element, so no read
    left = False
    for read in _unguarded_reads(body):
        for position, (index, extent) in enumerate(zip(read.indices, read.tensor.shape, strict=True)):
            reached = _reach(index, ranges)
            if reached is None:
                continue
            low, high = reached
            if position == 0 and _may_be_a_state(read, index, ranges):
                if states is None:
                    left = True
                    continue
                if read.tensor in states:
                    continue
            if _certain(low, -1) or _certain(extent, high):
                raise TensorExpressionError(
                    f"compute {name!r} reads tensor {read.tensor.name!r} at {low} to {high} on axis "
                    f"{position}, whose extent is {extent}",
                    span,
                    hint="guard the read: te.if_then_else(condition, A[i], other)",
                )
    return left


def _unguarded_reads(body: Sequence[e.Expr]) -> list[Any]:
    """The reads that are carried out for every element: those under no condition."""

    def evaluated(node: Node) -> Sequence[Node]:
        choice = isinstance(node, e.Select) or (isinstance(node, e.Call) and node.name == "if_then_else")
        return node.children()[:1] if choice else node.children()

    every = reached(body, evaluated)
    return [node for node in every if hasattr(node, "tensor") and hasattr(node, "indices")]


def _reach(index: e.Expr, ranges: Ranges) -> tuple[Any, Any] | None:
    """The least and the greatest value of ``index``, if it is a sum of axes times numbers, else None."""
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
    """Variables by factor, the number without one under None; None for what is no such sum."""
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


def _certain(less: Any, more: Any) -> bool:
    """Whether ``less <= more``, certainly."""
    fits = less <= more
    return fits if isinstance(fits, bool) else bool(arith.Analyzer().prove(fits))


def _may_be_a_state(read: Any, index: e.Expr, ranges: Ranges) -> bool:
    """Whether this reads an earlier row of a placeholder, as the update of a ``te.scan`` does of its state:
    the first rows are then never computed."""
    first = next(iter(ranges), None)
    match index:
        case e.Sub(a, e.Const(value)) if a is first:
            return not read.tensor.op.inputs and value > 0
        case e.Add(a, e.Const(value)) if a is first:
            return not read.tensor.op.inputs and value < 0
        case _:
            return False
