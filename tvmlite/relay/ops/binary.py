"""Element-wise operators of two tensors that broadcast as in numpy: arithmetic, bits, bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import TensorType, broadcast_shapes, same_shape
from tvmlite.relay.ops import common
from tvmlite.relay.ops.common import (
    along_axis_type,
    fault,
    intrinsic,
    one_dtype,
    quietly,
)
from tvmlite.relay.ops.register import Indices, broadcast
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor


def broadcast_type(call: Call, lhs: TensorType, rhs: TensorType) -> TensorType:
    """Two tensors of one dtype broadcast together."""
    dtype = one_dtype(call, lhs, rhs)
    return TensorType(broadcast_shapes(lhs.shape, rhs.shape, str(call.op), call.span), dtype)


def numbers_type(call: Call, lhs: TensorType, rhs: TensorType) -> TensorType:
    """``broadcast_type`` of numbers: bools have no arithmetic."""
    result = broadcast_type(call, lhs, rhs)
    if result.dtype == "bool":
        raise fault(call, "dtypes are bool, expected numbers")
    return result


def _bits_type(call: Call, lhs: TensorType, rhs: TensorType) -> TensorType:
    result = broadcast_type(call, lhs, rhs)
    if dtypes.is_float(result.dtype):
        raise fault(call, f"dtypes are {result.dtype}, expected integers or bools")
    return result


def _shift_type(call: Call, lhs: TensorType, rhs: TensorType) -> TensorType:
    result = broadcast_type(call, lhs, rhs)
    if not dtypes.is_int(result.dtype):
        raise fault(call, f"dtypes are {result.dtype}, expected integers")
    return result


def binary(lhs: Tensor, rhs: Tensor, formula: Callable[[Any, Any], Any], name: str) -> Tensor:
    """``formula`` of the elements of two tensors broadcast together."""
    shape = broadcast_shapes(lhs.shape, rhs.shape, name)

    def element(*i: e.Expr) -> Any:
        left = lhs[common.broadcast_indices(lhs.shape, shape, i)]
        right = rhs[common.broadcast_indices(rhs.shape, shape, i)]
        return formula(left, right)

    tag = "elemwise" if same_shape(lhs.shape, rhs.shape) else "broadcast"
    return compute(shape, element, name=name, tag=tag)


def register_binary(
    name: str,
    formula: Callable[[Any, Any], Any],
    reference: Callable[..., Any],
    infer: Callable[..., TensorType] = numbers_type,
    doc: str | None = None,
) -> None:
    """The operator ``name``: ``formula`` in te, ``reference`` in numpy, of one element of each side."""

    @operator(name, infer=infer, reference=reference, fuse=Fuse.BROADCAST, doc=doc)
    def apply(call: Call, lhs: Tensor, rhs: Tensor) -> Tensor:
        return binary(lhs, rhs, formula, name)


def _by_kind(ints: Callable[..., Any], floats: Callable[..., Any]) -> Callable[..., Any]:
    """A formula, or a function of arrays, that differs between integers and floats."""

    def choose(a: Any, b: Any) -> Any:
        return (floats if dtypes.is_float(dtypes.check(a.dtype)) else ints)(a, b)

    return choose


def _floor_quotient(a: e.Expr, b: e.Expr) -> e.Expr:
    return intrinsic("floor", e.Div(a, b))


def _float_floor_mod(a: e.Expr, b: e.Expr) -> e.Expr:
    remainder, zero = e.TruncMod(a, b), e.const(0, a.dtype)
    opposite = e.NotEqual(e.Less(remainder, zero), e.Less(b, zero))
    return e.Select(e.And(e.NotEqual(remainder, zero), opposite), remainder + b, remainder)


def _power(a: e.Expr, b: e.Expr) -> e.Expr:
    """Of integers, by way of float64: exact below 2**53 in magnitude, saturating beyond the type."""
    if dtypes.is_float(a.dtype):
        return intrinsic("pow", a, b)
    wide = e.Call("pow", (e.cast("float64", a), e.cast("float64", b)), "float64")
    return e.cast(a.dtype, wide)


def _integer_power_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return common.convert_numpy(np.power(a.astype(np.float64), b.astype(np.float64)), dtypes.check(a.dtype))


def _shift(name: str) -> Callable[[e.Expr, e.Expr], e.Expr]:
    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        return e.Call(name, (a, b), a.dtype)

    return formula


def _left_shift_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = dtypes.bits(dtypes.check(a.dtype))
    return np.where(b >= width, 0, np.left_shift(a, np.where(b >= width, 0, b).astype(b.dtype)))


def _right_shift_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = dtypes.bits(dtypes.check(a.dtype))
    most = np.right_shift(a, np.array(width - 1, a.dtype)) >> np.array(1, a.dtype)
    return np.where(b >= width, most, np.right_shift(a, np.where(b >= width, 0, b).astype(b.dtype)))


def _bitwise(name: str, of_bools: Callable[..., e.Expr]) -> Callable[[e.Expr, e.Expr], e.Expr]:
    def formula(a: e.Expr, b: e.Expr) -> e.Expr:
        return of_bools(a, b) if a.dtype == "bool" else e.Call(name, (a, b), a.dtype)

    return formula


_divide = _by_kind(common.truncating_divide, np.divide)
_floor_divide = _by_kind(common.floor_divide, lambda a, b: np.floor(np.divide(a, b)))
_mod = _by_kind(common.truncating_mod, np.fmod)
_floor_mod = _by_kind(common.floor_mod, np.mod)

register_binary("add", lambda a, b: a + b, quietly(np.add), doc="``lhs + rhs``.")
register_binary("subtract", lambda a, b: a - b, quietly(np.subtract), doc="``lhs - rhs``.")
register_binary("multiply", lambda a, b: a * b, quietly(np.multiply), doc="``lhs * rhs``.")
register_binary(
    "divide",
    _by_kind(e.TruncDiv, e.Div),
    quietly(_divide),
    doc="``lhs / rhs``; of integers rounded towards 0, by 0 it is 0.",
)
register_binary(
    "floor_divide",
    _by_kind(e.FloorDiv, _floor_quotient),
    quietly(_floor_divide),
    doc="``lhs / rhs`` rounded downwards; of integers by 0 it is 0.",
)
register_binary(
    "mod",
    e.TruncMod,
    quietly(_mod),
    doc="The remainder of ``divide``, with the sign of ``lhs``; of integers by 0 it is 0.",
)
register_binary(
    "floor_mod",
    _by_kind(e.FloorMod, _float_floor_mod),
    quietly(_floor_mod),
    doc="The remainder of ``floor_divide``, with the sign of ``rhs``; of integers by 0 it is 0.",
)
register_binary(
    "power",
    _power,
    quietly(_by_kind(_integer_power_numpy, np.power)),
    doc="``lhs`` to the power of ``rhs``; of integers exact below 2**53, and at most the greatest there is.",
)
register_binary(
    "maximum", e.Max, quietly(np.maximum), broadcast_type, doc="The greater of both; NaN if one is."
)
register_binary(
    "minimum", e.Min, quietly(np.minimum), broadcast_type, doc="The lesser of both; NaN if one is."
)
register_binary(
    "bitwise_and",
    _bitwise("bitwise_and", e.And),
    quietly(np.bitwise_and),
    _bits_type,
    doc="The bits that both have.",
)
register_binary(
    "bitwise_or",
    _bitwise("bitwise_or", e.Or),
    quietly(np.bitwise_or),
    _bits_type,
    doc="The bits that either has.",
)
register_binary(
    "bitwise_xor",
    _bitwise("bitwise_xor", e.NotEqual),
    quietly(np.bitwise_xor),
    _bits_type,
    doc="The bits that one has and the other has not.",
)
register_binary(
    "left_shift",
    _shift("shift_left"),
    quietly(_left_shift_numpy),
    _shift_type,
    doc="``lhs * 2**rhs``: bits beyond the width are lost.",
)
register_binary(
    "right_shift",
    _shift("shift_right"),
    quietly(_right_shift_numpy),
    _shift_type,
    doc="``lhs / 2**rhs`` rounded downwards.",
)


def _bias_numpy(call: Call, data: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return data + common.along_axis(bias, call["axis"], data.ndim)


@broadcast("nn.bias_add", infer=along_axis_type("bias"), reference=_bias_numpy, attrs={"axis": 1})
def bias_add(call: Call, i: Indices, data: Tensor, bias: Tensor) -> e.Expr:
    """``x + bias[c]``, ``c`` the index along ``axis``."""
    axis = call["axis"] % data.ndim
    return data[i] + bias[i[axis]]
