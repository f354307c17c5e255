"""Quantized add, multiply, lookup-table functions, leaky ReLU, softmax and mean pooling, as in TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import broadcast_shapes, tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import REQUIRED, make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import Dtypes, axis_of, expect, fault, one_dtype, truncating_divide
from tvmlite.relay.ops.convolutions import pool
from tvmlite.relay.ops.elementwise.unary import erf_numpy
from tvmlite.relay.ops.quantized.parameters import (
    check_one_in_one_out,
    check_scale,
    check_zero_point,
    extent_along,
)
from tvmlite.relay.ops.quantized.requantize import fixed_point_numpy, multiplier_and_shift, requantized_numpy
from tvmlite.relay.ops.written_out import (
    binary,
    cast,
    minus,
    number,
    quantized,
    requantized,
    reshaped,
    saturated,
)

_CODES: Dtypes = "int8, uint8, int16 or int32", lambda dtype: dtype in ("int8", "uint8", "int16", "int32")
"""The dtypes that are added and multiplied: quantized integers, and sums of their products."""

BINARY_ATTRS = {"lhs_axis": -1, "rhs_axis": -1}


def binary_type(call: Call, lhs: TensorType, rhs: TensorType, *parameters: TensorType) -> TensorType:
    """The type relation: both operands have one dtype and broadcast.

    Their scales and zero points may be vectors along ``lhs_axis`` and ``rhs_axis``.
    """
    expect(call, "lhs is", lhs.dtype, _CODES)
    dtype = one_dtype(call, lhs, rhs)
    for n, (side, one) in enumerate((("lhs", lhs), ("rhs", rhs))):
        extent = extent_along(call, one, parameters[2 * n : 2 * n + 2], f"{side}_axis")
        check_scale(call, f"{side}_scale", parameters[2 * n], extent)
        check_zero_point(call, f"{side}_zero_point", parameters[2 * n + 1], dtype, extent)
    check_scale(call, "output_scale", parameters[4])
    check_zero_point(call, "output_zero_point", parameters[5], dtype)
    return TensorType(broadcast_shapes(lhs.shape, rhs.shape, str(call.op), call.span), dtype)


def _sum_numpy(sign: int) -> Callable[..., np.ndarray]:
    def reference(call: Call, lhs: np.ndarray, rhs: np.ndarray, *p: np.ndarray) -> np.ndarray:
        left = requantized_numpy(lhs, (*p[:2], *p[4:]), call["lhs_axis"], "int32")
        right = requantized_numpy(rhs, (*p[2:4], *p[4:]), call["rhs_axis"], "int32")
        limits, zero = np.iinfo(lhs.dtype), p[5].reshape(())
        return np.clip(left + sign * (right - zero), limits.min, limits.max).astype(lhs.dtype)

    return reference


def _sum(call: Call, operands: tuple[Expr, Expr], parameters: tuple[Expr, ...], name: str) -> Expr:
    """Add or subtract both, requantized to the result in int32; the zero point counts once."""
    lhs, rhs = operands
    left = requantized(lhs, (*parameters[:2], *parameters[4:]), axis=call["lhs_axis"])
    right = requantized(rhs, (*parameters[2:4], *parameters[4:]), axis=call["rhs_axis"])
    return saturated(binary(name, left, minus(right, _scalar(parameters[5]))), tensor_type_of(lhs).dtype)


def _scalar(value: Expr) -> Expr:
    """Return ``value`` as a scalar; it may be a vector of one element."""
    return reshaped(value, ()) if tensor_type_of(value).shape else value


@quantized("qnn.add", infer=binary_type, reference=_sum_numpy(1), attrs=BINARY_ATTRS)
def add(
    call: Call,
    lhs: Expr,
    rhs: Expr,
    lhs_scale: Expr,
    lhs_zero_point: Expr,
    rhs_scale: Expr,
    rhs_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Expr:
    """Add the real values: requantize each operand to the result's scale, then add them."""
    parameters = lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point
    return _sum(call, (lhs, rhs), parameters, "add")


