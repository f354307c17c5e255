"""Element-wise operators of one tensor: arithmetic, rounding, functions, casts, activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import (
    along_axis,
    along_axis_type,
    as_bool,
    convert_numpy,
    elementwise,
    fault,
    intrinsic,
    quietly,
    same_as_first,
)
from tvmlite.relay.ops.register import Indices, broadcast
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _floats_only(call: Call, data: TensorType) -> TensorType:
    if not dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data.dtype}, expected a float")
    return data


def _numbers_only(call: Call, data: TensorType) -> TensorType:
    if data.dtype == "bool":
        raise fault(call, "data is bool, expected numbers")
    return data


def _whole_only(call: Call, data: TensorType) -> TensorType:
    if dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data.dtype}, expected integers or bools")
    return data


def _bools(call: Call, data: TensorType) -> TensorType:
    return TensorType(data.shape, "bool")


def _register_float(name: str, reference: Callable[..., Any], doc: str) -> None:
    """An operator of floats that is the intrinsic of its own name."""

    @operator(name, infer=_floats_only, reference=quietly(reference), fuse=Fuse.ELEMWISE, doc=doc)
    def apply(call: Call, data: Tensor) -> Tensor:
        return elementwise(data, lambda x: intrinsic(name, x), name)


def _sigmoid_numpy(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def _rsqrt_numpy(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x.astype(np.float64))


def _erf_numpy(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))


for _name, _row in {
    "exp": (np.exp, "``e`` to the power of each element."),
    "log": (np.log, "The natural logarithm of each element."),
    "log2": (np.log2, "The logarithm of each element to the base 2."),
    "sqrt": (np.sqrt, "The square root of each element."),
    "rsqrt": (_rsqrt_numpy, "``1 / sqrt(x)``."),
    "sigmoid": (_sigmoid_numpy, "``1 / (1 + exp(-x))``."),
    "tanh": (np.tanh, "The hyperbolic tangent of each element."),
    "erf": (_erf_numpy, "The error function of each element."),
    "sin": (np.sin, "The sine of each element, in radians."),
    "cos": (np.cos, "The cosine of each element, in radians."),
    "tan": (np.tan, "The tangent of each element, in radians."),
    "asin": (np.arcsin, "The angle in radians whose sine each element is."),
    "acos": (np.arccos, "The angle in radians whose cosine each element is."),
    "atan": (np.arctan, "The angle in radians whose tangent each element is."),
    "sinh": (np.sinh, "The hyperbolic sine of each element."),
    "cosh": (np.cosh, "The hyperbolic cosine of each element."),
    "asinh": (np.arcsinh, "What each element is the hyperbolic sine of."),
    "acosh": (np.arccosh, "What each element is the hyperbolic cosine of."),
    "atanh": (np.arctanh, "What each element is the hyperbolic tangent of."),
}.items():
    _register_float(_name, *_row)


def _register_rounding(name: str, reference: Callable[..., Any], doc: str) -> None:
    """A rounding of floats; integers are round already."""

    @operator(name, infer=_numbers_only, reference=quietly(reference), fuse=Fuse.ELEMWISE, doc=doc)
    def apply(call: Call, data: Tensor) -> Tensor:
        if dtypes.is_float(data.dtype):
            return elementwise(data, lambda x: intrinsic(name, x), name)
        return elementwise(data, lambda x: x, name)


for _name, _row in {
    "floor": (np.floor, "The greatest whole number that is not above each element."),
    "ceil": (np.ceil, "The least whole number that is not below each element."),
    "round": (np.rint, "The nearest whole number; of two the even one (in TVM 0.11 that further from 0)."),
    "trunc": (np.trunc, "Each element without its fraction."),
}.items():
    _register_rounding(_name, *_row)


def _register_test(name: str, reference: Callable[..., Any], of_ints: bool, doc: str) -> None:
    """A question about floats; ``of_ints`` is its answer for everything else."""

    def answer(call: Call, data: np.ndarray) -> np.ndarray:
        floats = dtypes.is_float(dtypes.check(data.dtype))
        return np.asarray(reference(data)) if floats else np.full(data.shape, of_ints)

    @operator(name, infer=_bools, reference=answer, fuse=Fuse.ELEMWISE, doc=doc)
    def apply(call: Call, data: Tensor) -> Tensor:
        if not dtypes.is_float(data.dtype):
            return elementwise(data, lambda x: e.const(of_ints), name)
        return elementwise(data, lambda x: e.Call(name, (x,), "bool"), name)


_register_test("isnan", np.isnan, False, "Whether each element is NaN.")
_register_test("isinf", np.isinf, False, "Whether each element is an infinity.")
_register_test("isfinite", np.isfinite, True, "Whether each element is neither NaN nor an infinity.")


@operator("negative", infer=_numbers_only, reference=quietly(np.negative), fuse=Fuse.ELEMWISE)
def negative(call: Call, data: Tensor) -> Tensor:
    """``-x``; the zero's sign changes too."""
    zero = e.const(-0.0 if dtypes.is_float(data.dtype) else 0, data.dtype)
    return elementwise(data, lambda x: e.Sub(zero, x), "negative")


@operator("abs", infer=_numbers_only, reference=quietly(np.abs), fuse=Fuse.ELEMWISE)
def absolute(call: Call, data: Tensor) -> Tensor:
    """The magnitude; the least integer, which has none in its type, stays."""
    if dtypes.is_unsigned(data.dtype):
        return elementwise(data, lambda x: x, "abs")
    return elementwise(data, lambda x: e.Call("abs", (x,), x.dtype), "abs")


