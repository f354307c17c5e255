"""Nested tuple results: the compiled function returns one flat tuple, which is nested again afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TupleType


def with_flat_result(main: nodes.Function) -> nodes.Function:
    """``main`` with a nested tuple result flattened into one tuple of arrays."""
    type_ = type_of(main.body)
    if not isinstance(type_, TupleType) or not any(isinstance(one, TupleType) for one in type_.fields):
        return main
    return nodes.Function(main.params, nodes.Tuple(tuple(_arrays(main.body))), main.attrs, main.span)


def _arrays(expr: nodes.Expr) -> Iterator[nodes.Expr]:
    type_ = type_of(expr)
    if not isinstance(type_, TupleType):
        yield expr
        return
    for index in range(len(type_.fields)):
        field = expr.fields[index] if isinstance(expr, nodes.Tuple) else nodes.TupleGetItem(expr, index)
        yield from _arrays(field)


def nested(found: Any, type_: Any) -> Any:
    """The arrays of a flat result in nested tuples, as in ``type_``."""
    arrays = iter(found if isinstance(found, (tuple, list)) else (found,))

    def take(one: Any) -> Any:
        return tuple(map(take, one.fields)) if isinstance(one, TupleType) else next(arrays)

    return take(type_)
