"""``SimplifyInference``, ``FastMath`` and ``DivToMul``, with TVM's resulting operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
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
    """A pass that replaces batch normalization by a scale and a shift, and dropout by its data. It decomposes
    the other normalizations into elementwise operators and reductions, if they are in float32 or float64."""

    def run(module: nodes.Module) -> nodes.Module:
        return passes.simplify_inference(_without_normalizations(module))

    return of_ours("SimplifyInference", 0, run)


def DivToMul() -> Pass:
    """A pass that replaces float division by a constant by a product with the inverse, which rounds twice."""
    return of_ours("DivToMul", 0, _with_products, ("InferType", "FoldConstant"))


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
    """A pass that uses faster, less accurate formulas for ``exp``, ``erf``, ``tanh`` and softmax."""
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
def _without_normalizations(body: Any) -> Any:
    def rule(node: Any) -> Any:
        match node:
            case nodes.TupleGetItem(value=nodes.Call(op="nn.batch_norm") as call, index=0):
                return _scaled(call)
            case nodes.Call(op=str() as op) if op in _NORMALIZATIONS and _is_wide(node):
                return _NORMALIZATIONS[op](node)
        return node

    return rewrite(body, rule)


def _is_wide(call: nodes.Call) -> bool:
    """Whether the data's dtype is wide enough for intermediate squares and sums."""
    return tensor_type_of(call.args[0]).dtype in ("float32", "float64")


def _op(call: nodes.Call) -> Callable[..., nodes.Expr]:
    """``make`` with the span of ``call``, for calls that replace it."""
    return partial(make, span=call.span)


def _number(call: nodes.Call, value: float) -> nodes.Constant:
    """The constant ``value`` in the dtype of the data of ``call``."""
    return nodes.Constant(np.asarray(value, dtypes.numpy_of(tensor_type_of(call.args[0]).dtype)), call.span)


def _spread(call: nodes.Call, vector: nodes.Expr) -> nodes.Expr:
    """``vector``, along the axis of ``call``, reshaped to broadcast with the data."""
    rank = tensor_type_of(call.args[0]).ndim
    behind = rank - call["axis"] % rank - 1
    return _op(call)("expand_dims", vector, axis=1, num_newaxis=behind) if behind else vector


def _scaled(call: nodes.Call) -> nodes.Expr:
    """A batch normalization as ``data * scale + shift``, from the stored mean and variance."""
    data, gamma, beta, mean, variance = call.args
    op = _op(call)
    deviation = op("sqrt", op("add", variance, _number(call, call["epsilon"])))
    scale = op("divide", _number(call, 1), deviation)
    scale = op("multiply", scale, gamma) if call["scale"] else scale
    shift = op("multiply", op("negative", mean), scale)
    shift = op("add", shift, beta) if call["center"] else shift
    return op("add", op("multiply", data, _spread(call, scale)), _spread(call, shift))


def _centred(call: nodes.Call, data: nodes.Expr, axes: tuple[int, ...]) -> nodes.Expr:
    """``data`` minus its mean over ``axes``, divided by its standard deviation."""
    op = _op(call)
    mean = op("mean", data, axis=axes, keepdims=True)
    variance = op("variance", data, mean, axis=axes, keepdims=True)
    deviation = op("sqrt", op("add", variance, _number(call, call["epsilon"])))
    return op("divide", op("subtract", data, mean), deviation)


def _with_weights(call: nodes.Call, value: nodes.Expr) -> nodes.Expr:
    """``value`` multiplied by ``gamma`` (if ``scale``), plus ``beta`` (if ``center``)."""
    _, gamma, beta = call.args
    value = _op(call)("multiply", value, _spread(call, gamma)) if call["scale"] else value
    return _op(call)("add", value, _spread(call, beta)) if call["center"] else value


def _layer_norm(call: nodes.Call) -> nodes.Expr:
    return _with_weights(call, _centred(call, call.args[0], (call["axis"],)))


def _instance_norm(call: nodes.Call) -> nodes.Expr:
    rank = tensor_type_of(call.args[0]).ndim
    axes = [axis for axis in range(1, rank) if axis != call["axis"] % rank]
    return _with_weights(call, _centred(call, call.args[0], tuple(axes)))


def _group_norm(call: nodes.Call) -> nodes.Expr:
    """A group normalization: axis 1, the channels, is split into groups."""
    data, op = call.args[0], _op(call)
    batch, channels, *rest = tensor_type_of(data).shape
    groups = call["num_groups"]
    apart = op("reshape", data, newshape=(batch, groups, channels // groups, *rest))
    made = _centred(call, apart, tuple(range(2, len(rest) + 3)))
    return _with_weights(call, op("reshape", made, newshape=(batch, channels, *rest)))


def _l2_normalize(call: nodes.Call) -> nodes.Expr:
    data, op = call.args[0], _op(call)
    total = op("sum", op("multiply", data, data), axis=call["axis"], keepdims=True)
    return op("divide", data, op("sqrt", op("maximum", total, _number(call, call["eps"]))))


_NORMALIZATIONS: dict[str, Callable[[nodes.Call], nodes.Expr]] = {
    "nn.group_norm": _group_norm,
    "nn.instance_norm": _instance_norm,
    "nn.l2_normalize": _l2_normalize,
    "nn.layer_norm": _layer_norm,
}
"""The functions that decompose normalizations, by operator."""
