"""ONNX's element-wise operators: arithmetic, comparisons, logic, rounding, casts."""

from __future__ import annotations

import functools
import math

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.onnx.graph.broadcast import broadcast_all
from tvmlite.relay.onnx.graph.node import NOTHING, OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}

_BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
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
    return node.make(_UNARY[node.op_type], data)


@converter(*_BINARY, since=7)
def binary(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    a, b = same_dtype(node, a, b)
    a, b = broadcast_all(node, a, b)
    return node.make(_BINARY[node.op_type], a, b)


def same_dtype(node: OnnxNode, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Both operands, refused when ONNX's own rule, one type for both, is broken."""
    left, right = node.dtype(a), node.dtype(b)
    if left != right:
        node.bad(f"inputs of types {left} and {right}, expected one type")
    return a, b


@converter("Div", since=7)
def divide(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """Floats divide exactly, integers towards zero."""
    a, b = broadcast_all(node, *same_dtype(node, a, b))
    return a / b


@converter("Mod")
def mod(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """With ``fmod`` the sign of the dividend, else of the divisor."""
    a, b = broadcast_all(node, *same_dtype(node, a, b))
    if node.attr("fmod", 0):
        return node.make("mod", a, b)
    return node.make("floor_mod", a, b)


@converter("Pow", since=7)
def power(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    """``a ** b`` in the type of ``a``; the exponent may be of another."""
    kind, exponent = node.dtype(a), node.dtype(b)
    if dtypes.is_float(kind) and isinstance(b, Constant) and b.data.size == 1:
        if len(b.data.shape) <= node.rank(a):
            if float(b.data.reshape(())) == 2.0:
                return a * a
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
    """``a ** 0.5``: the square root, but of -0 it is 0 and of minus infinity infinity."""
    minus_infinity = node.const(-math.inf, node.dtype(a))
    root = node.make("sqrt", a + 0.0)
    return node.make(
        "where", node.make("equal", a, minus_infinity), node.const(math.inf, node.dtype(a)), root
    )


@converter("BitShift")
def bit_shift(node: OnnxNode, a: Expr, b: Expr) -> Expr:
    direction = node.required("direction")
    if direction not in ("LEFT", "RIGHT"):
        node.bad(f"direction is {direction!r}, expected LEFT or RIGHT")
    a, b = broadcast_all(node, *same_dtype(node, a, b))
    return node.make("left_shift" if direction == "LEFT" else "right_shift", a, b)


@converter("Sum", "Max", "Min", "Mean")
def variadic(node: OnnxNode, *inputs: Expr) -> Expr:
    """One operation over any number of inputs that broadcast together."""
    operator = {"Sum": "add", "Mean": "add", "Max": "maximum", "Min": "minimum"}[node.op_type]

    def step(a: Expr, b: Expr) -> Expr:
        return node.make(operator, *broadcast_all(node, *same_dtype(node, a, b)))

    made = functools.reduce(step, inputs)
    return made / len(inputs) if node.op_type == "Mean" else made


@converter("Clip")
def clip_by_attributes(node: OnnxNode, data: Expr) -> Expr:
    low, high = node.attr("min", -math.inf), node.attr("max", math.inf)
    return node.make("clip", data, a_min=float(low), a_max=float(high))


@converter("Clip", since=11)
def clip(node: OnnxNode, data: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """Limits are scalars: constants become attributes; the upper limit wins when they cross."""
    for limit, name in ((low, "min"), (high, "max")):
        if limit is not None and node.rank(limit) not in (0, 1):
            node.bad(f"{name} is of rank {node.rank(limit)}, expected a scalar")
    limits = [_limit(x) for x in (low, high)]
    if all(x is not None for x in limits) and not any(math.isnan(x) for x in limits if x is not None):
        least = -math.inf if low is None else limits[0]
        most = math.inf if high is None else limits[1]
        if dtypes.is_float(node.dtype(data)):
            return node.make("clip", data, a_min=least, a_max=most)
        bounds = dtypes.limits(node.dtype(data))
        return node.make(
            "clip", data, a_min=bounds[0] if low is None else least, a_max=bounds[1] if high is None else most
        )
    if low is not None:
        data = node.make("maximum", data, node.reshape(low, ()))
    if high is not None:
        data = node.make("minimum", data, node.reshape(high, ()))
    return data


def _limit(value: Expr | None) -> float | int | None:
    """The number a limit is: any number when it is left out, None when it is not a constant."""
    if value is None:
        return 0
    return value.data.reshape(-1)[0].item() if isinstance(value, Constant) and value.data.size == 1 else None


@converter("Reciprocal")
def reciprocal(node: OnnxNode, data: Expr) -> Expr:
    return node.const(1, node.dtype(data)) / data


@converter("IsInf")
def is_inf(node: OnnxNode, data: Expr) -> Expr:
    plus, minus = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    if plus and minus:
        return node.make("isinf", data)
    if not plus and not minus:
        return node.make("logical_and", node.make("isinf", data), node.const(False, "bool"))
    return node.make("equal", data, node.const(math.inf if plus else -math.inf, node.dtype(data)))


@converter("Where")
def where(node: OnnxNode, condition: Expr, a: Expr, b: Expr) -> Expr:
    same_dtype(node, a, b)
    if node.dtype(condition) != "bool":
        node.bad(f"condition is {node.dtype(condition)}, expected bool")
    return node.make("where", *broadcast_all(node, condition, a, b))


@converter("Identity")
@converter("Dropout", since=7)
def identity(node: OnnxNode, data: Expr = NOTHING, *_: Expr | None) -> Expr | list[Expr]:
    """The input; Dropout's mask, of an inference, is all true (before opset 10 it is not defined)."""
    if node.op_type == "Dropout" and node.wants(1) and node.opset >= 10:
        return [data, node.full(True, node.shape(data), "bool")]
    return data


@converter("Dropout", since=12)
def dropout(
    node: OnnxNode, data: Expr, ratio: Expr | None = None, training: Expr | None = None
) -> Expr | list[Expr]:
    """The input: nothing is dropped in an inference. Whether it is one must be known at import."""
    known = node.known_truth(training)
    if training is not None and known is None:
        node.unsupported(
            "training_mode depends on the data or on sizes",
            "give its value at import: constants={name: False}",
        )
    if known:
        if ratio is None or node.number(ratio, "ratio") != 0:
            node.unsupported(
                "training_mode: dropping at random", "export the model for inference, or with ratio 0"
            )
    return identity(node, data)
