"""Remove expressions that no result needs: Lets, Ifs with equal branches, unused fields of tuples."""

from __future__ import annotations

from collections.abc import Iterable

from tvmlite.relay.ir.nodes import Expr, If, Let, Tuple, TupleGetItem, Var
from tvmlite.relay.passes.graph_pass import graph_pass


@graph_pass
def dead_code(body: Expr) -> Expr:
    """Replace every Let's variable by its value: expressions have no side effects, and graphs share nodes.

    A value that is not used disappears with its Let. A field of a tuple that is constructed in the graph is
    read directly; an ``if`` with identical branches becomes that branch. Parameters are kept.
    """
    lets: dict[Var, Expr] = {}
    done: dict[Expr, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(body, False)]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if isinstance(node, Let):
            lets[node.var] = node.value
        if ready:
            done[node] = _resolved(node, lets, done)
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in _needed(node, lets) if child not in done)
    return done[body]


def _needed(node: Expr, lets: dict[Var, Expr]) -> Iterable[Expr]:
    match node:
        case Var():
            return (lets[node],) if node in lets else ()
        case Let(body=body):
            return (body,)
        case TupleGetItem(Tuple(fields), index):
            return (fields[index],)
    return reversed(list(node.children()))  # type: ignore[arg-type]


def _resolved(node: Expr, lets: dict[Var, Expr], done: dict[Expr, Expr]) -> Expr:
    match node:
        case Var():
            return done[lets[node]] if node in lets else node
        case Let(body=body):
            return done[body]
        case TupleGetItem(Tuple(fields), index):
            return done[fields[index]]
    new = node.map_children(done.__getitem__)
    match new:
        case TupleGetItem(Tuple(fields), index):
            return fields[index]
        case If(then=then, otherwise=otherwise) if then is otherwise:
            return then
    return new
