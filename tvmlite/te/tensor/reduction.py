"""Reducers: ``te.sum``, and ``te.comm_reducer``, which creates one from any combination."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import postorder, substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr, Value
from tvmlite.te.tensor.inline import Bodies
from tvmlite.te.tensor.tensor import CommReducer, IterVar, Reduce


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """Create a reducer from its combination and its identity.

    ``fcombine(x, y)`` combines two values (or tuples of values); ``fidentity(dtype, ...)`` returns the
    identity for the dtypes of the values. Call the result as ``reducer(expr, axis, where=None, init=None)``;
    ``expr`` is a value or a tuple, and it returns as many.
    """

    arguments.function("comm_reducer: fcombine", fcombine)
    arguments.function("comm_reducer: fidentity", fidentity)
    arguments.text("comm_reducer: name", name)

    def reducer(expr: Any, axis: Any, where: Value | None = None, init: Any = None) -> Any:
        several = isinstance(expr, (tuple, list))
        if several and not expr:
            raise TensorExpressionError(f"{name}: no values given, expected at least one", Span.of_caller())
        source = tuple(e.scalar(f"{name}: expr", x) for x in (expr if several else (expr,)))
        own = _combiner(fcombine, fidentity, name, tuple(s.dtype for s in source))
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        for one in axes:
            if not (isinstance(one, IterVar) and one.kind == "reduce"):
                raise arguments.refused(f"{name}: axis", one, "a te.reduce_axis")
        if len(set(axes)) < len(axes):
            named = ", ".join(one.var.name for one in axes)
            raise TensorExpressionError(f"{name}: an axis is given twice: {named}", Span.of_caller())
        condition = e.const(True) if where is None else e.scalar(f"{name}: where", where)
        if condition.dtype != "bool":
            raise TensorExpressionError(
                f"{name}: where is {condition.dtype}, expected bool", Span.of_caller()
            )
        inits = _initial(name, init, source)
        made = tuple(Reduce(own, source, axes, condition, i, inits, own.free) for i in range(len(source)))
        return made if several else made[0]

    reducer.__name__ = name
    reducer.__doc__ = f"The {name} of ``expr`` over ``axis``, where ``where`` holds; see ``te.comm_reducer``."
    return reducer


def _initial(name: str, init: Any, source: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The initial values ``init``, one for each of ``source``; none if ``init`` is None."""
    if init is None:
        return ()
    given = tuple(init) if isinstance(init, (tuple, list)) else (init,)
    if len(given) != len(source):
        raise TensorExpressionError(
            f"{name}: init has {len(given)} values, expected {len(source)}", Span.of_caller()
        )
    return tuple(e.cast(s.dtype, e.scalar(f"{name}: init", v)) for s, v in zip(source, given, strict=True))


@cache
def _combiner(fcombine: Any, fidentity: Any, name: str, kinds: tuple[str, ...]) -> CommReducer:
    left = tuple(e.Var(f"x{i}", t) for i, t in enumerate(kinds))
    right = tuple(e.Var(f"y{i}", t) for i, t in enumerate(kinds))
    one = len(kinds) == 1
    _check_takes(f"{name}: the combination", fcombine, (left, right), "two values")
    _check_takes(f"{name}: the identity", fidentity, kinds, f"the dtypes of {len(kinds)} values")
    result = fcombine(left[0] if one else left, right[0] if one else right)
    identity = fidentity(*kinds)
    results = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    identities = tuple(identity) if isinstance(identity, (tuple, list)) else (identity,)
    if len(results) != len(kinds) or len(identities) != len(kinds):
        raise TensorExpressionError(
            f"{name}: {len(kinds)} values give {len(results)} results and {len(identities)} identities",
            Span.of_caller(),
        )
    combines, starts = (
        tuple(e.cast(t, e.scalar(f"{name}: its {what}", one)) for t, one in zip(kinds, values, strict=True))
        for what, values in (("result", results), ("identity", identities))
    )
    found = postorder(Bodies((*combines, *starts)))
    free = tuple(one for one in found if isinstance(one, e.Var) and one not in (*left, *right))
    return CommReducer(name, left, right, combines, starts, free)


def _check_takes(where: str, function: Any, given: tuple[Any, ...], what: str) -> None:
    """Raise a TensorExpressionError if ``function`` does not take ``given``, described by ``what``."""
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        raise TensorExpressionError(f"{where} does not take {what}", Span.of_caller()) from None
    except ValueError:  # a C function without a signature
        return


def initial_values(reduce: Reduce) -> tuple[Expr, ...]:
    """The initial values of ``reduce``: its ``init``, or the identity."""
    free = dict(zip(reduce.combiner.free, reduce.free_values, strict=True))
    return reduce.init or substitute(Bodies(reduce.combiner.identity), free).body


def combined(combiner: CommReducer, arguments: dict[e.Var, Expr]) -> tuple[Expr, ...]:
    """The results of ``combiner`` with its variables replaced by ``arguments``. Its sums may be contracted
    with products in the values added up, but sums inside these values may not."""
    update = _updates.get(combiner)
    if update is None:
        update = _updates[combiner] = tuple(map(e.contracted, combiner.result))
    return substitute(Bodies(update), arguments).body


_updates: WeakKeyDictionary[CommReducer, tuple[Expr, ...]] = WeakKeyDictionary()


def _zero(dtype: str) -> e.Const:
    return e.const(0, dtype)


def _add(x: Expr, y: Expr) -> Expr:
    return x + y


sum = comm_reducer(_add, _zero, "sum")
