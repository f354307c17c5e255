"""Quantization simulated in floats, so that calibration and training see its rounding; as in TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding, choice
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import Dtypes, along_axis, expect, intrinsic, is_one
from tvmlite.relay.ops.quantized.parameters import check_scale, check_zero_point, extent_along
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e

KINDS = choice("int8", "uint8", "int32", "disable")
"""The integers that are simulated; "disable" leaves the data unchanged."""

_FLOAT32: Dtypes = "float32", lambda dtype: dtype == "float32"


def _type(side: str, attr: str) -> Callable[..., TensorType]:
    def infer(call: Call, data: TensorType, scale: TensorType, zero: TensorType) -> TensorType:
        expect(call, "data is", data.dtype, _FLOAT32)
        extent = extent_along(call, data, (scale, zero))
        kind = call[attr] if call[attr] != "disable" else "int32"
        check_scale(call, f"{side}_scale", scale, extent)
        check_zero_point(call, f"{side}_zero_point", zero, kind, extent)
        return data

    return infer


def _broadcast_parameter(call: Call, parameter: np.ndarray, rank: int) -> np.ndarray:
    wide = parameter.astype(np.float32)
    return wide.reshape(()) if parameter.size == 1 else along_axis(wide, call["axis"], rank)


def _parameter(call: Call, tensor: te.Tensor, data: te.Tensor, at: Any) -> e.Expr:
    """The scale or zero point for element ``at``, in float32."""
    if tensor.ndim == 0:
        return tensor[()].astype("float32")
    place = 0 if is_one(tensor.shape[0]) else at[call["axis"] % data.ndim]
    return tensor[place].astype("float32")


def quantize_numpy(call: Call, data: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """The reference of ``qnn.simulated_quantize``."""
    if call["out_dtype"] == "disable":
        return data
    low, high = (np.float32(limit) for limit in dtypes.limits(call["out_dtype"]))
    with np.errstate(all="ignore"):
        steps = np.rint(data / _broadcast_parameter(call, scale, data.ndim)) + _broadcast_parameter(
            call, zero, data.ndim
        )
    return np.minimum(np.maximum(steps, low), high)


@elemwise(
    "qnn.simulated_quantize",
    rounding=Rounding.STEPS,
    infer=_type("output", "out_dtype"),
    reference=quantize_numpy,
    attrs={"axis": -1, "out_dtype": KINDS},
)
def simulated_quantize(
    call: Call, i: Indices, data: te.Tensor, output_scale: te.Tensor, output_zero_point: te.Tensor
) -> e.Expr:
    """``round(data / scale) + zero_point``, clipped to the limits of ``out_dtype``, in float32.

    Ties are rounded to even, as in ``qnn.quantize``. In TVM ``out_dtype`` may be computed; here it is "int8",
    "uint8", "int32" or "disable", which leaves the data unchanged.
    """
    if call["out_dtype"] == "disable":
        return data[i]
    low, high = (e.const(float(np.float32(limit)), "float32") for limit in dtypes.limits(call["out_dtype"]))
    scale, zero = (_parameter(call, one, data, i) for one in (output_scale, output_zero_point))
    return e.Min(e.Max(intrinsic("round", data[i] / scale) + zero, low), high)


def dequantize_numpy(call: Call, data: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """The reference of ``qnn.simulated_dequantize``."""
    if call["in_dtype"] == "disable":
        return data
    with np.errstate(all="ignore"):
        return (data - _broadcast_parameter(call, zero, data.ndim)) * _broadcast_parameter(
            call, scale, data.ndim
        )


@elemwise(
    "qnn.simulated_dequantize",
    infer=_type("input", "in_dtype"),
    reference=dequantize_numpy,
    attrs={"axis": -1, "in_dtype": KINDS},
)
def simulated_dequantize(
    call: Call, i: Indices, data: te.Tensor, input_scale: te.Tensor, input_zero_point: te.Tensor
) -> e.Expr:
    """``(data - zero_point) * scale`` of integers held in float32; "disable" returns the data unchanged."""
    if call["in_dtype"] == "disable":
        return data[i]
    scale, zero = (_parameter(call, one, data, i) for one in (input_scale, input_zero_point))
    return (data[i] - zero) * scale
