"""Expressions that are written twice are computed once."""

from __future__ import annotations

from collections.abc import Hashable

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import Call, Constant, Expr, Tuple, TupleGetItem
from tvmlite.relay.literals import show_attribute
from tvmlite.relay.passes.graph_pass import graph_pass

SMALL_BYTES = 4096
"""Constants up to this size are compared by value, larger ones only with themselves."""


@graph_pass
def eliminate_common_subexpr(body: Expr) -> Expr:
    """Make one node of all calls with the same operator, arguments and attributes."""
    first: dict[Hashable, Expr] = {}

    def unify(node: Expr) -> Expr:
        key = _key(node)
        return node if key is None else first.setdefault(key, node)

    return rewrite(body, unify)


def _key(node: Expr) -> Hashable | None:
    """Equal for nodes that compute the same; the children of ``node`` are unified already."""
    match node:
        case Call(op, args, attrs):
            return "call", op, args, tuple((name, show_attribute(value)) for name, value in attrs)
        case Tuple(fields):
            return "tuple", fields
        case TupleGetItem(value, index):
            return "field", value, index
        case Constant(data) if data.nbytes <= SMALL_BYTES:
            return "constant", data.dtype.name, data.shape, data.tobytes()
    return None
