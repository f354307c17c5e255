"""Bounds of the results of a quantized graph: the least and the greatest value of each element, in float64.

Compilers may round a float32 differently from the graph: scales are folded into one, and sums of floats
become sums of integers. Each operator therefore widens its bounds by a few roundings of its terms. A
quantized value is one integer nearly everywhere, and either of two near a tie. So integers are compared
exactly, except where floats decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, Tuple
from tvmlite.relay.ir.types import Binding, evaluate_attrs

ROUNDING_ERROR = 2.0**-21
"""The error of an operator's result, relative to its terms: four roundings of float32."""

SUM_ERROR = 2.0**-20
"""The error of sums and products of many terms, relative to the sum of their magnitudes."""

TRANSCENDENTAL_ERROR = 2.0**-19
"""The error of transcendental functions, which are polynomials in float32 with a few ULPs of error."""

GELU_MINIMUM = -0.7517915
"""Where gelu has its minimum: it decreases before and increases after."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of each element: at least ``low``, at most ``high``; floats are in float64."""

    low: np.ndarray
    high: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        """The middle between both bounds."""
        return (self.low + self.high) / 2

    @property
    def radius(self) -> np.ndarray:
        """The distance of both bounds from the middle."""
        return (self.high - self.low) / 2

    @property
    def largest(self) -> np.ndarray:
        """The greatest magnitude of each element."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def wider(self, by: np.ndarray | float) -> Bounds:
        """Return bounds that are ``by`` lower and higher."""
        return Bounds(self.low - by, self.high + by)


Reference: TypeAlias = Callable[..., Any]
Rule: TypeAlias = Callable[..., Bounds]


def bounds(module: Module, arguments: Sequence[np.ndarray], binding: Binding) -> list[Bounds]:
    """Return the bounds of each result of ``module``'s main on ``arguments``.

    ``binding`` gives values to named dimensions.
    """
    main = module.main
    known: dict[Expr, Any] = {p: _exact(a) for p, a in zip(main.params, arguments, strict=True)}
    for node in postorder(main.body):
        assert isinstance(node, Expr)
        if node not in known:
            known[node] = _bounds_of(node, known, binding)
    made = known[main.body]
    return made if isinstance(made, list) else [made]


def _exact(value: np.ndarray) -> Bounds:
    wide = value.astype(np.float64) if value.dtype.kind == "f" else value
    return Bounds(wide, wide)


def _bounds_of(node: Expr, known: dict[Expr, Any], binding: Binding) -> Any:
    match node:
        case Constant(data):
            return _exact(data)
        case Tuple(fields):
            return [known[one] for one in fields]
    assert isinstance(node, Call), node
    row, attrs = operators.get(str(node.op)), evaluate_attrs(node.attrs, binding)
    concrete = node if attrs is node.attrs else dataclasses.replace(node, attrs=attrs)

    def reference(*arrays: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(row.reference(concrete, *arrays))

    given = known[node.args[0]] if row.num_inputs is None else [known[one] for one in node.args]
    return RULES.get(row.name, _monotone)(concrete, reference, *given)


def _monotone(call: Call, reference: Reference, *given: Bounds) -> Bounds:
    """An operator that is non-decreasing in each argument: one that selects, joins, limits or averages."""
    low, high = reference(*(one.low for one in given)), reference(*(one.high for one in given))
    if low.dtype.kind != "f":
        return Bounds(low, high)
    return _rounded(Bounds(low, high))


def _rounded(made: Bounds) -> Bounds:
    return made.wider(made.largest * ROUNDING_ERROR)


def _transcendental(call: Call, reference: Reference, data: Bounds) -> Bounds:
    made = Bounds(reference(data.low), reference(data.high))
    return made.wider(TRANSCENDENTAL_ERROR * np.maximum(made.largest, 1e-2))


def _gelu(call: Call, reference: Reference, data: Bounds) -> Bounds:
    ends = reference(data.low), reference(data.high)
    least = reference(np.clip(GELU_MINIMUM, data.low, data.high))
    made = Bounds(np.minimum(least, np.minimum(*ends)), np.maximum(*ends))
    return made.wider(TRANSCENDENTAL_ERROR * np.maximum(data.largest, 1e-2))


def _added(call: Call, reference: Reference, one: Bounds, other: Bounds) -> Bounds:
    made = Bounds(reference(one.low, other.low), reference(one.high, other.high))
    return made.wider(_magnitudes(one, other) * ROUNDING_ERROR)


def _subtracted(call: Call, reference: Reference, one: Bounds, other: Bounds) -> Bounds:
    made = Bounds(reference(one.low, other.high), reference(one.high, other.low))
    return made.wider(_magnitudes(one, other) * ROUNDING_ERROR)


def _magnitudes(one: Bounds, other: Bounds) -> np.ndarray:
    return one.largest + other.largest


def _bias_added(call: Call, reference: Reference, one: Bounds, other: Bounds) -> Bounds:
    made = Bounds(reference(one.low, other.low), reference(one.high, other.high))
    return made.wider(reference(one.largest, other.largest) * ROUNDING_ERROR)


def _multiplied(call: Call, reference: Reference, one: Bounds, other: Bounds) -> Bounds:
    ends = [reference(a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
    return _rounded(Bounds(np.minimum.reduce(ends), np.maximum.reduce(ends)))


def _negated(call: Call, reference: Reference, data: Bounds) -> Bounds:
    return Bounds(reference(data.high), reference(data.low))


def _magnitude(call: Call, reference: Reference, data: Bounds) -> Bounds:
    inside = np.clip(0.0, data.low, data.high)
    return Bounds(reference(inside), data.largest)


def _product(call: Call, reference: Reference, one: Bounds, other: Bounds) -> Bounds:
    """A sum of products of terms of both: a matrix product or a convolution."""
    middle = reference(one.middle, other.middle)
    radius = reference(one.largest, other.radius) + reference(one.radius, other.largest)
    terms = reference(one.largest, other.largest)
    return Bounds(middle, middle).wider(radius + SUM_ERROR * terms)


def _summed(call: Call, reference: Reference, data: Bounds) -> Bounds:
    made = Bounds(reference(data.low), reference(data.high))
    return made.wider(SUM_ERROR * reference(data.largest))


def _softmax(call: Call, reference: Reference, data: Bounds) -> Bounds:
    """Each element increases with its own operand and decreases with the others."""
    greatest = data.high.max(axis=call["axis"], keepdims=True)
    low, high = np.exp(data.low - greatest), np.exp(data.high - greatest)
    lows, highs = (x.sum(axis=call["axis"], keepdims=True) for x in (low, high))
    made = Bounds(low / (highs - high + low), high / (lows - low + high))
    return made.wider(TRANSCENDENTAL_ERROR * np.maximum(made.high, 1e-6))


def _quantized(call: Call, reference: Reference, data: Bounds, scale: Bounds, zero: Bounds) -> Bounds:
    """Quantize; where the quotient is a tie within rounding errors, the bounds are both integers."""
    step, point = (_per_axis(call, one.low.astype(np.float64), data.low.ndim) for one in (scale, zero))
    low, high = data.low / step, data.high / step
    slack = np.maximum(np.abs(low), np.abs(high)) * ROUNDING_ERROR
    least, most = dtypes.limits(call["out_dtype"])
    ends = np.ceil(low - slack - 0.5) + point, np.floor(high + slack + 0.5) + point
    return Bounds(*(np.clip(end, least, most).astype(np.int64) for end in ends))


def _dequantized(call: Call, reference: Reference, codes: Bounds, scale: Bounds, zero: Bounds) -> Bounds:
    step, point = (_per_axis(call, one.low.astype(np.float64), codes.low.ndim) for one in (scale, zero))
    return _rounded(Bounds((codes.low - point) * step, (codes.high - point) * step))


def _per_axis(call: Call, parameter: np.ndarray, rank: int) -> np.ndarray:
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter.reshape(-1, *(1,) * (rank - 1 - call["axis"] % rank))


PRODUCTS = (
    *("nn.dense", "nn.matmul", "nn.batch_matmul"),
    *("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose"),
)

RULES: dict[str, Rule] = {
    "add": _added,
    "nn.bias_add": _bias_added,
    "subtract": _subtracted,
    "multiply": _multiplied,
    "negative": _negated,
    "abs": _magnitude,
    "nn.gelu": _gelu,
    "nn.softmax": _softmax,
    "qnn.quantize": _quantized,
    "qnn.dequantize": _dequantized,
    **dict.fromkeys(("sigmoid", "tanh", "exp"), _transcendental),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys(("mean", "sum", "nn.global_avg_pool2d", "image.resize2d"), _summed),
    **dict.fromkeys((f"nn.avg_pool{rank}d" for rank in (1, 2, 3)), _summed),
}
"""The rules of operators that may decrease, or whose terms may be larger than the result."""
