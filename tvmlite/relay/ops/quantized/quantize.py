"""Quantization: floats to integers with a scale and a zero point, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import (
    FLOAT,
    INTEGERS,
    Dtypes,
    along_axis,
    axis_of,
    convert_numpy,
    expect,
    expect_extent,
    fault,
    intrinsic,
    is_one,
)
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e
from tvmlite.te.tensor.intrinsics import fits_int32


def _type(given: Dtypes, made: Dtypes, names: str) -> Callable[..., TensorType]:
    """Return the type relation from data in ``given`` to the same shape in ``out_dtype``, in ``made``.

    The scale and zero point, whose names begin with ``names``, are numbers, or vectors along ``axis``.
    """

    def infer(call: Call, data: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
        expect(call, "data is", data.dtype, given)
        dtype = dtypes.check(call["out_dtype"])
        expect(call, "out_dtype is", dtype, made)
        for what, one in ((f"{names}_scale", scale), (f"{names}_zero_point", zero_point)):
            if one.ndim > 1:
                raise fault(call, f"{what} has {one.ndim} axes, expected none or one")
            if one.ndim == 1 and not is_one(one.shape[0]):
                extent = data.shape[axis_of(call, call["axis"], data.ndim)]
                expect_extent(call, f"the extent of {what}", one.shape[0], extent)
        return TensorType(data.shape, dtype)

    return infer


def _parameter(call: Call, tensor: te.Tensor, data: te.Tensor, at: Sequence[Any]) -> e.Expr:
    """The scale or zero point for element ``at``."""
    if tensor.ndim == 0:
        return tensor[()]
    return tensor[0] if is_one(tensor.shape[0]) else tensor[at[call["axis"] % data.ndim]]


def _broadcast_parameter(call: Call, parameter: np.ndarray, rank: int) -> np.ndarray:
    """A scale or zero point in numpy, shaped to broadcast against data of ``rank`` axes."""
    return parameter.reshape(()) if parameter.size == 1 else along_axis(parameter, call["axis"], rank)


def quantize_numpy(call: Call, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    """The reference of ``qnn.quantize``, in float32 or float64: rounded half to even, then saturated."""
    work = np.float64 if data.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        steps = np.rint(data.astype(work) / _broadcast_parameter(call, scale, data.ndim).astype(work))
        moved = steps + _broadcast_parameter(call, zero_point, data.ndim).astype(work)
    return convert_numpy(moved, call["out_dtype"])


@elemwise(
    "qnn.quantize",
    rounding=Rounding.STEPS,
    infer=_type(FLOAT, INTEGERS, "output"),
    reference=quantize_numpy,
    attrs={"axis": -1, "out_dtype": "int8", "fits_int32": False},
)
def quantize(
    call: Call, i: Indices, data: te.Tensor, output_scale: te.Tensor, output_zero_point: te.Tensor
) -> e.Expr:
    """``round(data / scale) + zero_point``, ties to even, saturated to ``out_dtype``; NaN gives 0.

    With ``fits_int32``, ``data / scale`` must fit an int32, and the result is undefined where it does not.
    Passes set it for sums whose scales they know.
    """
    work = "float64" if data.dtype == "float64" else "float32"
    scale = _parameter(call, output_scale, data, i).astype(work)
    zero_point = _parameter(call, output_zero_point, data, i).astype(work)
    steps = data[i].astype(work) / scale
    if call["fits_int32"]:
        steps = fits_int32(steps)
    return e.cast(call["out_dtype"], intrinsic("round", steps) + zero_point)


def dequantize_numpy(call: Call, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    """The reference of ``qnn.dequantize``: the zero point is subtracted in int32."""
    work = np.float64 if call["out_dtype"] == "float64" else np.float32
    moved = data.astype(np.int32) - _broadcast_parameter(call, zero_point, data.ndim).astype(np.int32)
    result = moved.astype(work) * _broadcast_parameter(call, scale, data.ndim).astype(work)
    return result.astype(dtypes.numpy_of(call["out_dtype"]))


@elemwise(
    "qnn.dequantize",
    rounding=Rounding.ONCE,
    infer=_type(INTEGERS, FLOAT, "input"),
    reference=dequantize_numpy,
    attrs={"axis": -1, "out_dtype": "float32"},
)
def dequantize(
    call: Call, i: Indices, data: te.Tensor, input_scale: te.Tensor, input_zero_point: te.Tensor
) -> e.Expr:
    """``(data - zero_point) * scale``, with the difference in int32."""
    work = "float64" if call["out_dtype"] == "float64" else "float32"
    moved = data[i].astype("int32") - _parameter(call, input_zero_point, data, i).astype("int32")
    return e.cast(call["out_dtype"], moved.astype(work) * _parameter(call, input_scale, data, i).astype(work))
