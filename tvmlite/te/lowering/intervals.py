"""Which indices are met while some variables run: intervals with symbolic ends and, where possible,
a constant width, so that the buffers made of them have a constant size."""

from __future__ import annotations

from collections.abc import Mapping

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.expr import Expr
from tvmlite.te.schedule.relations import Interval, Number, ceil_div, is_multiple, plain

Environment = Mapping[e.Var, Interval]


def simplify(analyzer: Analyzer, value: Number) -> Number:
    """``value`` in its simplest form; an int if it is one."""
    return value if isinstance(value, int) else plain(analyzer.simplify(value))


def evaluate(index: Expr, running: Environment, analyzer: Analyzer) -> Interval | None:
    """An interval that holds ``index`` while the variables ``running`` take all values of theirs; others
    stand still. None if nothing is known, as of an index read from memory."""
    match index:
        case e.Const():
            return Interval(int(index.value), 0)
        case e.Var():
            return running.get(index) or Interval(index, 0)
        case e.Cast() if dtypes.is_int(index.dtype) and dtypes.is_int(index.value.dtype):
            return evaluate(index.value, running, analyzer)
        case e.Call(name="likely", args=(value,)):
            return evaluate(value, running, analyzer)
        case e.Call(name="if_then_else", args=(_, x, y)) | e.Select(a=x, b=y):
            return union(evaluate(x, running, analyzer), evaluate(y, running, analyzer), analyzer)
        case e.Binary():
            a, b = evaluate(index.a, running, analyzer), evaluate(index.b, running, analyzer)
            return None if a is None or b is None else _binary(type(index), a, b, analyzer)
        case _:
            return None


def _binary(make: type[e.Binary], a: Interval, b: Interval, analyzer: Analyzer) -> Interval | None:
    if make is e.Add:
        return Interval(a.low + b.low, a.width + b.width)
    if make is e.Sub:
        return Interval(a.low - b.low - b.width, a.width + b.width)
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
    """Neither min nor max spreads more than the wider of its sides."""
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


def union(a: Interval | None, b: Interval | None, analyzer: Analyzer) -> Interval | None:
    """An interval that holds both; None if their distance has no known bound."""
    if a is None or b is None:
        return None
    distance = simplify(analyzer, b.low - a.low)
    if isinstance(distance, int):
        least, most = distance, distance
    else:
        known = analyzer.interval(distance)
        if known.low is None or known.high is None:
            return None
        least, most = known.low, known.high
    start = min(least, 0)
    return Interval(a.low + start, _greater(a.width, b.width + most) - start)


def at_least(value: Number, bound: int, analyzer: Analyzer) -> bool:
    """Whether ``value`` is known to be ``bound`` or more."""
    return value >= bound if isinstance(value, int) else analyzer.prove(value >= bound)


def _wider(a: Number, b: Number) -> Number:
    return b if e.is_const(a, 0) else a if e.is_const(b, 0) else _greater(a, b)


def _greater(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return e.fold(e.Max, *e.match(a, b))
