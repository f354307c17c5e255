"""Dequantization with a scale for each block along an axis, as low-bit weights have."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding, at_least
from tvmlite.relay.ir.types import TensorType, normal_dim, same_shape, show_shape
from tvmlite.relay.ops.common import FLOAT, axis_of, expect, fault
from tvmlite.relay.ops.quantized.group_quantized import BITS
from tvmlite.relay.ops.quantized.parameters import BYTES
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _type(call: Call, data: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
    expect(call, "data is", data.dtype, BYTES)
    expect(call, "scale is", scale.dtype, FLOAT)
    if call["bits"] not in BITS:
        raise fault(call, f"bits is {call['bits']}, expected 4 or 8")
    if zero_point.dtype != data.dtype:
        raise fault(call, f"zero_point is {zero_point.dtype}, expected {data.dtype}, as the data are")
    axis = axis_of(call, call["axis"], data.ndim)
    count = normal_dim((data.shape[axis] + (call["block"] - 1)) // call["block"])
    wanted = (*data.shape[:axis], count, *data.shape[axis + 1 :])
    for name, one in (("scale", scale), ("zero_point", zero_point)):
        if not same_shape(one.shape, wanted):
            raise fault(call, f"{name} is {show_shape(one.shape)}, expected {show_shape(wanted)}")
    return TensorType(data.shape, scale.dtype)


def dequantize_blocks_numpy(
    call: Call, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray
) -> np.ndarray:
    """The reference of ``qnn.contrib_dequantize_blocks``."""
    places = np.arange(data.shape[call["axis"]]) // call["block"]
    factors, points = (np.take(one, places, call["axis"]) for one in (scale, zero_point))
    moved = data.astype(np.float32) - points.astype(np.float32)
    return (moved * factors.astype(np.float32)).astype(scale.dtype)


@injective(
    "qnn.contrib_dequantize_blocks",
    rounding=Rounding.ONCE,
    infer=_type,
    reference=dequantize_blocks_numpy,
    attrs={"axis": -1, "block": at_least(1, 32), "bits": 8},
)
def dequantize_blocks(call: Call, i: Indices, data: Tensor, scale: Tensor, zero_point: Tensor) -> e.Expr:
    """``(data - zero_point) * scale`` in float32, converted to the scale's dtype.

    Each ``block`` of elements along ``axis`` has a scale and a zero point. ``bits``, 4 or 8, is the number of
    bits of a byte that are in use.
    """
    axis = call["axis"] % data.ndim
    place = (*i[:axis], i[axis] // call["block"], *i[axis + 1 :])
    moved = data[i].astype("float32") - zero_point[place].astype("float32")
    return e.cast(scale.dtype, moved * scale[place].astype("float32"))
