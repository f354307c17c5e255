"""Compute ``exp``, ``tanh`` and ``erf`` by faster, less exact formulas: at level 4, or in 16-bit models."""

from __future__ import annotations

import math

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.elementwise.activation import CUBE
from tvmlite.relay.passes.graph_pass import graph_pass

FAST = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf"}


@graph_pass
def fast_math(body: Expr) -> Expr:
    """Replace ``exp``, ``tanh``, ``erf``, ``sigmoid``, ``nn.silu`` and ``nn.gelu`` of float32 by fast
    versions.

    The errors, measured over all float32 (``ops/elementwise/fast.py``): ``exp`` 1e-5 of its value, between
    -87 and 88, where it is clamped; ``tanh`` 4e-5 and ``erf`` 3e-5 absolute; so ``sigmoid`` 1e-5, gelu at
    most 3e-5 of ``x``. Softmax and attention stay exact: their exponentials do not dominate their time.
    """
    return rewrite(body, _fast)


def _fast(node: Expr) -> Expr:
    if not isinstance(node, Call) or not isinstance(node.op, str) or len(node.args) != 1:
        return node
    if node.op not in (*FAST, "sigmoid", "nn.silu", "nn.gelu") or tensor_type_of(node).dtype != "float32":
        return node
    (x,) = node.args
    match node.op:
        case "sigmoid":
            return _binary("divide", 1.0, _denominator(x, node), node)
        case "nn.silu":
            return _binary("divide", x, _denominator(x, node), node)
        case "nn.gelu":
            half = _binary("multiply", x, 0.5, node)
            return _binary("multiply", half, _binary("add", _curve(x, node), 1.0, node), node)
    return make(FAST[str(node.op)], x, span=node.span)


def _binary(op: str, a: Expr | float, b: Expr | float, node: Call) -> Expr:
    left, right = (v if isinstance(v, Expr) else constant(v, "float32") for v in (a, b))
    return make(op, left, right, span=node.span)


def _denominator(x: Expr, node: Call) -> Expr:
    """``1 + exp(-x)``."""
    powers = make("fast_exp", make("negative", x, span=node.span), span=node.span)
    return _binary("add", powers, 1.0, node)


def _curve(x: Expr, node: Call) -> Expr:
    """The ``erf`` or ``tanh`` in gelu."""
    if node["approximate"] == "none":
        return make("fast_erf", _binary("multiply", x, math.sqrt(0.5), node), span=node.span)
    root = math.sqrt(2 / math.pi)
    square = _binary("multiply", _binary("multiply", x, x, node), CUBE * root, node)
    inner = _binary("multiply", x, _binary("add", square, root, node), node)
    return make("fast_tanh", inner, span=node.span)
