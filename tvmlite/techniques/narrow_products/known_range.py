"""The pass that marks quantizations of values known to be in the range of int32, which need no clip first.

Processors convert floats to int32, and all values out of range to one number, whatever their sign. So floats
are clipped first, which is one of four instructions for a vector of sums. Sums of int32 times a scale below 1
are in the range of int32, and so are dequantized bytes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical
from tvmlite.relay.ir.op import is_view
from tvmlite.relay.passes.patterns import selects
from tvmlite.te.templates import anchors
from tvmlite.techniques.common.dot import quad_lanes
from tvmlite.techniques.narrow_products.quantized import known_shape

INT32_BOUND = 2.0**31 * (1 - 2.0**-16)
"""Values up to this bound are in the range of int32 even after a few roundings in float32."""

MOST_DEPTH = 8
"""The greatest depth of analysis, in operators: sums, their scale and bias, and what is added."""


def known_range(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``; it does nothing if ``target`` has no instruction for products of bytes."""

    def known_range(module: Module) -> Module:
        main = module.main
        body = rewrite(main.body, _rule) if quad_lanes(target) else main.body
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return known_range


def _rule(node: Expr) -> Expr:
    match node:
        case Call("qnn.quantize", (data, Constant(step), _)) if step.min(initial=1) > 0:
            is_float32, least = tensor_type_of(data).dtype == "float32", float(step.min(initial=np.inf))
            if is_float32 and not node["fits_int32"] and bound(data) / least <= INT32_BOUND:
                return Call(
                    node.op, node.args, canonical({**dict(node.attrs), "fits_int32": True}), node.span
                )
    return node


def bound(value: Expr, depth: int = MOST_DEPTH) -> float:
    """A bound on the magnitude of the elements of ``value``; infinite or NaN if not known, or if an element
    may be NaN. (Sums of products have at most as many terms as their weight has elements.)"""
    if depth == 0:
        return math.inf
    depth -= 1
    match value:
        case Constant(data):
            return float(np.abs(data.astype(np.float64)).max(initial=0))
        case Call("cast", (data,)) if dtypes.is_int(kind := tensor_type_of(data).dtype):
            return _bound_of(kind)
        case Call("qnn.dequantize", (codes, scale, zero)):
            return (_bound_of(tensor_type_of(codes).dtype) + bound(zero)) * bound(scale)
        case Call(op=str() as name, args=(data, weight)) if _is_convolution(name):
            kinds = [tensor_type_of(one) for one in (data, weight)]
            terms = known_shape(kinds[1].shape)
            if terms is not None and all(dtypes.is_int(kind.dtype) for kind in kinds):
                return math.prod(terms) * _bound_of(kinds[0].dtype) * _bound_of(kinds[1].dtype)
        case Call("add" | "subtract", (a, b)):
            return bound(a, depth) + bound(b, depth)
        case Call("multiply", (a, b)):
            return bound(a, depth) * bound(b, depth)
        case Call("round", (data,)):
            return bound(data, depth) + 0.5
        case Call("clip", (data,)) if bound(data, depth) < math.inf:  # NaN stays NaN
            return max(abs(value["a_min"]), abs(value["a_max"]))
    if isinstance(value, Call) and (value.op == "nn.relu" or is_view(value) or selects(value)):
        return bound(value.args[0], depth)
    return math.inf


def _is_convolution(name: str) -> bool:
    return operators.get(name).schedule == anchors.CONVOLUTION


def _bound_of(kind: str) -> float:
    """The largest magnitude of an integer of dtype ``kind``."""
    return float(max(abs(int(limit)) for limit in dtypes.limits(kind)))
