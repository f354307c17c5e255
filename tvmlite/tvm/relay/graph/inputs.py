"""Tuple parameters: the compiled function has a parameter for each array; callers pass the tuple."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvmlite.core.node import rewrite, substitute
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.tvm.relay.expr import Tuple, Var
from tvmlite.tvm.runtime.container import ADT


def with_flat_parameters(main: nodes.Function) -> nodes.Function:
    """``main`` with a tuple parameter ``p`` replaced by parameters ``p.0``, ``p.1.0``, ... for its arrays."""
    if all(isinstance(param.type, TensorType) for param in main.params):
        return main
    params: list[nodes.Var] = []
    tuples: dict[Any, Any] = {}

    def value_of(name: str, type_: Any, span: Any) -> Any:
        if isinstance(type_, TupleType):
            fields = (value_of(f"{name}.{index}", one, span) for index, one in enumerate(type_.fields))
            return Tuple(fields, span)
        params.append(Var(name, type_, span))
        return params[-1]

    for param in main.params:
        if isinstance(param.type, TupleType):
            tuples[param] = value_of(param.name, param.type, param.span)
        else:
            params.append(param)
    body = rewrite(substitute(main.body, tuples), _field)
    return nodes.Function(tuple(params), body, main.attrs, main.span)


def _field(node: Any) -> Any:
    match node:
        case nodes.TupleGetItem(value=nodes.Tuple(fields), index=index):
            return fields[index]
    return node


def arrays_of(name: str, given: Any) -> Iterator[tuple[str, Any]]:
    """The arrays of an argument, which may be a nested tuple, each with the name of its parameter."""
    if not isinstance(given, (tuple, ADT)):
        yield name, given
        return
    for index, one in enumerate(given):
        yield from arrays_of(f"{name}.{index}", one)
