"""Constant weights of few bits that DequantizeLinear spreads out in blocks stay as they are in a product."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.ops.quantized.group_quantized import bytes_of


def group_product(node: OnnxNode, data: Expr, weight: Expr, units_first: bool) -> Expr | None:
    """``data``, whose last extent is a number, by ``weight``, the units of which are its first axis or its
    last: by codes in groups, if ``weight`` is dequantized of such. Else None."""
    depth_axis = 1 if units_first else 0
    value = _uncast(weight)
    if isinstance(value, Call) and value.op == "transpose" and node.rank(value) == 2:
        value, depth_axis = _uncast(value.args[0]), 1 - depth_axis
    match value:
        case Call("qnn.contrib_dequantize_blocks", (Constant(codes), Constant(scale), Constant(zero))) if (
            codes.ndim == 2 and value["axis"] % 2 == depth_axis and value["block"] * value["bits"] % 8 == 0
        ):
            bits, block = value["bits"], value["block"]
            middle = 1 << (bits - 1) if codes.dtype == np.int8 else 0
            parts = (one if depth_axis else one.T for one in (codes, scale, zero))
            rows, factors, points = parts
            packed = bytes_of(_unsigned(rows, middle), bits, block)
            args = packed, np.ascontiguousarray(factors), _unsigned(points, middle)
            constants = (Constant(one, node.span) for one in args)
            return node.make("nn.contrib_dense_group_quantized", data, *constants, bits=bits, group=block)
    return None


def _uncast(value: Expr) -> Expr:
    return value.args[0] if isinstance(value, Call) and value.op == "cast" else value


def _unsigned(codes: np.ndarray, middle: int) -> np.ndarray:
    """Codes from 0 on, in bytes: the modulus of a sum of bytes is what is wanted."""
    return np.ascontiguousarray(codes.view(np.uint8) + np.uint8(middle))
