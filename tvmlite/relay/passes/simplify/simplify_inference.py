"""Expand operators for training: batch normalization becomes a scale and a shift, dropout is removed."""

from __future__ import annotations

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple, TupleGetItem, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass

WIDE = ("float32", "float64")
"""In narrower floats, a folded scale would lose digits that the operator keeps by computing in float32."""


@graph_pass
def simplify_inference(body: Expr) -> Expr:
    """Rewrite ``nn.batch_norm(x, ..)`` to ``(x * scale + shift, mean, variance)``, ``nn.dropout(x)`` to
    ``(x, 1)``.

    The scale is ``gamma / sqrt(variance + epsilon)``, the shift ``beta - mean * scale``: both are constant if
    their operands are. Batch norms in 16-bit floats are kept.
    """
    return rewrite(body, _simplify)


def _simplify(node: Expr) -> Expr:
    match node:
        case TupleGetItem(Tuple(fields), index):
            return fields[index]
        case Call(op="nn.batch_norm", args=args) if tensor_type_of(args[0]).dtype in WIDE:
            return _batch_norm(node)
        case Call(op="nn.dropout", args=(data,)):
            type_ = tensor_type_of(data)
            return Tuple(
                (data, make("ones", shape=type_.shape, dtype=type_.dtype, span=node.span)), node.span
            )
    return node


def _batch_norm(node: Call) -> Expr:
    data, gamma, beta, mean, variance = node.args
    type_, span = tensor_type_of(data), node.span
    axis = node["axis"] % type_.ndim

    def broadcastable(vector: Expr) -> Expr:
        """Reshape a vector along ``axis`` so that it broadcasts with the data."""
        trailing_axes = type_.ndim - axis - 1
        return (
            make("expand_dims", vector, axis=1, num_newaxis=trailing_axes, span=span)
            if trailing_axes
            else vector
        )

    epsilon = constant(node["epsilon"], type_.dtype)
    scale: Expr = make("sqrt", make("add", variance, epsilon, span=span), span=span)
    numerator = gamma if node["scale"] else constant(1, type_.dtype)
    scale = make("divide", numerator, scale, span=span)
    shift: Expr = make("negative", make("multiply", mean, scale, span=span), span=span)
    if node["center"]:
        shift = make("add", beta, shift, span=span)
    scaled = make("multiply", data, broadcastable(scale), span=span)
    return Tuple((make("add", scaled, broadcastable(shift), span=span), mean, variance), span)
