"""Dense layers with weights of 4 or 8 bits, with a scale and a zero point for each group of a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import at_least
from tvmlite.relay.ir.types import TensorType, is_symbolic, same_shape, show_shape
from tvmlite.relay.ops.common import FLOAT, expect, fault, is_one, product_of, unravelled
from tvmlite.relay.ops.products.matmul import packed_panels, unpacked
from tvmlite.relay.ops.quantized import group_data
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

BITS = (4, 8)
"""The supported bits of a weight's code."""

DATA_BITS = (0, *group_data.MAX_CODE)
"""The supported bits of a data code; with 0, data stay floats."""


def codes_of(weight: np.ndarray, bits: int, depth: int) -> np.ndarray:
    """Unpack bytes ``(n, groups, group * bits / 8)`` into uint8 codes ``(n, depth)``, lower bits first."""
    parts = [(weight >> shift) & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(weight.shape[0], -1)[:, :depth]


def bytes_of(codes: np.ndarray, bits: int, group: int) -> np.ndarray:
    """Pack codes ``(n, k)``, uint8, into bytes ``(n, ceil(k / group), group * bits / 8)``.

    Codes are below ``2 ** bits``. This is the inverse of ``codes_of``; codes after the last are 0.
    """
    count, depth = codes.shape
    whole = np.pad(codes, ((0, 0), (0, -depth % group))).reshape(count, -1, group)
    if bits == 8:
        return whole
    return whole[..., 0::2] | whole[..., 1::2] << 4


def dequantized(
    weight: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, bits: int, group: int, depth: int
) -> np.ndarray:
    """Return the weight ``(n, depth)`` in float32: ``(code - zero point) * scale``."""
    codes = codes_of(weight, bits, depth).astype(np.float32)
    factors, middles = (
        np.repeat(np.broadcast_to(one, scale.shape).astype(np.float32), group, axis=1)[:, :depth]
        for one in (scale, zero_point)
    )
    return (codes - middles) * factors


def dense_group_type(
    call: Call, data: TensorType, weight: TensorType, scale: TensorType, zero_point: TensorType
) -> TensorType:
    """The type relation: ``(..., k)`` by ``(n, ceil(k / group), group * bits / 8)`` gives ``(..., n)``."""
    expect(call, "data is", data.dtype, FLOAT)
    expect(call, "scale is", scale.dtype, FLOAT)
    bits, group = check_groups(call)
    if call["data_bits"] not in DATA_BITS:
        raise fault(call, f"data_bits is {call['data_bits']}, expected 0 (the data stay floats), 8 or 16")
    if call["data_bits"]:
        check_sums(call, group, call["data_bits"])
    if weight.dtype != "uint8":
        raise fault(call, f"weight is {weight.dtype}, expected uint8")
    if zero_point.dtype != "uint8" and not dtypes.is_float(zero_point.dtype):
        raise fault(call, f"zero_point is {zero_point.dtype}, expected uint8 or a float")
    if not data.ndim or is_symbolic(data.shape[-1]):
        raise fault(call, f"data is {show_shape(data.shape)}, expected a last extent that is a number")
    groups = -(-data.shape[-1] // group)
    if weight.ndim != 3 or not same_shape(weight.shape[1:], (groups, group * bits // 8)):
        expected = f"(n, {groups}, {group * bits // 8})"
        raise fault(
            call, f"data is {show_shape(data.shape)}, weight {show_shape(weight.shape)}, not {expected}"
        )
    whole = (weight.shape[0], groups)
    if not same_shape(scale.shape, whole):
        raise fault(call, f"scale is {show_shape(scale.shape)}, expected {show_shape(whole)}")
    if not same_shape(zero_point.shape, whole) and not same_shape(zero_point.shape, (1, 1)):
        raise fault(
            call, f"zero_point is {show_shape(zero_point.shape)}, expected {show_shape(whole)} or (1, 1)"
        )
    return TensorType((*data.shape[:-1], weight.shape[0]), data.dtype)


def check_groups(call: Call) -> tuple[int, int]:
    """Return the attributes ``bits`` and ``group``; raise a type error if they are not supported."""
    bits, group = call["bits"], call["group"]
    if bits not in BITS:
        raise fault(call, f"bits is {bits}, expected 4 or 8")
    if group < 1 or group * bits % 8:
        raise fault(call, f"group is {group}, expected codes of {bits} bits that fill whole bytes")
    return bits, group


def check_sums(call: Call, group: int, data_bits: int) -> None:
    """Raise a type error if int32 does not hold the sum of a group's products."""
    most = group_data.MAX_GROUP[data_bits]
    if group > most:
        raise fault(call, f"group is {group}, expected at most {most}, so that int32 holds the sums")


def dense_group_numpy(
    call: Call, data: np.ndarray, weight: np.ndarray, scale: np.ndarray, zero_point: np.ndarray
) -> np.ndarray:
    """The reference: dequantizes the weight in float32 and computes the product in float64.

    With ``data_bits``, the codes of a group are multiplied and summed as integers, then scaled.
    """
    bits, group, depth = call["bits"], call["group"], data.shape[-1]
    if not call["data_bits"]:
        plain = dequantized(weight, scale, zero_point, bits, group, depth)
        return (data.astype("float64") @ plain.T.astype("float64")).astype(data.dtype)
    rounded, data_scale = group_data.rounded_numpy(data, group, call["data_bits"])
    codes, middle = codes_of(weight, bits, scale.shape[1] * group), np.broadcast_to(zero_point, scale.shape)
    made = scaled_sums_numpy(rounded, data_scale, group_data.sums_numpy(rounded, group), codes, scale, middle)
    return made.astype(data.dtype)


def scaled_sums_numpy(
    data: np.ndarray,
    data_scale: np.ndarray,
    data_sum: np.ndarray,
    codes: np.ndarray,
    scale: np.ndarray,
    middle: np.ndarray,
) -> np.ndarray:
    """Return the products ``(..., n)``, float64, of data codes ``(..., k)`` by weight codes ``(n, k)``.

    Data have a scale and a sum per group; weights have ``scale`` and zero point ``middle``, both ``(n,
    groups)``. The integer sums of a group are exact in float64.
    """
    *lead, groups = data_scale.shape
    left, right = (one.astype(np.float64).reshape(*one.shape[:-1], groups, -1) for one in (data, codes))
    total = np.zeros((*lead, len(codes)))
    for n in range(groups):
        less = data_sum[..., n, None] * middle[:, n].astype(np.float64)
        factor = data_scale[..., n, None] * scale[:, n].astype(np.float64)
        total += (left[..., n, :] @ right[:, n].T - less) * factor
    return total


@anchored(
    "nn.contrib_dense_group_quantized",
    infer=dense_group_type,
    reference=dense_group_numpy,
    attrs={"bits": 4, "group": at_least(1, 32), "data_bits": 0},
    schedule=anchors.DENSE,
)
def dense_group_quantized(
    call: Call, data: te.Tensor, weight: te.Tensor, scale: te.Tensor, zero_point: te.Tensor
) -> te.Tensor:
    """``data`` times the transpose of a weight in codes of 4 or 8 ``bits``: ``(code - zero_point) * scale``.

    Each ``group`` of a row's codes has a scale and a zero point. With ``data_bits`` 8 or 16, data are first
    rounded symmetrically to that many bits, with a scale for each group of a row (``group_data``). The
    products are then of small integers, which processors compute several times as fast. If an element of the
    data is not finite, all results of its row are NaN in this case.
    """
    bits, group = check_groups(call)
    depth, lead = data.shape[-1], data.shape[:-1]
    in_byte = 8 // bits

    def element(row: Any, k: Any) -> e.Expr:
        byte = weight[row, k // group, k % group // in_byte].astype("int32")
        code = byte if bits == 8 else byte >> (k % in_byte * bits).astype("int32") & 15
        one = (0, 0) if is_one(zero_point.shape[0]) else (row, k // group)
        middle = zero_point[one].astype("float32")
        return (code.astype("float32") - middle) * scale[row, k // group].astype("float32")

    plain = te.compute((weight.shape[0], depth), element, name="dequantized", tag="injective")
    panels = packed_panels(plain, transposed=True)
    k = te.reduce_axis(depth, name="k")

    def read(row: Any, term: Any) -> e.Expr:
        return data[(*unravelled(row, lead), term)].astype("float32")

    assert isinstance(depth, int)
    rows = product_of(lead)
    data_bits = call["data_bits"]
    terms = group_data.rounded(read, rows, depth, group, data_bits) if data_bits else None

    def product(row: Any, outer: Any, inner: Any) -> e.Expr:
        value = read(row, k) if terms is None else terms[row, k]
        return reducers.sum(value * panels[outer, k, inner], k)

    shape = (rows, panels.shape[0], panels.shape[2])
    made = unpacked(
        te.compute(shape, product, name="dense", tag="matmul_packed", attrs={"paired": False}),
        lead,
        weight.shape[0],
    )
    if data.dtype == "float32":
        return made
    return te.compute(made.shape, lambda *i: made[i].astype(data.dtype), name="cast", tag="elemwise")
