"""Intervals of products, quotients, minima and maxima of indices, and bounds on their widths."""

from __future__ import annotations

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.lowering.bounds import Bounds
from tvmlite.te.lowering.intervals import at_least, maximum, simplify
from tvmlite.te.schedule.relations import Interval, Number, ceil_div, is_multiple, plain, same


def binary(make: type[e.Binary], a: Interval, b: Interval, analyzer: Analyzer) -> Interval | None:
    """The interval of ``make`` of two operands in ``a`` and ``b``; None if nothing is known."""
    if make is e.Mul:
        return _product(a, b, analyzer)
    if make is e.Min or make is e.Max:
        return _extreme(make, a, b)
    if make is e.TruncDiv or make is e.TruncMod:
        if not at_least(a.low, 0, analyzer):
            return None
        make = e.FloorDiv if make is e.TruncDiv else e.FloorMod
    if make is e.FloorDiv or make is e.FloorMod:
        if not b.is_point or not at_least(b.low, 1, analyzer):
            return None
        divide = _quotient if make is e.FloorDiv else _remainder
        return divide(a, b.low, analyzer)
    return None


def loop_invariant_width(width: e.Expr, bounds: Bounds) -> Number | None:
    """The maximum of ``width``, in terms of size variables only unless regions may have several sizes. None
    if it is unknown."""
    if not _depends_on_loops(width, bounds):
        return width
    high = bounds.analyzer.interval(width).high
    if high is None and bounds.constant_size:
        return _quotient_difference(width, bounds)
    return width if high is None else high


def _depends_on_loops(value: Number, bounds: Bounds) -> bool:
    """Whether ``value`` depends on loops."""
    loops = set(bounds.loops.values())
    return isinstance(value, e.Expr) and any(node in loops for node in postorder(value))


def _quotient_difference(width: e.Expr, bounds: Bounds) -> Number | None:
    """The maximum of ``width``, if it is ``last // n - first // n`` and ``last - first`` is known: the rows
    of ``n`` that a piece of a fused loop can span, wherever it begins."""
    match width:
        case e.Sub(e.FloorDiv(last, n), e.FloorDiv(first, m)) if same(n, m):
            most = simplify(bounds.analyzer, ceil_div(plain(last - first), plain(n)))
            return None if _depends_on_loops(most, bounds) else most
        case _:
            return None


def _product(a: Interval, b: Interval, analyzer: Analyzer) -> Interval | None:
    if a.is_point:
        a, b = b, a
    if b.is_point and isinstance(b.low, int) and b.low < 0:
        return Interval((a.low + a.width) * b.low, a.width * -b.low)
    if a.is_point and b.is_point:
        return Interval(a.low * b.low, 0)
    if b.is_point and at_least(b.low, 0, analyzer):
        return Interval(a.low * b.low, a.width * b.low)
    if at_least(a.low, 0, analyzer) and at_least(b.low, 0, analyzer):
        low = a.low * b.low
        return Interval(low, (a.low + a.width) * (b.low + b.width) - low)
    return None


def _extreme(make: type[e.Binary], a: Interval, b: Interval) -> Interval:
    """The interval of a minimum or maximum, whose width is at most that of the wider operand."""
    ints = (a.low, a.width, b.low, b.width)
    pick = min if make is e.Min else max
    if all(isinstance(n, int) for n in ints):
        low = pick(a.low, b.low)  # type: ignore[type-var]
        return Interval(low, pick(a.low + a.width, b.low + b.width) - low)  # type: ignore[type-var]
    low = plain(e.fold(make, *e.match(a.low, b.low)))
    return Interval(low, _wider(a.width, b.width))


def _quotient(a: Interval, divisor: Number, analyzer: Analyzer) -> Interval:
    low = a.low // divisor
    if a.is_point:
        return Interval(low, 0)
    if isinstance(divisor, int) and isinstance(a.width, int):
        if is_multiple(a.low, divisor):
            return Interval(low, a.width // divisor)
        exact = simplify(analyzer, (a.low + a.width) // divisor - low)
        return Interval(low, exact if isinstance(exact, int) else ceil_div(a.width, divisor))
    return Interval(low, simplify(analyzer, (a.low + a.width) // divisor - low))


def _remainder(a: Interval, divisor: Number, analyzer: Analyzer) -> Interval:
    if a.is_point:
        return Interval(a.low % divisor, 0)
    if isinstance(divisor, int) and isinstance(a.width, int):
        if a.width < divisor and is_multiple(a.low, divisor):
            return Interval(0, a.width)
        if a.width >= divisor:
            return Interval(0, divisor - 1)
    rows = simplify(analyzer, (a.low + a.width) // divisor - a.low // divisor)
    if rows == 0 and isinstance(rows, int):
        return Interval(a.low % divisor, a.width)
    return Interval(0, divisor - 1)


def _wider(a: Number, b: Number) -> Number:
    return b if e.is_const(a, 0) else a if e.is_const(b, 0) else maximum(a, b)
