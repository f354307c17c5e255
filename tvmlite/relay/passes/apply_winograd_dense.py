"""Dense layers by Winograd's inner product, where that is quicker and its error is allowed.

By default where the processor adds beside multiplying and there is enough to win, unless another way was
decided for (``relay.decisions``). The error is ``dense_winograd.stated_error``, relative to a layer's largest
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.core.target import Target
from tvmlite.relay.decisions import decide
from tvmlite.relay.infer import tensor_type_of
from tvmlite.relay.ir import Call, Constant, Expr, Module, canonical
from tvmlite.relay.ops import dense_winograd
from tvmlite.relay.passes.apply_winograd import checked_bound
from tvmlite.relay.passes.graph_pass import map_functions
from tvmlite.relay.passes.pack_weights import in_blocks
from tvmlite.te.schedules.group import number, product

LEAST_ROWS = 8
"""Rows from which on a tile hides what it reads of the weight."""

LEAST_COLUMNS = 128
"""Columns from which on bringing rows to scale costs little beside what is won: the gain of a row's element is
the 48th of a cycle for each, the cost 0.7 (AMD Zen 4)."""

MOST = 100
"""The largest exponent of a weight's scale: its inverse must be a float32 as well."""


def apply_winograd_dense(target: Target, error_bound: float = 1e-4) -> Callable[[Module], Module]:
    """The pass for ``target`` that allows errors up to ``error_bound``, to be run before weights are packed.
    A bound that is negative or no finite number is a ConfigError."""
    checked_bound(error_bound)

    def apply_winograd_dense(module: Module) -> Module:
        return map_functions(
            module, lambda body: rewrite(body, lambda node: _rule(node, target, error_bound))
        )

    return apply_winograd_dense


def adds_beside_multiplying(target: Target) -> bool:
    """Whether additions have units of their own, as on AMD's processors: on Intel's they take those of
    multiply-adds."""
    return target.maker == "amd"


def _rule(node: Expr, target: Target, bound: float) -> Expr:
    weight = _weight(node)
    if weight is None or not isinstance(node, Call):
        return node
    columns, terms = weight.shape
    rows = product(map(number, tensor_type_of(node).shape[:-1]))
    if rows is None or rows < LEAST_ROWS or columns < LEAST_COLUMNS:
        return node
    if dense_winograd.Terms.of(terms) is None or dense_winograd.stated_error(terms) > bound:
        return node
    default = "inner product" if adds_beside_multiplying(target) else "direct"
    if decide("winograd", lambda: [[node]], ("direct", "inner product"), default) == "direct":
        return node
    return _replaced(node, weight, target)


def _weight(node: Expr) -> np.ndarray | None:
    """The weight ``(n, k)`` of a dense layer of finite float32."""
    match node:
        case Call("nn.dense", (_, Constant(data))):
            weight = data
        case Call("nn.matmul", (_, Constant(data))) if not node["transpose_a"]:
            weight = data if node["transpose_b"] else data.T
        case _:
            return None
    kinds = {tensor_type_of(one).dtype for one in (node, *node.args)}
    return weight if kinds == {"float32"} and weight.size and np.isfinite(weight).all() else None


def _replaced(node: Call, weight: np.ndarray, target: Target) -> Expr:
    """``node`` with its weight brought to scale, packed, and summed up by pairs."""
    mean = float(np.abs(weight.astype("float64")).mean())
    scale = 2.0 ** min(max(1 - math.frexp(mean)[1], -MOST), MOST) if mean else 1.0
    block = target.lanes("float32")
    packed = np.ascontiguousarray(in_blocks(weight * np.float32(scale), block).transpose(0, 2, 1))
    columns = dense_winograd.column_sums(packed)
    attrs = {"units": weight.shape[0], "out_dtype": node["out_dtype"]}
    attrs |= {"weight_layout": f"NC{block}n", "weight_scale": scale}
    args = (node.args[0], Constant(packed, node.span), Constant(columns, node.span))
    return Call(dense_winograd.DENSE, args, canonical(attrs), node.span)
