"""The indices that are reached while some variables run: intervals with symbolic ends and, where possible, a
constant width, so that the buffers allocated for them have a constant size."""

from __future__ import annotations

from collections.abc import Mapping

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.expr import Expr
from tvmlite.te.extensions import extension
from tvmlite.te.schedule.relations import Interval, Number, plain

Environment = Mapping[e.Var, Interval]


def simplify(analyzer: Analyzer, value: Number) -> Number:
    """``value`` simplified, as an int if it is constant."""
    return value if isinstance(value, int) else plain(analyzer.simplify(value))


def evaluate(index: Expr, running: Environment, analyzer: Analyzer) -> Interval | None:
    """An interval that contains ``index`` for all values of the variables ``running``; other variables are
    fixed. None if nothing is known, as for an index read from memory."""
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
    return extension("intervals").binary(make, a, b, analyzer)


def union(a: Interval | None, b: Interval | None, analyzer: Analyzer) -> Interval | None:
    """An interval that contains both; None if their distance has no known bound."""
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
    return Interval(a.low + start, maximum(a.width, b.width + most) - start)


def at_least(value: Number, bound: int, analyzer: Analyzer) -> bool:
    """Whether ``value`` is known to be at least ``bound``."""
    return value >= bound if isinstance(value, int) else analyzer.prove(value >= bound)


def maximum(a: Number, b: Number) -> Number:
    """The maximum of two numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return e.fold(e.Max, *e.match(a, b))
