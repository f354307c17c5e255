"""Tuples as parameters, and tuples of tuples as results: compiled as arrays one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tvmlite.core.node import rewrite, substitute
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TupleType
from tvmlite.tvm.relay.expr import Var


def with_flat_result(main: nodes.Function) -> nodes.Function:
    """``main`` with one tuple of arrays as its result, if that is a tuple of tuples."""
    type_ = type_of(main.body)
    if not isinstance(type_, TupleType) or not any(isinstance(one, TupleType) for one in type_.fields):
        return main
    return nodes.Function(main.params, nodes.Tuple(tuple(_arrays(main.body))), main.attrs, main.span)


def with_flat_parameters(main: nodes.Function) -> nodes.Function:
    """``main`` with a parameter for each array of those that are tuples: for ``t``, ``t_0`` and ``t_1``."""
    params: list[nodes.Var] = []
    fields: dict[nodes.Expr, nodes.Expr] = {}

    def taken(name: str, type_: Any) -> nodes.Expr:
        if isinstance(type_, TupleType):
            parts = (taken(f"{name}_{index}", field) for index, field in enumerate(type_.fields))
            return nodes.Tuple(tuple(parts))
        params.append(Var(name, type_))
        return params[-1]

    for param in main.params:
        if isinstance(param.type, TupleType):
            fields[param] = taken(param.name, param.type)
        else:
            params.append(param)
    if not fields:
        return main
    body = rewrite(substitute(main.body, fields), _field)
    return nodes.Function(tuple(params), body, main.attrs, main.span)


def _field(node: Any) -> Any:
    """What is taken out of a tuple that is written there."""
    match node:
        case nodes.TupleGetItem(value=nodes.Tuple(fields=fields), index=index):
            return fields[index]
    return node


def flat(values: Iterable[Any]) -> list[Any]:
    """Arguments, and the fields of those that are tuples."""
    return [
        one for value in values for one in (flat(value) if isinstance(value, (tuple, list)) else (value,))
    ]


def _arrays(expr: nodes.Expr) -> Iterator[nodes.Expr]:
    type_ = type_of(expr)
    if not isinstance(type_, TupleType):
        yield expr
        return
    for index in range(len(type_.fields)):
        field = expr.fields[index] if isinstance(expr, nodes.Tuple) else nodes.TupleGetItem(expr, index)
        yield from _arrays(field)


def nested(found: Any, type_: Any) -> Any:
    """The arrays of a flat result in the form of ``type_``."""
    arrays = iter(found if isinstance(found, (tuple, list)) else (found,))

    def take(one: Any) -> Any:
        return tuple(map(take, one.fields)) if isinstance(one, TupleType) else next(arrays)

    return take(type_)
