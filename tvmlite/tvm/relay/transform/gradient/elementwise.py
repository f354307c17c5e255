"""Gradients of elementwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.relay.transform.gradient.rule import Rule, summed_like, zeros_like

_SLOPES: dict[str, Callable[[Any, Any], Any]] = {
    "acos": lambda x, y: -1.0 / make("sqrt", 1.0 - x * x),
    "acosh": lambda x, y: 1.0 / make("sqrt", x * x - 1.0),
    "asin": lambda x, y: 1.0 / make("sqrt", 1.0 - x * x),
    "asinh": lambda x, y: 1.0 / make("sqrt", x * x + 1.0),
    "atan": lambda x, y: 1.0 / (1.0 + x * x),
    "atanh": lambda x, y: 1.0 / (1.0 - x * x),
    "cos": lambda x, y: -make("sin", x),
    "cosh": lambda x, y: make("sinh", x),
    "erf": lambda x, y: 2.0 / math.sqrt(math.pi) * make("exp", -(x * x)),
    "exp": lambda x, y: y,
    "log": lambda x, y: 1.0 / x,
    "log10": lambda x, y: 1.0 / (math.log(10.0) * x),
    "log2": lambda x, y: 1.0 / (math.log(2.0) * x),
    "rsqrt": lambda x, y: -0.5 * y / x,
    "sigmoid": lambda x, y: y * (1.0 - y),
    "sin": lambda x, y: make("cos", x),
    "sinh": lambda x, y: make("cosh", x),
    "sqrt": lambda x, y: 0.5 / y,
    "tan": lambda x, y: 1.0 + y * y,
    "tanh": lambda x, y: 1.0 - y * y,
}
"""The derivative of each operator, as a function of its operand ``x`` and its result ``y``."""

_FLAT = (
    "argmax", "argmin", "ceil", "equal", "floor", "greater", "greater_equal", "isfinite", "isinf", "isnan",
    "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "ndarray_size",
    "not_equal", "ones_like", "round", "shape_of", "sign", "trunc", "zeros_like",
)  # fmt: skip
"""Operators whose derivative is 0 wherever it exists."""

_SAME = ("annotation.checkpoint", "annotation.stop_fusion", "copy", "device_copy", "negative", "on_device")


def _by_slope(call: nodes.Call, gradient: Any) -> list[Any]:
    return [gradient * _SLOPES[str(call.op)](call.args[0], call)]


def _flat(call: nodes.Call, gradient: Any) -> list[Any]:
    return [None] * len(call.args)


def _same(call: nodes.Call, gradient: Any) -> list[Any]:
    return [-gradient if call.op == "negative" else gradient]


def _cast(call: nodes.Call, gradient: Any) -> list[Any]:
    own = tensor_type_of(call.args[0]).dtype
    floats = dtypes.is_float(own) and dtypes.is_float(call["dtype"])
    return [make("cast", gradient, dtype=own) if floats else None]


def _abs(call: nodes.Call, gradient: Any) -> list[Any]:
    return [make("where", call.args[0] < 0.0, -gradient, gradient)]


def _relu(call: nodes.Call, gradient: Any) -> list[Any]:
    return [make("where", call.args[0] < 0.0, zeros_like(gradient), gradient)]


def _leaky_relu(call: nodes.Call, gradient: Any) -> list[Any]:
    return [make("where", call.args[0] < 0.0, gradient * float(call["alpha"]), gradient)]


def _clip(call: nodes.Call, gradient: Any) -> list[Any]:
    (x,) = call.args
    below = make("where", x < float(call["a_min"]), zeros_like(gradient), gradient)
    return [make("where", x > float(call["a_max"]), zeros_like(gradient), below)]


def _of_two(pair: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Rule:
    """The rule of a broadcasting operator of two arguments from ``pair(a, b, result, gradient)``, which
    returns both gradients before they are summed over broadcast axes."""

    def rule(call: nodes.Call, gradient: Any) -> list[Any]:
        a, b = call.args
        found = pair(a, b, call, gradient)
        return [summed_like(one, argument) for one, argument in zip(found, (a, b), strict=True)]

    return rule


def _larger(a: Any, b: Any, y: Any, g: Any) -> tuple[Any, Any]:
    """The gradients of a maximum; if both operands are equal, the first one gets the gradient."""
    none = zeros_like(g)
    return make("where", a < b, none, g), make("where", a < b, g, none)


def _smaller(a: Any, b: Any, y: Any, g: Any) -> tuple[Any, Any]:
    none = zeros_like(g)
    return make("where", a > b, none, g), make("where", a > b, g, none)


def _where(call: nodes.Call, gradient: Any) -> list[Any]:
    condition, x, y = call.args
    none = zeros_like(gradient)
    chosen = make("where", condition, gradient, none), make("where", condition, none, gradient)
    return [None, summed_like(chosen[0], x), summed_like(chosen[1], y)]


RULES: dict[str, Rule] = {
    **dict.fromkeys(_SLOPES, _by_slope),
    **dict.fromkeys(_FLAT, _flat),
    **dict.fromkeys(_SAME, _same),
    "abs": _abs,
    "add": _of_two(lambda a, b, y, g: (g, g)),
    "cast": _cast,
    "clip": _clip,
    "divide": _of_two(lambda a, b, y, g: (g / b, -(g * y) / b)),
    "maximum": _of_two(_larger),
    "minimum": _of_two(_smaller),
    "multiply": _of_two(lambda a, b, y, g: (g * b, g * a)),
    "nn.leaky_relu": _leaky_relu,
    "nn.relu": _relu,
    "power": _of_two(lambda a, b, y, g: (g * b * make("power", a, b - 1.0), g * y * make("log", a))),
    "subtract": _of_two(lambda a, b, y, g: (g, -g)),
    "where": _where,
}
