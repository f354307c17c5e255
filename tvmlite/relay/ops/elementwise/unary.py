"""Element-wise operators of one tensor: arithmetic, rounding, functions, casts, activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import (
    FLOAT,
    NO_FLOATS,
    NUMBERS,
    Dtypes,
    along_axis,
    along_axis_type,
    as_bool,
    convert_numpy,
    data_type,
    fault,
    intrinsic,
    numpy_reference,
    same_as_first,
)
from tvmlite.relay.ops.register import Indices, broadcast, elemwise
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _bool_type(call: Call, data: TensorType) -> TensorType:
    return TensorType(data.shape, "bool")


def _register_function(
    name: str, reference: Callable[..., Any], doc: str, wanted: Dtypes, rounding: Rounding
) -> None:
    """Register an operator that calls the intrinsic ``name``; integers, if accepted, are unchanged."""

    @elemwise(name, infer=data_type(wanted), reference=numpy_reference(reference), doc=doc, rounding=rounding)
    def apply(call: Call, i: Indices, data: Tensor) -> e.Expr:
        return intrinsic(name, data[i]) if dtypes.is_float(data.dtype) else data[i]


def wide_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with its arrays converted to float64."""
    return lambda *arrays: function(*(one.astype(np.float64) for one in arrays))


erf_numpy = wide_numpy(np.vectorize(math.erf, otypes=[np.float64]))

for _name, _row in {
    "exp": (np.exp, "``e`` to the power of each element."),
    "log": (np.log, "The natural logarithm of each element."),
    "log2": (np.log2, "The logarithm of each element to the base 2."),
    "sqrt": (np.sqrt, "The square root of each element."),
    "rsqrt": (wide_numpy(lambda x: 1 / np.sqrt(x)), "``1 / sqrt(x)``."),
    "sigmoid": (wide_numpy(lambda x: 1 / (1 + np.exp(-x))), "``1 / (1 + exp(-x))``."),
    "tanh": (np.tanh, "The hyperbolic tangent of each element."),
    "erf": (erf_numpy, "The error function of each element."),
    "sin": (np.sin, "The sine of each element, in radians."),
    "cos": (np.cos, "The cosine of each element, in radians."),
    "tan": (np.tan, "The tangent of each element, in radians."),
    "asin": (np.arcsin, "The arcsine of each element, in radians."),
    "acos": (np.arccos, "The arccosine of each element, in radians."),
    "atan": (np.arctan, "The arctangent of each element, in radians."),
    "sinh": (np.sinh, "The hyperbolic sine of each element."),
    "cosh": (np.cosh, "The hyperbolic cosine of each element."),
    "asinh": (np.arcsinh, "The inverse hyperbolic sine of each element."),
    "acosh": (np.arccosh, "The inverse hyperbolic cosine of each element."),
    "atanh": (np.arctanh, "The inverse hyperbolic tangent of each element."),
}.items():
    _register_function(
        _name, *_row, wanted=FLOAT, rounding=Rounding.ONCE if _name == "sqrt" else Rounding.MANY
    )

for _name, _row in {
    "floor": (np.floor, "Each element rounded down to a whole number."),
    "ceil": (np.ceil, "Each element rounded up to a whole number."),
    "round": (np.rint, "Each element rounded to nearest, ties to even (in TVM 0.11 away from 0)."),
    "trunc": (np.trunc, "Each element rounded towards 0 to a whole number."),
}.items():
    _register_function(_name, *_row, wanted=NUMBERS, rounding=Rounding.STEPS)


