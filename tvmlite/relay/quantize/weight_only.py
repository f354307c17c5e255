"""Weights of dense layers in 4 or 8 bits, in groups with a scale each; optionally, their data is rounded.

If few rows are multiplied with large weights, as a language model does for each token, the time is dominated
by reading the weights. No calibration data is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from tvmlite.core import mapped
from tvmlite.core.errors import InputError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.quantized.group_quantized import BITS, DATA_BITS, bytes_of

GROUP_QUANTIZED = "nn.contrib_dense_group_quantized"
"""The operator that replaces dense layers."""

ROWS_AT_A_TIME = 1 << 10
"""The number of rows of a weight that are rounded at a time, to limit the memory for temporaries."""


def weight_only(
    mod: Module | Function,
    bits: int = 4,
    group: int = 32,
    *,
    symmetric: bool = True,
    least: int = 0,
    data_bits: int = 0,
) -> Module:
    """``mod`` with the constant float32 weights of ``nn.dense`` and ``nn.matmul`` as codes of ``bits``.

    Each ``group`` consecutive elements of a row (those that are multiplied with one row of the data) share a
    scale, and a zero point unless ``symmetric``. If ``group`` does not divide a row, its last group is
    shorter. Weights with fewer than ``least`` elements stay floats. Scales are rounded to float16 before
    codes are chosen, unless float16 cannot represent one. The error of an element is then at most half a
    scale; in symmetric groups, it may be a whole scale for an element with the largest magnitude and the
    opposite sign.

    With ``data_bits`` 8 or 16, the data of these products, and of those whose weights are in few bits
    already, is rounded in each run, in the same groups (``relay.ops.quantized.group_data``): the error of a
    term is at most 1/254 or 1/65278 of the largest in its group. With 0 the data stays in floats.

    An InputError names a weight that is not finite, or an invalid ``bits``, ``group`` or ``data_bits``.
    """
    if isinstance(mod, Function):
        mod = Module({"main": mod})
    if not isinstance(mod, Module):
        raise InputError(f"weight_only: a {type(mod).__name__} given, expected a relay module or function")
    return rounded_by(mod, rounding(bits, group, symmetric=symmetric, least=least, data_bits=data_bits))


def rounded_by(module: Module, rule: Callable[[Expr], Expr]) -> Module:
    """``module`` with ``rule`` applied to each expression of its body; the same object if nothing changes."""
    body = rewrite(module.main.body, rule)
    if body is module.main.body:
        return module
    return module.with_main(dataclasses.replace(module.main, body=body))


def rounding(
    bits: int, group: int, *, symmetric: bool = True, least: int = 0, data_bits: int = 0
) -> Callable[[Expr], Expr]:
    """The rewrite rule of ``weight_only`` for products; other expressions are returned unchanged. A weight
    that several products share is rounded once."""
    if bits not in BITS or isinstance(bits, bool):
        raise InputError(f"weight_only: bits is {bits!r}, expected 4 or 8")
    if not isinstance(group, int) or group < 1 or group * bits % 8:
        raise InputError(
            f"weight_only: group is {group!r}, expected codes of {bits} bits that fill whole bytes"
        )
    if data_bits not in DATA_BITS or isinstance(data_bits, bool):
        raise InputError(f"weight_only: data_bits is {data_bits!r}, expected 0 (data stay floats), 8 or 16")
    made: dict[tuple[Constant, bool], tuple[Constant, Constant, Constant]] = {}

    def rounded(node: Expr) -> Expr:
        if isinstance(node, Call) and node.op == GROUP_QUANTIZED and node["data_bits"] < data_bits:
            return Call(
                node.op, node.args, canonical({**dict(node.attrs), "data_bits": data_bits}), node.span
            )
        found = _weight_of(node)
        if found is None or found[0].size < max(least, 1):
            return node
        assert isinstance(node, Call)
        if found not in made:
            made[found] = _quantized(*found, bits, group, symmetric, node)
        attrs = {"bits": bits, "group": group, "data_bits": data_bits}
        return make(GROUP_QUANTIZED, node.args[0], *made[found], span=node.span, **attrs)

    return rounded


def _weight_of(node: Expr) -> tuple[Constant, bool] | None:
    """The constant weight of a float product, and whether its rows are along its last axis."""
    match node:
        case Call("nn.dense", (data, Constant() as weight)):
            by_row = True
        case Call("nn.matmul", (data, Constant() as weight)) if not node["transpose_a"]:
            by_row = bool(node["transpose_b"])
        case _:
            return None
    types = tensor_type_of(data).dtype, str(weight.dtype), tensor_type_of(node).dtype
    depth = tensor_type_of(data).shape[-1]
    return (weight, by_row) if set(types) == {"float32"} and isinstance(depth, int) else None


def _quantized(
    constant: Constant, by_row: bool, bits: int, group: int, symmetric: bool, node: Call
) -> tuple[Constant, Constant, Constant]:
    """Bytes ``(n, groups, group * bits / 8)``, scales and zero points of a weight."""
    with mapped.reading(constant.data) as stored:
        weight = stored if by_row else stored.T
        count, groups = weight.shape[0], -(-weight.shape[1] // group)
        packed = np.empty((count, groups, group * bits // 8), np.uint8)
        scales = np.empty((count, groups), np.float32)
        zeros = np.empty((count, groups), np.uint8)
        for begin in range(0, count, ROWS_AT_A_TIME):
            rows = np.ascontiguousarray(weight[begin : begin + ROWS_AT_A_TIME])
            if not np.isfinite(rows).all():
                raise InputError(
                    f"weight_only: a weight of {node.op} has elements that are not finite", node.span
                )
            part = slice(begin, begin + ROWS_AT_A_TIME)
            codes, scales[part], zeros[part] = _rounded(rows, bits, group, symmetric)
            packed[part] = bytes_of(codes, bits, group)
    with np.errstate(over="ignore"):
        half = scales.astype(np.float16)
    if np.array_equal(half.astype(np.float32), scales):
        scales = half
    zeros = np.full((1, 1), 1 << (bits - 1), np.uint8) if symmetric else zeros
    return Constant(packed, node.span), Constant(scales, node.span), Constant(zeros, node.span)


def _rounded(
    rows: np.ndarray, bits: int, group: int, symmetric: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes ``(n, k)``, scales and zero points ``(n, groups)`` of some rows."""
    count, depth = rows.shape
    groups = np.pad(rows, ((0, 0), (0, -depth % group))).reshape(count, -1, group)
    largest, last = 1 << (bits - 1), (1 << bits) - 1
    low, high = groups.min(axis=2), groups.max(axis=2)
    if symmetric:  # the largest magnitude gets the lowest code, which has no opposite code
        scale = np.where(high > -low, high, low) / np.float32(-largest)
        zero = np.full(scale.shape, largest, np.float32)
        scale = _rounded_to_float16(scale)
    else:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
        scale = _rounded_to_float16((high - low) / np.float32(last))
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = np.where(scale == 0, 0, np.clip(np.rint(-low / scale), 0, last)).astype(np.float32)
    divisor = np.where(scale == 0, np.float32(1), scale)
    codes = np.clip(np.rint(groups / divisor[..., None]) + zero[..., None], 0, last).astype(np.uint8)
    return codes.reshape(count, -1)[:, :depth], scale, zero.astype(np.uint8)


def _rounded_to_float16(scale: np.ndarray) -> np.ndarray:
    """Scales rounded to float16 where that is a normal number or 0, otherwise unchanged."""
    with np.errstate(over="ignore", under="ignore"):
        half = scale.astype(np.float16).astype(np.float32)
    limits = np.finfo(np.float16)
    normal = (np.abs(scale) >= limits.tiny) & np.isfinite(half) | (scale == 0)
    return np.where(normal, half, scale)
