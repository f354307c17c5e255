"""Expand TVM's quantized operators into plain integer operators: ``qnn.transform.CanonicalizeOps``."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops.common import along_axis
from tvmlite.relay.ops.quantized.requantize import FRACTION_BITS, MAX_SHIFT, multiplier_and_shift
from tvmlite.relay.ops.written_out import RULES, binary, cast, minus, saturated
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.write_out import placed, written


@graph_pass
def canonicalize_qnn(body: Expr) -> Expr:
    """Expand ``qnn.add`` and others; ``qnn.requantize`` by constants becomes a product and a shift.

    ``qnn.quantize`` and ``qnn.dequantize`` are kept, as is ``qnn.requantize`` by scales that are computed.
    """
    return rewrite(body, _canonical)


def _canonical(node: Expr) -> Expr:
    if not isinstance(node, Call):
        return node
    if node.op == "qnn.requantize":
        return _by_constants(node)
    if not (isinstance(node.op, str) and op.get(node.op).quantized):
        return node
    if (plain := written(node)) is not node:  # it had another layout
        return placed(plain, node, _canonical)
    tensor_type_of(node)  # errors are about this node, not about its expansion
    return placed(RULES[node.op](node, *node.args), node, _canonical)


def _by_constants(node: Call) -> Expr:
    """``node``, a requantization, in plain operators, if its scales and zero points are constant."""
    data, *parameters = node.args
    known = [one.data for one in parameters if isinstance(one, Constant)]
    if len(known) < len(parameters):
        return node
    dtype, rank = tensor_type_of(node).dtype, tensor_type_of(data).ndim
    scale, zero, out_scale, out_zero = (
        x.reshape(()) if x.size == 1 else along_axis(x, node["axis"], rank) for x in known
    )
    factor = scale.astype(np.float64) / out_scale.astype(np.float64)
    if node["compute_dtype"] in ("float32", "float64"):
        made = _by_floats(node, (factor, zero, out_zero))
    else:
        moved = minus(cast(data, "int32"), Constant(zero, node.span))
        made = moved if (factor == 1).all() else _fixed_point(node, moved, factor)
        made = made if not out_zero.any() else binary("add", made, Constant(out_zero, node.span))
    return placed(made if dtype == "int32" else saturated(made, dtype), node, _canonical)


def _fixed_point(node: Call, data: Expr, factor: np.ndarray) -> Expr:
    """``data * factor`` in int32: a multiplication in int64, the addition of one half, and a shift."""
    multiplier, shift = multiplier_and_shift(factor)
    right = np.minimum(FRACTION_BITS - np.minimum(shift, 0), MAX_SHIFT)
    half = np.left_shift(np.int64(1), right - 1)
    with np.errstate(over="ignore"):
        whole = np.left_shift(multiplier, np.maximum(shift, 0))  # wraps, as the product itself would
    product = binary("multiply", cast(data, "int64"), constant(whole, "int64"))
    added: Expr = constant(half, "int64")
    if node["rounding"] == "TONEAREST":
        positive = make("greater_equal", product, constant(0, "int64"), span=node.span)
        added = make("where", positive, added, constant(half - 1, "int64"), span=node.span)
    return cast(binary("right_shift", binary("add", product, added), constant(right, "int64")), "int32")


def _by_floats(node: Call, parameters: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Expr:
    work, (factor, zero, out_zero) = dtypes.check(node["compute_dtype"]), parameters
    moved = minus(cast(node.args[0], work), constant(zero, work))
    moved = binary("add", binary("multiply", moved, constant(factor, work)), constant(out_zero, work))
    half = constant(0.5, work)
    made = make("floor", binary("add", moved, half), span=node.span)
    if node["rounding"] == "TONEAREST":
        below = make("floor", binary("subtract", half, moved), span=node.span)
        below = make("negative", below, span=node.span)
        negative = make("less", moved, constant(0, work), span=node.span)
        made = make("where", negative, below, made, span=node.span)
    return cast(made, "int32")
