"""Quantisation: floats to integers of a scale and a zero point, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import agree, axis_of, convert_numpy, fault, intrinsic
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e


def _check_parameter(call: Call, what: str, given: TensorType, data: TensorType) -> None:
    """A scale or zero point is one number, or one for each place along ``axis``."""
    if given.ndim > 1:
        raise fault(call, f"{what} has {given.ndim} axes, expected none or one")
    if given.ndim == 1 and not (isinstance(given.shape[0], int) and given.shape[0] == 1):
        axis = axis_of(call, call["axis"], data.ndim)
        agree(call, f"the extent of {what}", given.shape[0], data.shape[axis])


def quantize_type(call: Call, data: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
    """The shape of ``data``, integers of ``out_dtype``."""
    if not dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data.dtype}, expected a float")
    dtype = dtypes.check(call["out_dtype"])
    if not dtypes.is_int(dtype):
        raise fault(call, f"out_dtype is {dtype}, expected an integer dtype")
    _check_parameter(call, "output_scale", scale, data)
    _check_parameter(call, "output_zero_point", zero_point, data)
    return TensorType(data.shape, dtype)


def dequantize_type(call: Call, data: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
    """The shape of ``data``, floats of ``out_dtype``."""
    if not dtypes.is_int(data.dtype):
        raise fault(call, f"data is {data.dtype}, expected integers")
    dtype = dtypes.check(call["out_dtype"])
    if not dtypes.is_float(dtype):
        raise fault(call, f"out_dtype is {dtype}, expected a float dtype")
    _check_parameter(call, "input_scale", scale, data)
    _check_parameter(call, "input_zero_point", zero_point, data)
    return TensorType(data.shape, dtype)


def _parameter(call: Call, tensor: te.Tensor, data: te.Tensor, at: Sequence[Any]) -> e.Expr:
    """The scale or zero point that holds at element ``at``."""
    if tensor.ndim == 0:
        return tensor[()]
    alone = isinstance(tensor.shape[0], int) and tensor.shape[0] == 1
    return tensor[0] if alone else tensor[at[call["axis"] % data.ndim]]


def _spread(call: Call, parameter: np.ndarray, rank: int) -> np.ndarray:
    """A scale or zero point in numpy, shaped to broadcast against data of ``rank`` axes."""
    if parameter.size == 1:
        return parameter.reshape(())
    shape = [1] * rank
    shape[call["axis"] % rank] = parameter.size
    return parameter.reshape(shape)


def quantize_numpy(call: Call, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    work = np.float64 if data.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        steps = np.rint(data.astype(work) / _spread(call, scale, data.ndim).astype(work))
        moved = steps + _spread(call, zero_point, data.ndim).astype(work)
    return convert_numpy(moved, call["out_dtype"])


@elemwise(
    "qnn.quantize",
    rounding=Rounding.STEPS,
    infer=quantize_type,
    reference=quantize_numpy,
    attrs={"axis": -1, "out_dtype": "int8"},
)
def quantize(
    call: Call, i: Indices, data: te.Tensor, output_scale: te.Tensor, output_zero_point: te.Tensor
) -> e.Expr:
    """``round(data / scale) + zero_point``, ties to even, saturated to ``out_dtype``; NaN gives 0."""
    work = "float64" if data.dtype == "float64" else "float32"
    scale = _parameter(call, output_scale, data, i).astype(work)
    zero_point = _parameter(call, output_zero_point, data, i).astype(work)
    return e.cast(call["out_dtype"], intrinsic("round", data[i].astype(work) / scale) + zero_point)


def dequantize_numpy(call: Call, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    work = np.float64 if call["out_dtype"] == "float64" else np.float32
    moved = data.astype(np.int32) - _spread(call, zero_point, data.ndim).astype(np.int32)
    result = moved.astype(work) * _spread(call, scale, data.ndim).astype(work)
    return result.astype(dtypes.numpy_of(call["out_dtype"]))


@elemwise(
    "qnn.dequantize",
    rounding=Rounding.ONCE,
    infer=dequantize_type,
    reference=dequantize_numpy,
    attrs={"axis": -1, "out_dtype": "float32"},
)
def dequantize(
    call: Call, i: Indices, data: te.Tensor, input_scale: te.Tensor, input_zero_point: te.Tensor
) -> e.Expr:
    """``(data - zero_point) * scale``, the difference in int32."""
    work = "float64" if call["out_dtype"] == "float64" else "float32"
    moved = data[i].astype("int32") - _parameter(call, input_zero_point, data, i).astype("int32")
    return e.cast(call["out_dtype"], moved.astype(work) * _parameter(call, input_scale, data, i).astype(work))
