"""``qnn.requantize``: from one scale and zero point to another, in integers as in TVM, or in floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding, choice
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import (
    Dtypes,
    along_axis,
    convert_numpy,
    expect,
    intrinsic,
    is_one,
)
from tvmlite.relay.ops.quantized.parameters import check_scale, check_zero_point, extent_along
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e

FRACTION_BITS = 31
"""The fraction bits of a fixed-point multiplier."""

MAX_SHIFT = 63
"""From this shift on, a rounded product of 62 bits is 0."""

_INPUT_DTYPES: Dtypes = (
    "int8, uint8, int16, int32 or int64",
    lambda t: t in ("int8", "uint8", "int16", "int32", "int64"),
)
_OUTPUT_DTYPES: Dtypes = "int8, uint8, int16 or int32", lambda t: t in ("int8", "uint8", "int16", "int32")

ROUNDING = choice("None", "UPWARD", "TONEAREST")
COMPUTE_DTYPE = choice("None", "int64", "float32", "float64")


def multiplier_and_shift(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split ``factor``, positive float64, into ``multiplier / 2**31 * 2**shift``, both int64.

    This is TVM's fixed-point form: the fraction of frexp, 0.5 to 1, times 2**31, rounded to 31 bits.
    """
    fraction, shift = np.frexp(np.asarray(factor, np.float64))
    multiplier = np.floor(fraction * 2.0**FRACTION_BITS + 0.5).astype(np.int64)
    whole = multiplier == 1 << FRACTION_BITS
    return np.where(whole, multiplier >> 1, multiplier), np.where(whole, shift + 1, shift).astype(np.int64)


def fixed_point_numpy(
    data: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, upward: bool = True
) -> np.ndarray:
    """``data * multiplier / 2**31 * 2**shift`` in int32, rounded to nearest.

    Ties are rounded upwards, or away from 0 if not ``upward``.
    """
    with np.errstate(all="ignore"):
        product = (data.astype(np.int64) << np.maximum(shift, 0)) * multiplier
        right = np.minimum(FRACTION_BITS - np.minimum(shift, 0), MAX_SHIFT)
        half = np.left_shift(np.int64(1), right - 1)
        half = half if upward else np.where(product >= 0, half, half - 1)
        return ((product + half) >> right).astype(np.int32)


def requantized_numpy(
    data: np.ndarray,
    parameters: Sequence[np.ndarray],
    axis: int,
    out_dtype: str,
    rounding: str = "None",
    compute_dtype: str = "None",
) -> np.ndarray:
    """Requantize ``data`` from the first scale and zero point of ``parameters`` to the last."""
    scale, zero, out_scale, out_zero = (
        p.reshape(()) if p.size == 1 else along_axis(p, axis, data.ndim) for p in parameters
    )
    factor, upward = scale.astype(np.float64) / out_scale.astype(np.float64), rounding != "TONEAREST"
    if compute_dtype in ("float32", "float64"):
        work = np.dtype(compute_dtype)
        moved = (data.astype(work) - zero.astype(work)) * factor.astype(work) + out_zero.astype(work)
        half = work.type(0.5)
        nearest = np.where(moved < 0, -np.floor(half - moved), np.floor(moved + half))
        made = convert_numpy(np.floor(moved + half) if upward else nearest.astype(work), "int32")
    else:
        moved = data.astype(np.int32) - zero.astype(np.int32)
        made = fixed_point_numpy(moved, *multiplier_and_shift(factor), upward) + out_zero.astype(np.int32)
    low, high = dtypes.limits(out_dtype)
    return np.clip(made, low, high).astype(out_dtype)


def requantize_type(call: Call, data: TensorType, *parameters: TensorType) -> TensorType:
    """The type relation: the data's shape in ``out_dtype``; its parameters may be vectors along ``axis``."""
    expect(call, "data is", data.dtype, _INPUT_DTYPES)
    dtype = dtypes.check(call["out_dtype"])
    expect(call, "out_dtype is", dtype, _OUTPUT_DTYPES)
    extent = extent_along(call, data, parameters[:2])
    check_scale(call, "input_scale", parameters[0], extent)
    check_zero_point(call, "input_zero_point", parameters[1], data.dtype, extent)
    check_scale(call, "output_scale", parameters[2])
    check_zero_point(call, "output_zero_point", parameters[3], dtype)
    return TensorType(data.shape, dtype)


