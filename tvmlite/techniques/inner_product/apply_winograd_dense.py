"""The pass that uses Winograd's inner product for dense layers if it is faster and its error allowed.

It is faster if the processor executes additions in parallel with multiply-adds and the layer is large enough,
and is used unless a decision says otherwise (``decisions``). The error is ``operator.stated_error``, relative
to a layer's largest result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical
from tvmlite.relay.passes.decisions import Decisions, decide
from tvmlite.relay.passes.graph_pass import map_functions
from tvmlite.te.templates.group import number, product
from tvmlite.techniques.inner_product import operator as dense_winograd
from tvmlite.techniques.winograd.apply_winograd import check_bound

INNER_PRODUCT = "inner product"
"""The name of the alternative to ``direct``."""

LEAST_ROWS = 8
"""The least number of rows with which a tile hides its reads of the weight."""

LEAST_COLUMNS = 128
"""The least number of columns with which scaling the rows costs little compared to the time saved."""


def apply_winograd_dense(
    target: Target, error_bound: float = 1e-4, decisions: Decisions | None = None
) -> Callable[[Module], Module]:
    """The pass for ``target`` that allows errors up to ``error_bound``, to be run before weights are packed.
    A bound that is negative or not a finite number is a ConfigError."""
    check_bound(error_bound)

    def apply_winograd_dense(module: Module) -> Module:
        if not has_separate_additions(target):
            return module
        return map_functions(
            module, lambda body: rewrite(body, lambda node: _rule(node, target, error_bound, decisions))
        )

    return apply_winograd_dense


def has_separate_additions(target: Target) -> bool:
    """Whether additions have their own ports, and can broadcast a scalar operand from memory, as those of
    AVX-512: separate loads would cost all that is saved."""
    return target.machine.separate_additions and target.has("avx512f")


def _rule(node: Expr, target: Target, bound: float, decisions: Decisions | None) -> Expr:
    constant = _weight(node)
    if constant is None or not isinstance(node, Call):
        return node
    transposed = node.op == "nn.matmul" and not node["transpose_b"]
    columns, terms = constant.shape[::-1] if transposed else constant.shape
    rows = product(map(number, tensor_type_of(node).shape[:-1]))
    if rows is None or rows < LEAST_ROWS or columns < LEAST_COLUMNS:
        return node
    if dense_winograd.Terms.of(terms) is None or dense_winograd.stated_error(terms) > bound:
        return node
    weight = constant.data.T if transposed else constant.data
    if not np.isfinite(weight).all():
        return node
    ways = "direct", INNER_PRODUCT
    if decide(decisions, "winograd", lambda: [[node]], ways, INNER_PRODUCT) == "direct":
        return node
    return _replaced(node, weight, target)


def _weight(node: Expr) -> Constant | None:
    """The constant weight of ``node``, if that is a dense layer of float32 and the weight is not empty."""
    match node:
        case Call("nn.dense", (_, Constant() as weight)):
            pass
        case Call("nn.matmul", (_, Constant() as weight)) if not node["transpose_a"]:
            pass
        case _:
            return None
    kinds = {tensor_type_of(one).dtype for one in (node, *node.args)}
    return weight if kinds == {"float32"} and weight.size else None


def _replaced(node: Call, weight: np.ndarray, target: Target) -> Expr:
    """``node`` with its weight scaled and packed."""
    block = target.lanes("float32")
    made = dense_winograd.Weight.of(weight, block)
    attrs = {"units": weight.shape[0], "out_dtype": node["out_dtype"], "weight_layout": f"NC{block}n"}
    parts = (Constant(part, node.span) for part in (made.packed, made.terms, made.columns))
    return Call(dense_winograd.DENSE, (node.args[0], *parts), canonical(attrs), node.span)
