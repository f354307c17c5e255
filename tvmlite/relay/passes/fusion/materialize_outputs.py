"""Make every output of the model the result of a call of its own, so that a kernel can write it."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from tvmlite.core.span import Span
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import (
    Call,
    Constant,
    Expr,
    If,
    LetDims,
    Loop,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    with_lets,
    without_lets,
)
from tvmlite.relay.ir.op import is_view
from tvmlite.relay.ir.types import TupleType

Source: TypeAlias = "tuple[Expr, int]"


def materialize_outputs(module: Module) -> Module:
    """Copy outputs that are parameters, constants, earlier outputs, or views of these.

    The results of branches and loops are copied by the entry where necessary.
    """
    main = module.main
    lets, body = without_lets(main.body)
    if not isinstance(body, Tuple) and isinstance(type_of(body), TupleType):
        return module
    new = _materialized(body, set(), main.span)
    return module if new is body else module.with_main(dataclasses.replace(main, body=with_lets(lets, new)))


def _materialized(value: Expr, seen: set[Source], span: Span | None) -> Expr:
    """``value``, an output or a tuple of outputs, with copies of everything that is not computed for this
    output alone; ``seen`` has the sources of earlier outputs."""
    if isinstance(value, Tuple):
        fields = tuple(_materialized(field, seen, span) for field in value.fields)
        kept = all(a is b for a, b in zip(fields, value.fields, strict=True))
        return value if kept else dataclasses.replace(value, fields=fields)
    type_ = type_of(value)
    if isinstance(type_, TupleType):
        parts = tuple(TupleGetItem(value, index) for index in range(len(type_.fields)))
        made = tuple(_materialized(part, seen, span) for part in parts)
        return value if all(a is b for a, b in zip(made, parts, strict=True)) else Tuple(made, span)
    key = _source(value)
    is_new = isinstance(key[0], (Call, If, Loop, LetDims)) and key not in seen
    seen.add(key)
    own_span = value.span if isinstance(value, (Call, Constant, TupleGetItem, Var)) else None
    return value if is_new else op.make("copy", value, span=own_span or span)


def _source(value: Expr) -> Source:
    """The expression that computes the elements of ``value``, through views, and the index of its result."""
    while is_view(value):
        (value,) = value.args  # type: ignore[union-attr]
    return (value.value, value.index) if isinstance(value, TupleGetItem) else (value, 0)
