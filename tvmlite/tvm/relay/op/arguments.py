"""Types and shapes of the arguments that programs pass to operator functions, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tvmlite.core.errors import TvmliteError, TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim, Shape, TensorType, same_shape
from tvmlite.tvm.relay.expr import RelayExpr, TupleWrapper, adopt


def known_type(expr: Any) -> Any:
    """The type of ``expr``; None if it cannot be inferred yet, or ``expr`` is not an expression."""
    try:
        return type_of(expr) if isinstance(expr, nodes.Expr) else None
    except TypeInferError:
        return None


def known_shape(expr: Any) -> Shape | None:
    """The shape of ``expr`` if it is known to be a tensor, else None."""
    type_ = known_type(expr)
    return type_.shape if isinstance(type_, TensorType) else None


def known_shapes(exprs: Iterable[Any]) -> list[Shape] | None:
    """The shapes of ``exprs`` if all of them are known to be tensors, else None."""
    shapes: list[Shape] = []
    for expr in exprs:
        if (shape := known_shape(expr)) is None:
            return None
        shapes.append(shape)
    return shapes


def argument_type(expr: Any) -> Any:
    """The type of ``expr``; an error if it cannot be inferred, or ``expr`` is not an expression."""
    expr = expr.tuple_value if isinstance(expr, TupleWrapper) else expr
    if not isinstance(expr, RelayExpr):
        raise TvmliteError(f"an argument is {show(expr)}, expected a relay expression", Span.of_caller())
    return expr.checked_type


def taken_to_be(data: Any, shape: Sequence[Dim]) -> Any:
    """``data`` with the shape ``shape``. If that is not known to hold, a run with another shape fails."""
    if same_shape(argument_type(data).shape, tuple(shape)):
        return data
    return adopt(make("assume_shape", data, newshape=tuple(shape)))