@quantized("qnn.subtract", infer=binary_type, reference=_sum_numpy(-1), attrs=BINARY_ATTRS)
def subtract(
    call: Call,
    lhs: Expr,
    rhs: Expr,
    lhs_scale: Expr,
    lhs_zero_point: Expr,
    rhs_scale: Expr,
    rhs_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Expr:
    """Subtract the real values, as ``qnn.add`` adds them."""
    parameters = lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point
    return _sum(call, (lhs, rhs), parameters, "subtract")


def _mul_type(call: Call, lhs: TensorType, rhs: TensorType, *parameters: TensorType) -> TensorType:
    made = binary_type(call, lhs, rhs, *parameters)
    for name, one in zip(("lhs_scale", "rhs_scale"), (parameters[0], parameters[2]), strict=True):
        check_scale(call, name, one)
    return made


def _mul_numpy(call: Call, lhs: np.ndarray, rhs: np.ndarray, *p: np.ndarray) -> np.ndarray:
    left, right = (x.astype(np.int32) - z.reshape(()) for x, z in ((lhs, p[1]), (rhs, p[3])))
    parameters = (p[0] * p[2], np.zeros((), np.int32), p[4], p[5])
    return requantized_numpy(np.asarray(left * right), parameters, -1, lhs.dtype.name)


@quantized("qnn.mul", infer=_mul_type, reference=_mul_numpy, attrs=BINARY_ATTRS)
def mul(
    call: Call,
    lhs: Expr,
    rhs: Expr,
    lhs_scale: Expr,
    lhs_zero_point: Expr,
    rhs_scale: Expr,
    rhs_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Expr:
    """Multiply the real values: multiply the integers less their zero points, then requantize."""
    left, right = (
        minus(cast(x, "int32"), _scalar(z)) for x, z in ((lhs, lhs_zero_point), (rhs, rhs_zero_point))
    )
    scale = binary("multiply", _scalar(lhs_scale), _scalar(rhs_scale))
    parameters = scale, number(0), output_scale, output_zero_point
    return requantized(binary("multiply", left, right), parameters, tensor_type_of(lhs).dtype)


# Functions by lookup table

UNARY_NAMES = ("scale", "zero_point", "output_scale", "output_zero_point")


def _unary_type(call: Call, x: TensorType, *parameters: TensorType) -> TensorType:
    check_one_in_one_out(call, UNARY_NAMES, x, *parameters)
    return x


def _hardswish(x: np.ndarray) -> np.ndarray:
    return x * np.clip(x + 3, 0, 6) / 6


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "abs": np.abs,
    "erf": erf_numpy,
    "exp": np.exp,
    "hardswish": _hardswish,
    "log": np.log,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}
"""The functions that TVM has, in float32 except for erf."""


def _lookup_table(name: str, dtype: str, parameters: tuple[np.ndarray, ...]) -> np.ndarray:
    """The lookup table: the result for each 8-bit integer, from the least to the greatest."""
    scale, zero, out_scale, out_zero = (p.reshape(()) for p in parameters)
    limits = np.iinfo(dtype)
    codes = np.arange(limits.min, limits.max + 1, dtype=np.int32)
    with np.errstate(all="ignore"):
        reals = np.asarray(FUNCTIONS[name]((codes - zero).astype(np.float32) * scale), np.float32)
        steps = np.rint(reals / out_scale) + out_zero.astype(np.float32)
    steps = np.where(np.isnan(steps), np.float32(0), steps)
    return np.clip(steps, limits.min, limits.max).astype(dtype)


def _register_function(name: str) -> None:
    def reference(call: Call, x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        return _lookup_table(name, x.dtype.name, parameters)[x.astype(np.int32) - np.iinfo(x.dtype).min]

    def rule(
        call: Call,
        x: Expr,
        scale: Expr,
        zero_point: Expr,
        output_scale: Expr,
        output_zero_point: Expr,
    ) -> Expr:
        parameters, dtype = (scale, zero_point, output_scale, output_zero_point), tensor_type_of(x).dtype
        known = tuple(one.data for one in parameters if isinstance(one, Constant))
        if len(known) == len(parameters):
            index = minus(cast(x, "int32"), number(int(np.iinfo(dtype).min)))
            return make(
                "take", Constant(_lookup_table(name, dtype, known), call.span), index, axis=0, span=call.span
            )
        real = make("qnn.dequantize", x, scale, zero_point, span=call.span)
        return make(
            "qnn.quantize",
            _float_function(name, real),
            output_scale,
            output_zero_point,
            out_dtype=dtype,
            span=call.span,
        )

    rule.__doc__ = f"``{name}`` of real values; a lookup table if scales and zero points are constant."
    quantized(f"qnn.{name}", infer=_unary_type, reference=reference)(rule)


def _float_function(name: str, real: Expr) -> Expr:
    if name != "hardswish":
        return make(name, real)
    moved = make("clip", binary("add", real, number(3, "float32")), a_min=0.0, a_max=6.0)
    return binary("divide", binary("multiply", real, moved), number(6, "float32"))


for _name in FUNCTIONS:
    _register_function(_name)


# Leaky ReLU and softmax

INPUT_NAMES = ("input_scale", "input_zero_point", "output_scale", "output_zero_point")


def _leaky_type(call: Call, x: TensorType, *parameters: TensorType) -> TensorType:
    check_one_in_one_out(call, INPUT_NAMES, x, *parameters)
    if not 0 <= call["alpha"] <= 1:
        raise fault(call, f"alpha is {call['alpha']}, expected 0 to 1")
    return x


def _leaky_numpy(call: Call, x: np.ndarray, *p: np.ndarray) -> np.ndarray:
    moved, alpha = requantized_numpy(x, p, -1, "int32"), call["alpha"]
    below = _scaled_numpy(moved, alpha) + _scaled_numpy(p[3].reshape(()), 1 - alpha)
    limits = np.iinfo(x.dtype)
    return np.clip(np.where(x < p[1].reshape(()), below, moved), limits.min, limits.max).astype(x.dtype)


def _scaled_numpy(x: np.ndarray, factor: float) -> np.ndarray:
    return fixed_point_numpy(x, *multiplier_and_shift(np.asarray(factor)))


@quantized("qnn.leaky_relu", infer=_leaky_type, reference=_leaky_numpy, attrs={"alpha": REQUIRED})
def leaky_relu(
    call: Call,
    x: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Expr:
    """Requantize, then multiply negative values by ``alpha`` (0 to 1), in fixed point."""
    moved = requantized(x, (input_scale, input_zero_point, output_scale, output_zero_point))
    zero, alpha = _scalar(output_zero_point), call["alpha"]
    below = binary("add", fixed_point(moved, alpha), fixed_point(zero, 1 - alpha))
    negative = make("less", cast(x, "int32"), _scalar(input_zero_point), span=call.span)
    return saturated(make("where", negative, below, moved, span=call.span), tensor_type_of(x).dtype)


def fixed_point(value: Expr, factor: float) -> Expr:
    """Multiply ``value`` (int32) by ``factor`` (0 to 1) in fixed point; halves are rounded upwards."""
    multiplier, shift = (int(x) for x in multiplier_and_shift(np.asarray(factor)))
    left, right = max(shift, 0), 31 - min(shift, 0)
    wide = binary("multiply", cast(value, "int64"), number(multiplier << left, "int64"))
    half = binary("add", wide, number(1 << (right - 1), "int64"))
    return cast(binary("right_shift", half, number(right, "int64")), "int32")


def _softmax_type(call: Call, x: TensorType, *parameters: TensorType) -> TensorType:
    expect(call, "data is", x.dtype, ("int8", lambda dtype: dtype == "int8"))
    axis_of(call, call["axis"], x.ndim)
    return _unary_type(call, x, *parameters)


def _softmax_numpy(call: Call, x: np.ndarray, *p: np.ndarray) -> np.ndarray:
    axis = call["axis"]
    unit = np.clip(np.floor(np.float32(1) / p[0].reshape(()) + np.float32(0.5)), 1, 2**30).astype(np.int32)
    data = x.astype(np.int32) - p[1].reshape(())
    moved = data - data.max(axis, keepdims=True)
    powers = moved + (moved >> 1) - (moved >> 4)
    whole = truncating_divide(powers, np.full_like(powers, -unit))
    mantissa = ((powers + whole * unit) >> 1) + unit
    left, right = np.clip(8 - whole, 0, 31), np.clip(whole - 8, 0, 31)
    exps = np.left_shift(mantissa, left) >> right
    total = np.broadcast_to(exps.sum(axis, keepdims=True, dtype=np.int32), exps.shape)
    share = truncating_divide(np.full_like(exps, 1 << 30), total)
    codes = (share * exps) >> 23
    one = np.float32(1 / 128).reshape(()), np.zeros((), np.int32)
    return requantized_numpy(codes, (*map(np.asarray, one), p[2], p[3]), -1, "int8")


@quantized("qnn.softmax", infer=_softmax_type, reference=_softmax_numpy, attrs={"axis": -1})
def softmax(
    call: Call, x: Expr, scale: Expr, zero_point: Expr, output_scale: Expr, output_zero_point: Expr
) -> Expr:
    """Softmax of int8 data in integer arithmetic alone (Li and Gu, I-ViT, 2022: shiftmax).

    Powers of 2 are shifts: to the left up to 8 powers below the maximum, to the right from there on.
    """
    axis, span = call["axis"], call.span
    unit = binary("divide", number(1, "float32"), _scalar(scale))
    unit = make("floor", binary("add", unit, number(0.5, "float32")), span=span)
    unit = cast(make("clip", unit, a_min=1.0, a_max=float(2**30), span=span), "int32")
    data = minus(cast(x, "int32"), _scalar(zero_point))
    moved = binary("subtract", data, make("max", data, axis=(axis,), keepdims=True, span=span))
    powers = binary("subtract", binary("add", moved, _shift_right(moved, 1)), _shift_right(moved, 4))
    whole = binary("divide", powers, make("negative", unit, span=span))
    rest = binary("add", powers, binary("multiply", whole, unit))
    mantissa = binary("add", _shift_right(rest, 1), unit)
    left, right = (
        make("clip", binary("subtract", *pair), a_min=0, a_max=31, span=span)
        for pair in ((number(8), whole), (whole, number(8)))
    )
    exps = binary("right_shift", binary("left_shift", mantissa, left), right)
    total = make("sum", exps, axis=(axis,), keepdims=True, span=span)
    share = binary("multiply", binary("divide", number(1 << 30), total), exps)
    one = number(1 / 128, "float32"), number(0)
    return requantized(_shift_right(share, 23), (*one, output_scale, output_zero_point), "int8")


def _shift_right(value: Expr, by: int) -> Expr:
    return binary("right_shift", value, number(by))


# Mean pooling

LAYOUT_AXES = {"NHWC": ((0, 3, 1, 2), (0, 2, 3, 1)), "NCHW": ((0, 1, 2, 3), (0, 1, 2, 3))}
"""For each layout of the data: the transposition to channels-first, and back."""


def _pool_attrs(call: Call) -> dict[str, Any]:
    names = ("pool_size", "strides", "dilation", "padding", "ceil_mode", "count_include_pad")
    return {name: call[name] for name in names}


def _pool_type(call: Call, data: TensorType, *parameters: TensorType) -> TensorType:
    check_one_in_one_out(call, INPUT_NAMES, data, *parameters)
    windows.check_rank(call, "data", data, 4)
    to_nchw, from_nchw = _layout_axes(call)
    plain = make("nn.avg_pool2d", call, span=call.span, **_pool_attrs(call))
    made = pool.pool_type(2)(plain, TensorType(tuple(data.shape[k] for k in to_nchw), data.dtype))
    return TensorType(tuple(made.shape[k] for k in from_nchw), data.dtype)


def _layout_axes(call: Call) -> tuple[tuple[int, ...], tuple[int, ...]]:
    layout, out = call["layout"], call["out_layout"] or call["layout"]
    if layout not in LAYOUT_AXES or out != layout:
        raise fault(call, f"layout is {layout!r}, out_layout is {out!r}, expected one of NHWC and NCHW")
    return LAYOUT_AXES[layout]


def _pool_numpy(call: Call, data: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    to_nchw, from_nchw = _layout_axes(call)
    moved = requantized_numpy(data, parameters, -1, "int32").transpose(to_nchw)
    plain = make("nn.avg_pool2d", call, span=call.span, **_pool_attrs(call))
    made, limits = op.get("nn.avg_pool2d").reference(plain, moved), np.iinfo(data.dtype)
    return np.clip(made, limits.min, limits.max).astype(data.dtype).transpose(from_nchw)


@quantized(
    "qnn.avg_pool2d",
    infer=_pool_type,
    reference=_pool_numpy,
    attrs={
        "pool_size": REQUIRED,
        "strides": (1, 1),
        "padding": (0, 0),
        "dilation": (1, 1),
        "ceil_mode": False,
        "count_include_pad": True,
        "layout": "NHWC",
        "out_layout": "",
    },
)
def avg_pool2d(
    call: Call,
    data: Expr,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Expr:
    """Requantize, then take the integer mean of each window, rounded towards 0. Padding is 0.

    ``layout`` is NHWC or NCHW.
    """
    dtype, (to_nchw, from_nchw) = tensor_type_of(data).dtype, _layout_axes(call)
    moved = requantized(data, (input_scale, input_zero_point, output_scale, output_zero_point))
    moved = moved if to_nchw == from_nchw else make("transpose", moved, axes=to_nchw, span=call.span)
    made = make("nn.avg_pool2d", moved, span=call.span, **_pool_attrs(call))
    made = saturated(made, dtype)
    return made if to_nchw == from_nchw else make("transpose", made, axes=from_nchw, span=call.span)
