"""``SimplifyInference``, ``FastMath`` and ``DivToMul`` as TVM writes them out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.relay import passes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import is_float
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.transform.functions import of_ours

_FAST = {"exp": "fast_exp", "erf": "fast_erf", "tanh": "fast_tanh", "nn.softmax": "nn.fast_softmax"}


def SimplifyInference() -> Pass:
    """The pass that writes out what training left: batch normalization as a scale and a shift, dropout as its
    data, and other normalizations."""

    def run(module: nodes.Module) -> nodes.Module:
        return passes.simplify_inference(_without_batch_norm(module))

    return of_ours("SimplifyInference", 0, run)


def DivToMul() -> Pass:
    """The pass that makes of a division of floats by a constant a product, which is rounded twice."""
    return of_ours("DivToMul", 0, _with_products)


@graph_pass
def _with_products(body: Any) -> Any:
    def rule(node: Any) -> Any:
        match node:
            case nodes.Call(op="divide", args=(data, nodes.Constant(data=divisor))) if is_float(data):
                with np.errstate(divide="ignore"):
                    inverse = (1 / np.asarray(divisor)).astype(divisor.dtype)
                return make("multiply", data, nodes.Constant(inverse, node.span), span=node.span)
        return node

    return rewrite(body, rule)


def FastMath() -> Pass:
    """The pass that takes quicker formulas for ``exp``, ``erf``, ``tanh`` and softmax."""
    return of_ours("FastMath", 4, _with_fast)


@graph_pass
def _with_fast(body: Any) -> Any:
    def rule(node: Any) -> Any:
        quick = _FAST.get(node.op) if isinstance(node, nodes.Call) and isinstance(node.op, str) else None
        if quick is None or not table.is_known(quick):
            return node
        return make(quick, *node.args, span=node.span, **dict(node.attrs))

    return rewrite(body, rule)


@graph_pass
def _without_batch_norm(body: Any) -> Any:
    def rule(node: Any) -> Any:
        match node:
            case nodes.TupleGetItem(value=nodes.Call(op="nn.batch_norm") as call, index=0):
                return _scaled(call)
        return node

    return rewrite(body, rule)


def _scaled(call: nodes.Call) -> nodes.Expr:
    """``data * scale + shift``, of the statistics that training left."""
    data, gamma, beta, mean, variance = call.args
    type_ = tensor_type_of(data)
    dtype = np.dtype(type_.dtype)

    def number(value: float) -> nodes.Constant:
        return nodes.Constant(np.asarray(value, dtype), call.span)

    def op(name: str, *args: nodes.Expr, **attrs: Any) -> nodes.Expr:
        return make(name, *args, span=call.span, **attrs)

    scale = op("divide", number(1), op("sqrt", op("add", variance, number(call["epsilon"]))))
    scale = op("multiply", scale, gamma) if call["scale"] else scale
    shift = op("multiply", op("negative", mean), scale)
    shift = op("add", shift, beta) if call["center"] else shift
    behind = type_.ndim - call["axis"] % type_.ndim - 1
    if behind:
        scale, shift = (op("expand_dims", one, axis=1, num_newaxis=behind) for one in (scale, shift))
    return op("add", op("multiply", data, scale), shift)