def requantize_numpy(call: Call, data: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    """The reference of ``qnn.requantize``."""
    return requantized_numpy(
        data, parameters, call["axis"], call["out_dtype"], call["rounding"], call["compute_dtype"]
    )


@elemwise(
    "qnn.requantize",
    rounding=Rounding.STEPS,
    infer=requantize_type,
    reference=requantize_numpy,
    attrs={"axis": -1, "rounding": ROUNDING, "compute_dtype": COMPUTE_DTYPE, "out_dtype": "int8"},
)
def requantize(
    call: Call,
    i: Indices,
    data: te.Tensor,
    input_scale: te.Tensor,
    input_zero_point: te.Tensor,
    output_scale: te.Tensor,
    output_zero_point: te.Tensor,
) -> e.Expr:
    """``output_zero_point + input_scale / output_scale * (data - input_zero_point)``, rounded, saturated.

    ``rounding`` decides ties: "UPWARD", the default, or "TONEAREST", away from 0. With ``compute_dtype``
    "int64", the default (TVM's except on x86), the factor has 31 bits; "float32" and "float64" compute in
    floats.
    """
    tensors = (input_scale, input_zero_point, output_scale, output_zero_point)
    scale, zero, out_scale, out_zero = (_parameter(call, one, data, i) for one in tensors)
    factor = scale.astype("float64") / out_scale.astype("float64")
    upward, work = call["rounding"] != "TONEAREST", call["compute_dtype"]
    if work in ("float32", "float64"):
        moved = (data[i].astype(work) - zero.astype(work)) * factor.astype(work) + out_zero.astype(work)
        half = e.const(0.5, work)
        nearest = intrinsic("floor", moved + half)
        if not upward:
            nearest = e.Select(moved < 0, 0 - intrinsic("floor", half - moved), nearest)
        made = nearest.astype("int32")
    else:
        moved = data[i].astype("int32") - zero
        made = _fixed_point(moved, *_multiplier_and_shift(factor), upward) + out_zero
    low, high = dtypes.limits(call["out_dtype"])
    return e.Min(e.Max(made, e.const(low, "int32")), e.const(high, "int32")).astype(call["out_dtype"])


def _parameter(call: Call, tensor: te.Tensor, data: te.Tensor, at: Sequence[Any]) -> e.Expr:
    if tensor.ndim == 0:
        return tensor[()]
    return tensor[0] if is_one(tensor.shape[0]) else tensor[at[call["axis"] % data.ndim]]


def _multiplier_and_shift(factor: e.Expr) -> tuple[e.Expr, e.Expr]:
    """``multiplier_and_shift`` from the bits of a float64: its exponent, then the 52 of its fraction."""
    bits = e.Call("reinterpret", (factor,), "int64")
    exponent = e.Call("shift_right", (bits, e.const(52, "int64")), "int64") - 1022
    fraction = e.Call("bitwise_and", (bits, e.const((1 << 52) - 1, "int64")), "int64") + (1 << 52)
    multiplier = e.Call("shift_right", (fraction + (1 << 21), e.const(22, "int64")), "int64")
    whole = multiplier >= (1 << FRACTION_BITS)
    return (
        e.Select(whole, e.const(1 << (FRACTION_BITS - 1), "int64"), multiplier),
        e.Select(whole, exponent + 1, exponent),
    )


def _fixed_point(data: e.Expr, multiplier: e.Expr, shift: e.Expr, upward: bool) -> e.Expr:
    """``fixed_point_numpy`` in te."""

    def shifted(name: str, value: e.Expr, by: e.Expr) -> e.Expr:
        return e.Call(name, (value, by), "int64")

    zero, one = e.const(0, "int64"), e.const(1, "int64")
    product = shifted("shift_left", data.astype("int64"), e.Max(shift, zero)) * multiplier
    right = e.Min(FRACTION_BITS - e.Min(shift, zero), e.const(MAX_SHIFT, "int64"))
    half = shifted("shift_left", one, right - 1)
    half = half if upward else e.Select(product >= 0, half, half - 1)
    return shifted("shift_right", product + half, right).astype("int32")