@elemwise("log10", infer=data_type(FLOAT), reference=numpy_reference(np.log10))
def log10(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """The logarithm of each element to the base 10."""
    wide = "float64" if data.dtype == "float64" else "float32"
    found = e.Call("log", (e.cast(wide, data[i]),), wide) * e.const(1 / math.log(10), wide)
    return e.cast(data.dtype, found)


def _register_predicate(name: str, reference: Callable[..., Any], for_other_dtypes: bool, doc: str) -> None:
    """Register a predicate of floats; ``for_other_dtypes`` is its result for all other dtypes."""

    def answer(call: Call, data: np.ndarray) -> np.ndarray:
        floats = dtypes.is_float(dtypes.check(data.dtype))
        return np.asarray(reference(data)) if floats else np.full(data.shape, for_other_dtypes)

    @elemwise(name, infer=_bool_type, reference=answer, doc=doc)
    def apply(call: Call, i: Indices, data: Tensor) -> e.Expr:
        return e.Call(name, (data[i],), "bool") if dtypes.is_float(data.dtype) else e.const(for_other_dtypes)


_register_predicate("isnan", np.isnan, False, "Whether each element is NaN.")
_register_predicate("isinf", np.isinf, False, "Whether each element is an infinity.")
_register_predicate("isfinite", np.isfinite, True, "Whether each element is neither NaN nor an infinity.")


@elemwise(
    "negative",
    rounding=Rounding.ONCE,
    infer=data_type(NUMBERS),
    reference=numpy_reference(np.negative),
    homogeneous=True,
)
def negative(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``-x``, with the sign of zero changed as well."""
    return e.Sub(e.const(-0.0 if dtypes.is_float(data.dtype) else 0, data.dtype), data[i])


@elemwise(
    "abs",
    rounding=Rounding.ONCE,
    infer=data_type(NUMBERS),
    reference=numpy_reference(np.abs),
    homogeneous=True,
)
def absolute(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``|x|``; the least integer of the dtype, whose magnitude it cannot represent, is unchanged."""
    return data[i] if dtypes.is_unsigned(data.dtype) else e.Call("abs", (data[i],), data.dtype)


@elemwise("sign", rounding=Rounding.ONCE, infer=data_type(NUMBERS), reference=numpy_reference(np.sign))
def sign(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """The sign: -1, 0 or 1; NaN for NaN."""
    x, dtype = data[i], data.dtype
    zero, one, minus = (e.const(v, dtype) for v in (0, 1, -1))
    middle = e.Select(e.Equal(x, zero), zero, x) if dtypes.is_float(dtype) else zero
    below = middle if dtypes.is_unsigned(dtype) else e.Select(e.Less(x, zero), minus, middle)
    return e.Select(e.Less(zero, x), one, below)


def _logical_not_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.asarray(data == 0)


@elemwise("logical_not", infer=_bool_type, reference=_logical_not_numpy)
def logical_not(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Whether ``x`` is zero or false."""
    return e.Not(as_bool(data[i]))


@elemwise("bitwise_not", infer=data_type(NO_FLOATS), reference=numpy_reference(np.invert))
def bitwise_not(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """The inverse of each bit; for bools, the negation."""
    return e.Not(data[i]) if data.dtype == "bool" else ~data[i]


@elemwise("copy", rounding=Rounding.NEVER, infer=same_as_first, reference=numpy_reference(np.copy))
def copy(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """A copy of ``data``."""
    return data[i]


def _cast_type(call: Call, data: TensorType) -> TensorType:
    return TensorType(data.shape, dtypes.check(call["dtype"]))


def _cast_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return convert_numpy(data, call["dtype"])


@elemwise("cast", rounding=Rounding.ONCE, infer=_cast_type, reference=_cast_numpy, attrs={"dtype": REQUIRED})
def cast(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Convert to ``dtype``: floats truncate and saturate to integers, NaN to 0; bool is ``x != 0``."""
    dtype = dtypes.check(call["dtype"])
    return as_bool(data[i]) if dtype == "bool" else e.cast(dtype, data[i])


def _reinterpret_type(call: Call, data: TensorType) -> TensorType:
    dtype = dtypes.check(call["dtype"])
    if "bool" in (data.dtype, dtype) or dtypes.bits(data.dtype) != dtypes.bits(dtype):
        raise fault(call, f"data is {data.dtype}, dtype is {dtype}, expected numbers of one width")
    return TensorType(data.shape, dtype)


def _reinterpret_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(data).view(dtypes.numpy_of(call["dtype"])).reshape(data.shape)


@elemwise(
    "reinterpret",
    rounding=Rounding.ONCE,
    infer=_reinterpret_type,
    reference=_reinterpret_numpy,
    attrs={"dtype": REQUIRED},
)
def reinterpret(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """The same bits as ``dtype``, which must have the same width; bool is an error."""
    dtype = dtypes.check(call["dtype"])
    return data[i] if data.dtype == dtype else e.Call("reinterpret", (data[i],), dtype)


def _clip_limits(call: Call, dtype: str) -> tuple[int | float, int | float]:
    low, high = call["a_min"], call["a_max"]
    if dtypes.is_float(dtype):
        return float(low), float(high)
    least, most = dtypes.limits(dtype)
    low = least if low <= least else most if low > most else math.ceil(low)
    high = most if high >= most else least if high < least else math.floor(high)
    return low, high


def _clip_type(call: Call, data: TensorType) -> TensorType:
    for name in ("a_min", "a_max"):
        if math.isnan(call[name]):
            raise fault(call, f"{name} is {call[name]}, expected a number")
    return data_type(NUMBERS)(call, data)


def _clip_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    low, high = _clip_limits(call, dtypes.check(data.dtype))
    return np.minimum(np.maximum(data, np.array(low, data.dtype)), np.array(high, data.dtype))


@elemwise(
    "clip",
    rounding=Rounding.ONCE,
    infer=_clip_type,
    reference=_clip_numpy,
    attrs={"a_min": REQUIRED, "a_max": REQUIRED},
)
def clip(call: Call, i: Indices, a: Tensor) -> e.Expr:
    """``min(max(x, a_min), a_max)``; NaN stays NaN. For integers, the limits are rounded inwards."""
    low, high = (e.const(v, a.dtype) for v in _clip_limits(call, a.dtype))
    return e.Min(e.Max(a[i], low), high)


def _relu_numpy(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, np.zeros((), x.dtype))


@elemwise(
    "nn.relu",
    rounding=Rounding.ONCE,
    infer=data_type(NUMBERS),
    reference=numpy_reference(_relu_numpy),
    homogeneous=True,
)
def relu(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``max(x, 0)``."""
    return e.Max(data[i], e.const(0, data.dtype))


def _leaky_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(data > 0, data, data * np.array(call["alpha"], data.dtype))


@elemwise(
    "nn.leaky_relu",
    rounding=Rounding.ONCE,
    infer=data_type(FLOAT),
    reference=_leaky_numpy,
    attrs={"alpha": 0.01},
    homogeneous=True,
)
def leaky_relu(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``x`` where it is positive, else ``alpha * x``."""
    x = data[i]
    return e.Select(x > 0, x, x * e.const(float(call["alpha"]), data.dtype))


def _prelu_numpy(call: Call, data: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return np.where(data > 0, data, data * along_axis(alpha, call["axis"], data.ndim))


@broadcast(
    "nn.prelu",
    rounding=Rounding.ONCE,
    infer=along_axis_type("alpha"),
    reference=_prelu_numpy,
    attrs={"axis": 1},
)
def prelu(call: Call, i: Indices, data: Tensor, alpha: Tensor) -> e.Expr:
    """``x`` where it is positive, else ``alpha[c] * x``, where ``c`` is the index along ``axis``."""
    return e.Select(data[i] > 0, data[i], data[i] * alpha[i[call["axis"] % data.ndim]])
