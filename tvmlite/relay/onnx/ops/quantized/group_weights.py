"""Constant weights of few bits from a blocked DequantizeLinear, which stay packed in a matrix product."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.ops.quantized.group_quantized import bytes_of


def group_product(node: OnnxNode, data: Expr, weight: Expr, units_first: bool) -> Expr | None:
    """Return the product of ``data``, whose last extent is a number, and ``weight``, whose units are its
    first axis or its last: by codes in groups, if it is dequantized from these; else None."""
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
    """Codes from 0 on, in bytes: the sum of bytes is wanted modulo 256."""
    return np.ascontiguousarray(codes.view(np.uint8) + np.uint8(middle))
