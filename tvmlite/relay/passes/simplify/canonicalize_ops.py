"""Expand operators that are shorthands, so that other passes see one form."""

from __future__ import annotations

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass


@graph_pass
def canonicalize_ops(body: Expr) -> Expr:
    """Rewrite ``nn.bias_add(x, b)`` to ``x + expand_dims(b)``, as TVM does."""
    return rewrite(body, _canonical)


def _canonical(node: Expr) -> Expr:
    if not (isinstance(node, Call) and node.op == "nn.bias_add"):
        return node
    data, bias = node.args
    rank = tensor_type_of(data).ndim
    trailing_axes = rank - node["axis"] % rank - 1
    if trailing_axes:
        bias = make("expand_dims", bias, axis=1, num_newaxis=trailing_axes, span=node.span)
    return make("add", data, bias, span=node.span)
