"""ONNX's element-wise operators: arithmetic, comparisons, logic, rounding, casts."""

from __future__ import annotations

import functools
import math

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import broadcast_all
from tvmlite.relay.onnx.graph.node import NOTHING, OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

_SAME_NAME = (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor"),
    *("IsNaN", "Log", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh"),
)
_UNARY = {
    **{name: name.lower() for name in _SAME_NAME},
    "BitwiseNot": "bitwise_not",
    "Neg": "negative",
    "Not": "logical_not",
}

_BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
}


@converter(*_UNARY)
def unary(node: OnnxNode, data: Expr) -> Expr:
    """Operators of one input without attributes, as the relay operators of ``_UNARY``."""
    return node.make(_UNARY[node.op_type], data)


@converter(*_BINARY)
def binary(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Operators of two inputs; division is exact for floats, and truncates towards zero for integers."""
    return node.make(_BINARY[node.op_type], *operands(node, a, b))


@converter("Mod")
def mod(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Mod: with ``fmod`` the result has the sign of the dividend, else of the divisor."""
    return node.make("mod" if node.flag("fmod") else "floor_mod", *operands(node, a, b))


def operands(node: OnnxNode, *values: Expr) -> tuple[Expr, ...]:
    """Return ``values`` with shapes that broadcast."""
    return broadcast_all(node, *align_by_axis(node, *values))


def align_by_axis(node: OnnxNode, a: Expr, *others: Expr) -> tuple[Expr, ...]:
    """Return the operands, shaped so that numpy's broadcasting places the second according to ``axis`` and
    ``broadcast``, the attributes before opset 7.

    Without ``broadcast`` the shapes are equal. With it, ``b`` has one element, or its shape is a contiguous
    part of that of ``a``, which starts at ``axis``, or ends where ``a`` ends.
    """
    if node.domain or node.opset >= 7 or "broadcast" not in node.defaults:
        return (a, *others)
    (b,) = others
    left, right = node.shape(a), node.shape(b)
    if not node.flag("broadcast"):
        if dims.differ(left, right):
            node.bad(f"shapes {show_shape(left)} and {show_shape(right)}, without broadcast=1")
        return a, b
    if all(dims.equal(d, 1) for d in right) and len(right) <= len(left):
        return a, node.reshape(b, ())
    start = node.attr("axis", len(left) - len(right))
    start = start + len(left) if start < 0 else start
    run = left[start : start + len(right)]
    fitting = [x if dims.equal(y, 1) else y for x, y in zip(run, right, strict=False)]
    if len(run) != len(right) or dims.differ(run, fitting):
        node.bad(f"shape {show_shape(right)} is no part of {show_shape(left)} at axis {start}")
    return a, node.reshape(b, (*right, *(1,) * (len(left) - start - len(right))))


@converter("Pow")
def power(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Pow: ``a ** b`` in the type of ``a``; the exponent may have another."""
    a, b = align_by_axis(node, a, b)
    kind, exponent = node.dtype(a), node.dtype(b)
    if dtypes.is_float(kind) and isinstance(b, Constant) and b.data.size == 1:
        if len(b.data.shape) <= node.rank(a):
            if float(b.data.reshape(())) == 2.0:
                return node.multiply(a, a)
            if float(b.data.reshape(())) == 0.5 and kind != "float16":
                return _square_root(node, a)
    if kind == exponent or dtypes.is_float(kind):
        wide = kind
    elif dtypes.is_float(exponent):
        wide = "float64"
    else:
        wide = "int64"
    a, b = broadcast_all(node, node.cast(a, wide), node.cast(b, wide))
    return node.cast(node.make("power", a, b), kind)


def _square_root(node: OnnxNode, a: Expr) -> Expr:
    """``a ** 0.5``: the square root, except that it is 0 for -0 and infinity for minus infinity."""
    minus_infinity = node.const(-math.inf, node.dtype(a))
    root = node.make("sqrt", node.add(a, 0.0))
    return node.make(
        "where", node.make("equal", a, minus_infinity), node.const(math.inf, node.dtype(a)), root
    )


@converter("BitShift")
def bit_shift(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """BitShift as left_shift or right_shift, by attribute ``direction``."""
    direction = node.choice("direction", "LEFT", "RIGHT")
    return node.make(f"{direction.lower()}_shift", *operands(node, a, b))


@converter("Sum", "Max", "Min", "Mean")
def variadic(node: OnnxNode, *inputs: Expr) -> Expr:
    """Sum, Max, Min, Mean: one operation on any number of inputs that broadcast."""
    operator = {"Max": "maximum", "Min": "minimum"}.get(node.op_type, "add")
    made = functools.reduce(lambda a, b: node.make(operator, *operands(node, a, b)), inputs)
    return node.divide(made, len(inputs)) if node.op_type == "Mean" else made


@converter("Clip")
def clip(node: OnnxNode, data: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """Clip: limits, attributes in older operator sets, are scalars; the upper limit wins if they cross."""
    for limit, name in ((low, "min"), (high, "max")):
        if limit is not None and node.rank(limit) not in (0, 1):
            node.bad(f"{name} is of rank {node.rank(limit)}, expected a scalar")
    is_float = dtypes.is_float(node.dtype(data))
    bounds = (-math.inf, math.inf) if is_float else dtypes.limits(node.dtype(data))
    limits = [_limit(node, *one) for one in zip((low, high), ("min", "max"), bounds, strict=True)]
    if all(x is not None and not math.isnan(x) for x in limits):
        return node.make("clip", data, a_min=limits[0], a_max=limits[1])
    if low is not None:
        data = node.make("maximum", data, node.reshape(low, ()))
    if high is not None:
        data = node.make("minimum", data, node.reshape(high, ()))
    return data


def _limit(node: OnnxNode, value: Expr | None, name: str, bound: float) -> float | None:
    """The value of a limit, ``bound`` if it is missing; None if it is not a constant."""
    if value is None:
        return float(node.attr(name)) if node.has(name) else bound
    return value.data.reshape(-1)[0].item() if isinstance(value, Constant) and value.data.size == 1 else None


@converter("Reciprocal")
def reciprocal(node: OnnxNode, data: Expr) -> Expr:
    """Reciprocal as the division ``1 / x``."""
    return node.divide(node.const(1, node.dtype(data)), data)


@converter("IsInf")
def is_inf(node: OnnxNode, data: Expr) -> Expr:
    """IsInf for both signs or one: ``detect_positive`` and ``detect_negative``; False for neither."""
    plus, minus = node.flag("detect_positive"), node.flag("detect_negative")
    if plus != minus:
        return node.make("equal", data, node.const(math.inf if plus else -math.inf, node.dtype(data)))
    made = node.make("isinf", data)
    return made if plus else node.make("logical_and", made, node.const(False, "bool"))


@converter("Where")
def where(node: OnnxNode, condition: Expr, a: Expr, b: Expr) -> Expr:
    """Where: all three inputs, ``condition`` included, broadcast against each other."""
    return node.make("where", *broadcast_all(node, condition, a, b))


@converter("Identity")
def identity(node: OnnxNode, data: Expr = NOTHING) -> Expr:
    """Identity of tensors, sequences and optionals: the input itself, ``NOTHING`` for an empty optional."""
    return data


@converter("Dropout")
def dropout(
    node: OnnxNode, data: Expr, ratio: Expr | None = None, training: Expr | None = None
) -> Expr | list[Expr]:
    """Dropout: the input, as inference drops nothing. The mode must be known at import.

    The mask is all true; before opset 10 it is not defined.
    """
    if node.opset < 7 and not node.flag("is_test") and node.attr("ratio"):
        node.unsupported("is_test=0: dropping at random")
    known = node.known_truth(training)
    if training is not None and known is None:
        node.unsupported(
            "training_mode depends on the data or on sizes",
            "give its value at import: constants={name: False}",
        )
    if known and (ratio is None or node.number(ratio, "ratio") != 0):
        node.unsupported(
            "training_mode: dropping at random", "export the model for inference, or with ratio 0"
        )
    mask = node.has_output(1) and node.opset >= 10
    return [data, node.full(True, node.shape(data), "bool")] if mask else data
