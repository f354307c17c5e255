"""Functions of ``tvmlite.te`` whose parameters have other names in TVM; their ``span`` is ignored."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr.operators import CONSTRUCTORS
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.marks import mark
from tvmlite.tvm.te.numbers import all_beside


def named(ours: Callable[..., Any], names: str, title: str = "") -> Callable[..., Any]:
    """``ours`` under the name ``title``, with its parameters called ``names``. A constant result is marked as
    one of a TVM program, so that comparing it with a number gives a truth value."""
    title, listed = title or ours.__name__, names.split()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(one, kind) for one in listed]
    signature = inspect.Signature([*parameters, inspect.Parameter("span", kind, default=None)])

    def apply(*args: Any, **given: Any) -> Any:
        try:
            bound = signature.bind(*args, **given).arguments
        except TypeError as error:
            raise TensorExpressionError(f"{title}: {error}", Span.of_caller()) from None
        made = ours(*all_beside(tuple(bound[one] for one in listed), sys._getframe(1)))
        return mark(made) if isinstance(made, e.Const) else made

    apply.__name__, apply.__doc__ = title, ours.__doc__
    apply.__signature__ = signature  # type: ignore[attr-defined]
    return apply


def reducer(ours: Callable[..., Any], combine: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    """The reducer ``ours`` with TVM's parameters. Called with values and no axes, it combines the values."""

    def apply(expr: Any, axis: Any, where: Any = None, init: Any = None, *args: Any) -> Any:
        axes = axis if isinstance(axis, (list, tuple)) else [axis]
        whole = isinstance(expr, t.Tensor) and expr.ndim > 0
        if whole or all(isinstance(one, t.IterVar) for one in axes):
            if args:
                raise TensorExpressionError(f"{name}: {len(args)} arguments too many", Span.of_caller())
            return ours(expr, axis=axis, where=where, init=init)
        first, *others = all_beside((expr, axis, where, init, *args), sys._getframe(1))
        expr = functools.reduce(combine, [one for one in others if one is not None], first)
        return mark(expr) if isinstance(expr, e.Const) else expr

    apply.__name__, apply.__doc__ = name, ours.__doc__
    return apply


max, min = (reducer(one, one, one.__name__) for one in (te.max, te.min))
sum = reducer(te.sum, CONSTRUCTORS["+"], "sum")
add, subtract, multiply = (
    named(CONSTRUCTORS[symbol], "lhs rhs", title)
    for symbol, title in (("+", "add"), ("-", "subtract"), ("*", "multiply"))
)
atan2, copysign = named(te.atan2, "x1 x2"), named(te.copysign, "x1 x2")
isfinite, isinf = named(te.isfinite, "x"), named(te.isinf, "x")
max_value, min_value = named(te.max_value, "dtype"), named(te.min_value, "dtype")
power, reinterpret = named(te.power, "x y"), named(te.reinterpret, "dtype value")
pow = power


def abs(x: Any, span: Any = None) -> e.Expr:
    """Return the absolute value of ``x``, for a float as a call of TVM's ``tir.fabs``."""
    value = e.scalar("abs", x)
    if dtypes.is_float(value.dtype):
        return e.Call("fabs", (value,), value.dtype)
    return te.abs(value)
