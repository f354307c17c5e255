"""TVM's order of visiting a graph, in which operators, parameters and bound variables have a place, too."""

from __future__ import annotations

from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.expr import TupleWrapper, adopt
from tvmlite.tvm.relay.op.op import Op


def in_order(root: Any) -> list[Any]:
    """Every node once in TVM's order: the operator and arguments, then the call; parameters before a body."""
    found: dict[Any, None] = {}
    stack: list[tuple[Any, bool]] = [
        (adopt(root.tuple_value if isinstance(root, TupleWrapper) else root), False)
    ]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if ready or isinstance(node, Op):
            found[node] = None
            continue
        stack.append((node, True))
        stack.extend((part, False) for part in reversed(parts_of(node)))
    return list(found)


def parts_of(node: Any) -> list[Any]:
    """What ``node`` is made of, in that order."""
    match node:
        case nodes.Call(op=op, args=args):
            return [op, *args]
        case nodes.Function(params=params, body=body):
            return [*params, body]
        case nodes.Let(var=var, value=value, body=body):
            return [var, value, body]
    return list(node.children())
