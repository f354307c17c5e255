"""Recognize gelu, silu, hard swish and mish that an exporter wrote in smaller operators."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tvmlite.relay.ir.infer import same_type, type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.elementwise.activation import CUBE
from tvmlite.relay.passes.graph_pass import graph_pass, rebuild
from tvmlite.relay.passes.patterns import Number, Wildcard, first, is_close, is_float, op, scalar_of
from tvmlite.relay.passes.polynomials import polynomial, same_polynomial
from tvmlite.relay.passes.quantized_chains import exactly_determined, quantized_chains

MAX_DEPTH = 5
"""The maximum depth of operators between the root of an activation and its curve."""

X = Wildcard("x")
SIGMOID = 1.0 / (1.0 + op("exp", -X))
SILU = X / (1.0 + op("exp", -X))
LOW, HIGH = Number(name="low"), Number(name="high")
CLIPPED = op("minimum", op("maximum", X, LOW), HIGH) | op("maximum", op("minimum", X, HIGH), LOW)
POSITIVE = op("nn.relu", X) | op("maximum", X, 0.0)
SOFTPLUS = op("log", 1.0 + op("exp", X)) | POSITIVE + op("log", 1.0 + op("exp", -op("abs", X)))

CURVES = ("erf", "tanh", "sigmoid", "clip", "minimum", "maximum")
ERF_ARGUMENT = {(1,): math.sqrt(0.5)}
TANH_ARGUMENT = {(1,): math.sqrt(2 / math.pi), (3,): CUBE * math.sqrt(2 / math.pi)}
GELU_TERMS = {(1, 0): 0.5, (1, 1): 0.5}


@graph_pass
def recognize_activations(body: Expr) -> Expr:
    """Rewrite ``0.5 x (1 + erf(x / sqrt 2))`` to ``nn.gelu``; likewise ``nn.silu``, ``nn.hard_swish``,
    ``nn.mish``.

    Formulas are compared as polynomials in ``x`` and its curve (``erf``, ``tanh``, ``sigmoid``, a clipped
    line), so neither the order of factors nor their distribution matters. ``1 / (1 + exp(-x))`` becomes
    ``sigmoid(x)``, ``min(max(x, a), b)`` becomes ``clip``. Hard swish, which needs no transcendental
    function, is left as written, with the same bits, if its data is exact (``exactly_determined``) or the
    result is rounded to steps afterwards (``quantized_chains``).
    """
    exact = quantized_chains(body) | exactly_determined(body)
    return rebuild(body, lambda node, made: _recognize(made, node in exact))


def _recognize(node: Expr, must_keep_bits: bool) -> Expr:
    if not isinstance(node, Call) or not isinstance(node.op, str) or not is_float(node):
        return node
    match node.op:
        case "divide":
            return _sigmoid(node) or _silu_as_quotient(node) or _activation(node, must_keep_bits)
        case "minimum" | "maximum":
            return _clip(node) or node
        case "multiply" | "add":
            return _activation(node, must_keep_bits)
    return node


# --- curves -----------------------------------------------------------------------------------------


def _sigmoid(node: Call) -> Expr | None:
    """``1 / (1 + exp(-x))``."""
    found = first(SIGMOID, node)
    return _if_same_type(node, make("sigmoid", found["x"], span=node.span)) if found else None


def _silu_as_quotient(node: Call) -> Expr | None:
    """``x / (1 + exp(-x))``."""
    found = first(SILU, node)
    return make("nn.silu", found["x"], span=node.span) if found else None


def _clip(node: Call) -> Expr | None:
    """``min(max(x, a), b)`` or ``max(min(x, b), a)`` with ``a <= b``."""
    for found in CLIPPED.matches(node, {}):
        if found["low"] <= found["high"]:
            limits = {"a_min": found["low"], "a_max": found["high"]}
            return _if_same_type(node, make("clip", found["x"], span=node.span, **limits))
    return None


def _if_same_type(node: Call, made: Expr) -> Expr | None:
    return made if same_type(type_of(made), type_of(node)) else None


# --- activations --------------------------------------------------------------------------------------


def _activation(node: Call, must_keep_bits: bool) -> Expr:
    """``node`` as an activation of a curve below it; ``node`` itself if it is not a known one."""
    for curve in _curves(node, MAX_DEPTH):
        if must_keep_bits and curve.op == "clip":
            continue
        for name, data, attrs in _equivalent_activations(node, curve):
            made = make(name, data, span=node.span, **attrs)
            if same_type(type_of(made), type_of(node)):
                return made
    return node


def _curves(expr: Expr, depth: int) -> Iterator[Call]:
    """The curves below ``expr``, reached through arithmetic only."""
    if not isinstance(expr, Call) or depth == 0:
        return
    if expr.op in CURVES:
        yield expr
    elif expr.op in ("add", "multiply", "divide"):
        for arg in expr.args:
            yield from _curves(arg, depth - 1)


def _equivalent_activations(node: Call, curve: Call) -> Iterator[tuple[str, Expr, dict[str, str]]]:
    """The activations that ``node`` is equal to, each with its data and attributes."""
    match curve.op:
        case "erf" | "tanh":
            forms = (("none", ERF_ARGUMENT),) if curve.op == "erf" else (("tanh", TANH_ARGUMENT),)
            for kind, inner in forms:
                for data in _possible_variables(curve.args[0], MAX_DEPTH):
                    if same_polynomial(polynomial(curve.args[0], (data,)), inner):
                        if same_polynomial(polynomial(node, (data, curve)), GELU_TERMS):
                            yield "nn.gelu", data, {"approximate": kind}
            softplus = first(SOFTPLUS, curve.args[0]) if curve.op == "tanh" else None
            if softplus and _is_product(node, softplus["x"], curve):
                yield "nn.mish", softplus["x"], {}
        case "sigmoid":
            if _is_product(node, curve.args[0], curve):
                yield "nn.silu", curve.args[0], {}
        case "clip":
            for data in _possible_variables(curve.args[0], MAX_DEPTH):
                if _is_hard_swish(node, curve, data):
                    yield "nn.hard_swish", data, {}


def _possible_variables(expr: Expr, depth: int) -> Iterator[Expr]:
    """All expressions that ``expr`` may be a polynomial in, ``expr`` itself last."""
    if isinstance(expr, Call) and depth and expr.op in ("add", "multiply", "divide", "power", "subtract"):
        for arg in expr.args:
            yield from _possible_variables(arg, depth - 1)
    if scalar_of(expr) is None:
        yield expr


def _is_product(node: Expr, data: Expr, curve: Expr) -> bool:
    return same_polynomial(polynomial(node, (data, curve)), {(1, 1): 1.0})


def _is_hard_swish(node: Call, curve: Call, data: Expr) -> bool:
    """Whether ``node``, of the form ``c x clip(line, low, high)``, equals ``x clip(x / 6 + 1 / 2, 0, 1)``."""
    terms = polynomial(node, (data, curve)) or {}
    factor = terms.get((1, 1), 0.0)
    line = {key: value * factor for key, value in (polynomial(curve.args[0], (data,)) or {}).items()}
    limits = curve["a_min"] * factor, curve["a_max"] * factor
    product = same_polynomial(terms, {(1, 1): factor})
    return (
        product
        and same_polynomial(line, {(1,): 1 / 6, (0,): 0.5})
        and limits[0] == 0
        and is_close(limits[1], 1)
    )
