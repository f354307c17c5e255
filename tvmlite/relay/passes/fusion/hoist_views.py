"""Move reshapes at the edges of a fused group out of it: there they are views of memory, not copies."""

from __future__ import annotations

import dataclasses

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function, Var, canonical
from tvmlite.relay.ir.op import is_view
from tvmlite.relay.passes.graph_pass import graph_pass


@graph_pass
def hoist_views(body: Expr) -> Expr:
    """Rewrite calls of ``fn(p) { reshape(g(reshape(p))) }`` to ``reshape(fn(p) { g(p) }(reshape(x)))``.

    A group that consists of reshapes only is removed.
    """
    return rewrite(body, _hoist)


def _hoist(node: Expr) -> Expr:
    if not (isinstance(node, Call) and isinstance(node.op, Function)):
        return node
    trailing_views: list[Call] = []
    body = node.op.body
    while is_view(body):
        assert isinstance(body, Call)
        trailing_views.append(body)
        (body,) = body.args
    arguments: dict[Expr, Expr] = dict(zip(node.op.params, node.args, strict=True))
    result = _without_views_before(body, arguments)
    if result is node.op.body:
        return node
    value = arguments[result] if isinstance(result, Var) else _call(node, result, arguments)
    for view in reversed(trailing_views):
        value = dataclasses.replace(view, args=(value,))
    return value


def _without_views_before(body: Expr, arguments: dict[Expr, Expr]) -> Expr:
    """``body`` with new parameters in place of views of parameters, and their values in ``arguments``."""

    def hoisted(node: Expr) -> Expr:
        if not (is_view(node) and isinstance(node, Call) and node.args[0] in arguments):
            return node
        (inner,) = node.args
        param = Var("", type_of(node), node.span)
        arguments[param] = dataclasses.replace(node, args=(arguments[inner],))
        return param

    return rewrite(body, hoisted)


def _call(node: Call, body: Expr, arguments: dict[Expr, Expr]) -> Call:
    """A call of a group with ``body``, whose parameters, named in order, are the ``arguments`` it reads."""
    read: dict[Expr, Var] = {}

    def named(inner: Expr) -> Expr:
        if isinstance(inner, Var) and inner in arguments:
            return read.setdefault(inner, Var(f"p{len(read)}", inner.type, inner.span))
        return inner

    renamed = rewrite(body, named)
    function = Function(tuple(read.values()), renamed, canonical({"Primitive": 1}), node.span)
    return Call(function, tuple(arguments[param] for param in read), span=node.span)