@operator("sign", infer=_numbers_only, reference=quietly(np.sign), fuse=Fuse.ELEMWISE)
def sign(call: Call, data: Tensor) -> Tensor:
    """-1, 0 or 1; NaN of NaN."""

    def formula(x: e.Expr) -> e.Expr:
        zero, one, minus = (e.const(v, x.dtype) for v in (0, 1, -1))
        middle = e.Select(e.Equal(x, zero), zero, x) if dtypes.is_float(x.dtype) else zero
        negative = middle if dtypes.is_unsigned(x.dtype) else e.Select(e.Less(x, zero), minus, middle)
        return e.Select(e.Less(zero, x), one, negative)

    return elementwise(data, formula, "sign")


def _logical_not_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.asarray(data == 0)


@operator("logical_not", infer=_bools, reference=_logical_not_numpy, fuse=Fuse.ELEMWISE)
def logical_not(call: Call, data: Tensor) -> Tensor:
    """Whether ``x`` is zero or false."""
    return elementwise(data, lambda x: e.Not(as_bool(x)), "logical_not")


@operator("bitwise_not", infer=_whole_only, reference=quietly(np.invert), fuse=Fuse.ELEMWISE)
def bitwise_not(call: Call, data: Tensor) -> Tensor:
    """Every bit the other way; of bools, the opposite."""
    return elementwise(data, lambda x: e.Not(x) if x.dtype == "bool" else ~x, "bitwise_not")


@operator("copy", infer=same_as_first, reference=quietly(np.copy), fuse=Fuse.ELEMWISE)
def copy(call: Call, data: Tensor) -> Tensor:
    """The same elements."""
    return elementwise(data, lambda x: x, "copy")


def _cast_type(call: Call, data: TensorType) -> TensorType:
    return TensorType(data.shape, dtypes.check(call["dtype"]))


def _cast_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return convert_numpy(data, call["dtype"])


@operator("cast", infer=_cast_type, reference=_cast_numpy, fuse=Fuse.ELEMWISE, attrs={"dtype": REQUIRED})
def cast(call: Call, data: Tensor) -> Tensor:
    """``x`` as ``dtype``: floats to ints truncate and saturate, NaN to 0; anything to bool is ``!= 0``."""
    dtype = dtypes.check(call["dtype"])
    return elementwise(data, lambda x: as_bool(x) if dtype == "bool" else e.cast(dtype, x), "cast")


def _reinterpret_type(call: Call, data: TensorType) -> TensorType:
    dtype = dtypes.check(call["dtype"])
    if "bool" in (data.dtype, dtype) or dtypes.bits(data.dtype) != dtypes.bits(dtype):
        raise fault(call, f"data is {data.dtype}, dtype is {dtype}, expected numbers of one width")
    return TensorType(data.shape, dtype)


def _reinterpret_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(data).view(dtypes.numpy_of(call["dtype"])).reshape(data.shape)


@operator(
    "reinterpret",
    infer=_reinterpret_type,
    reference=_reinterpret_numpy,
    fuse=Fuse.ELEMWISE,
    attrs={"dtype": REQUIRED},
)
def reinterpret(call: Call, data: Tensor) -> Tensor:
    """The same bits read as ``dtype``, which is as wide."""
    dtype = dtypes.check(call["dtype"])
    return elementwise(
        data, lambda x: x if x.dtype == dtype else e.Call("reinterpret", (x,), dtype), "reinterpret"
    )


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
        if not isinstance(call[name], (int, float)) or math.isnan(call[name]):
            raise fault(call, f"{name} is {call[name]}, expected a number")
    return _numbers_only(call, data)


def _clip_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    low, high = _clip_limits(call, dtypes.check(data.dtype))
    return np.minimum(np.maximum(data, np.array(low, data.dtype)), np.array(high, data.dtype))


@operator(
    "clip",
    infer=_clip_type,
    reference=_clip_numpy,
    fuse=Fuse.ELEMWISE,
    attrs={"a_min": REQUIRED, "a_max": REQUIRED},
)
def clip(call: Call, a: Tensor) -> Tensor:
    """``min(max(x, a_min), a_max)``; NaN stays. Of integers, the limits round inwards."""
    low, high = (e.const(v, a.dtype) for v in _clip_limits(call, a.dtype))
    return elementwise(a, lambda x: e.Min(e.Max(x, low), high), "clip")


def _relu_numpy(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, np.zeros((), x.dtype))


@operator("nn.relu", infer=_numbers_only, reference=quietly(_relu_numpy), fuse=Fuse.ELEMWISE)
def relu(call: Call, data: Tensor) -> Tensor:
    """``max(x, 0)``."""
    return elementwise(data, lambda x: e.Max(x, e.const(0, x.dtype)), "relu")


def _leaky_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(data > 0, data, data * np.array(call["alpha"], data.dtype))


@operator(
    "nn.leaky_relu", infer=_floats_only, reference=_leaky_numpy, fuse=Fuse.ELEMWISE, attrs={"alpha": 0.01}
)
def leaky_relu(call: Call, data: Tensor) -> Tensor:
    """``x`` where positive, else ``alpha * x``."""
    alpha = e.const(float(call["alpha"]), data.dtype)
    return elementwise(data, lambda x: e.Select(x > 0, x, x * alpha), "leaky_relu")


def _prelu_numpy(call: Call, data: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return np.where(data > 0, data, data * along_axis(alpha, call["axis"], data.ndim))


@broadcast("nn.prelu", infer=along_axis_type("alpha"), reference=_prelu_numpy, attrs={"axis": 1})
def prelu(call: Call, i: Indices, data: Tensor, alpha: Tensor) -> e.Expr:
    """``x`` where positive, else ``alpha[c] * x``, ``c`` the index along ``axis``."""
    axis = call["axis"] % data.ndim
    return e.Select(data[i] > 0, data[i], data[i] * alpha[i[axis]])
