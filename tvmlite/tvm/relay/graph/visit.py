"""Traversal and rewriting of graphs in TVM's order, including operators, parameters and bound variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.tvm.relay.expr import TupleWrapper, Var, adopt
from tvmlite.tvm.relay.op.op import Op


def in_order(root: Any, parts: Callable[[Any], list[Any]] | None = None) -> list[Any]:
    """Every node once, in TVM's post-order: operator and arguments before a call, parameters before a body.
    ``parts`` returns a node's parts in another order than ``parts_of``."""
    parts = parts or parts_of
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
        stack.extend((part, False) for part in reversed(parts(node)))
    return list(found)


def parts_of(node: Any) -> list[Any]:
    """The parts of ``node`` in TVM's order."""
    match node:
        case nodes.Call(op=op, args=args):
            return [op, *args]
        case nodes.Function(params=params, body=body):
            return [*params, body]
        case nodes.Let(var=var, value=value, body=body):
            return [var, value, body]
    return list(node.children())


def rebuilt(root: Any, made: dict[Any, Any], rule: Callable[[Any, Any], Any] | None = None) -> Any:
    """``root`` with the nodes in ``made`` replaced, also in called functions. ``rule(old, new)`` returns the
    replacement for each rebuilt node, which is recorded in ``made``. A let's value is visited before its
    variable, so that the rule can use it."""
    stack: list[Any] = [root]
    while stack:
        node = stack[-1]
        left = [] if node in made else [part for part in _needed(node) if part not in made]
        if left:
            stack.extend(reversed(left) if not isinstance(node, nodes.Let) else left[:1])
            continue
        stack.pop()
        if node not in made:
            new = with_parts(node, made.__getitem__)
            made[node] = new if rule is None else rule(node, new)
    return made[root]


def rewritten(root: Any, rule: Callable[[Any], Any]) -> Any:
    """``rewrite`` that also rewrites called functions; a function that is called twice is rewritten once."""
    return rebuilt(root, {}, lambda old, new: rule(new))


def instance(function: Any, args: Sequence[Any]) -> Any:
    """The body of ``function`` applied to ``args``, with fresh bound variables, so that one graph can contain
    several instances."""
    made: dict[Any, Any] = dict(zip(function.params, args, strict=True))
    for node in in_order(function.body):
        bound = [node.var] if isinstance(node, nodes.Let) else getattr(node, "params", ())
        made.update({var: Var(var.name, var.type, var.span) for var in bound})
    return rebuilt(function.body, made)


def _needed(node: Any) -> list[Any]:
    if isinstance(node, nodes.Let):
        return [node.value, node.var, node.body]
    return [part for part in parts_of(node) if not isinstance(part, str)]


def with_parts(node: Any, rule: Callable[[Any], Any]) -> Any:
    """``node`` with ``rule`` applied to its parts, including its callee and the variables that it binds;
    ``node`` itself if nothing changes."""
    new = node.map_children(rule)
    changes: dict[str, Any] = {}
    if isinstance(node, nodes.Call) and isinstance(node.op, nodes.Expr):
        changes["op"] = rule(node.op)
    if isinstance(node, nodes.Function):
        changes["params"] = tuple(map(rule, node.params))
    if isinstance(node, nodes.Let):
        changes["var"] = rule(node.var)
    changes = {name: value for name, value in changes.items() if value != getattr(node, name)}
    return new._with(changes) if changes else new
