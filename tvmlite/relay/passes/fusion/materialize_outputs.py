"""Every output of the model becomes the result of a call of its own, so that a kernel can write it."""

from __future__ import annotations

import dataclasses

from tvmlite.relay.entry.memory import is_view
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
from tvmlite.relay.ir.types import TupleType


def materialize_outputs(module: Module) -> Module:
    """Outputs that are parameters, constants, or outputs already, or views of them, become copies.

    What branches and loops give is copied by the entry where it must be.
    """
    main = module.main
    lets, body = without_lets(main.body)
    if isinstance(body, Tuple):
        fields = body.fields
    elif isinstance(type_of(body), TupleType):
        return module
    else:
        fields = (body,)
    seen: set[tuple[Expr, int]] = set()
    made: list[Expr] = []
    for value in fields:
        key = _source(value)
        fresh = isinstance(key[0], (Call, If, Loop, LetDims)) and key not in seen
        seen.add(key)
        span = value.span if isinstance(value, (Call, Constant, TupleGetItem, Var)) else None
        made.append(value if fresh else op.make("copy", value, span=span or main.span))
    if all(a is b for a, b in zip(made, fields, strict=True)):
        return module
    new: Expr = dataclasses.replace(body, fields=tuple(made)) if isinstance(body, Tuple) else made[0]
    return module.with_main(dataclasses.replace(main, body=with_lets(lets, new)))


def _source(value: Expr) -> tuple[Expr, int]:
    """What makes the bytes of ``value``, which views would share, and which of its results they are."""
    while is_view(value):
        (value,) = value.args  # type: ignore[union-attr]
    return (value.value, value.index) if isinstance(value, TupleGetItem) else (value, 0)
