"""Expand operators that are defined by other operators, so that other passes see one form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple, TupleGetItem
from tvmlite.relay.ops.written_out import LAYOUT_RULES, RULES, fields_of
from tvmlite.relay.passes.graph_pass import graph_pass


@graph_pass
def write_out(body: Expr) -> Expr:
    """Rewrite ``zeros_like(x)`` to ``zeros(shape of x)``, and so on for each operator with a rule in
    ``relay/ops/written_out.py``."""
    return rewrite(body, _expand)


def _expand(node: Expr) -> Expr:
    match node:
        case TupleGetItem(Tuple(fields), index):
            return fields[index]
        case Call(op=str()):
            made = expanded(node)
            return node if made is node else with_span_of(made, node, _expand)
    return node


def expanded(node: Call) -> Expr:
    """The expansion of ``node``; ``node`` itself if it has none."""
    name = str(node.op)
    by_layout = name in LAYOUT_RULES and LAYOUT_RULES[name](node, *node.args)
    if by_layout and by_layout is not node:
        type_of(node)
        return by_layout
    if name not in RULES or op.get(name).quantized:
        return node
    type_of(node)  # errors are about this node, not about its expansion
    variadic = op.get(name).num_inputs is None
    return RULES[name](node, *(fields_of(node.args[0]) if variadic else node.args))


def with_span_of(body: Expr, node: Call, rule: Callable[[Expr], Expr]) -> Expr:
    """``body`` with the span of ``node``, which it replaces and whose arguments are kept; ``rule`` is applied
    to the new nodes in it."""
    fields = (one for arg in node.args if isinstance(arg, Tuple) for one in arg.fields)
    done: dict[Expr, Expr] = {one: one for one in (*node.args, *fields)}

    def finished(inner: Expr) -> Expr:
        if inner not in done:
            made = inner.map_children(finished)
            if isinstance(made, Call):
                made = dataclasses.replace(made, span=node.span)
            done[inner] = rule(made)
        return done[inner]

    return finished(body)
