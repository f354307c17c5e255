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
from tvmlite.relay.passes.write_out import expanded, with_span_of


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
        return _requantize_by_constants(node)
    if not (isinstance(node.op, str) and op.get(node.op).quantized):
        return node
    if (expansion := expanded(node)) is not node:  # it had another layout
        return with_span_of(expansion, node, _canonical)
    tensor_type_of(node)  # errors are about this node, not about its expansion
    return with_span_of(RULES[node.op](node, *node.args), node, _canonical)


def _requantize_by_constants(node: Call) -> Expr:
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
        made = _requantize_in_floats(node, (factor, zero, out_zero))
    else:
        centered = minus(cast(data, "int32"), Constant(zero, node.span))
        made = centered if (factor == 1).all() else _fixed_point(node, centered, factor)
        made = made if not out_zero.any() else binary("add", made, Constant(out_zero, node.span))
    return with_span_of(made if dtype == "int32" else saturated(made, dtype), node, _canonical)


def _fixed_point(node: Call, data: Expr, factor: np.ndarray) -> Expr:
    """``data * factor`` in int32: a multiplication in int64, the addition of one half, and a shift."""
    multiplier, shift = multiplier_and_shift(factor)
    right_shift = np.minimum(FRACTION_BITS - np.minimum(shift, 0), MAX_SHIFT)
    half = np.left_shift(np.int64(1), right_shift - 1)
    with np.errstate(over="ignore"):
        # wraps, as the product itself would
        scaled_multiplier = np.left_shift(multiplier, np.maximum(shift, 0))
    product = binary("multiply", cast(data, "int64"), constant(scaled_multiplier, "int64"))
    rounding_term: Expr = constant(half, "int64")
    if node["rounding"] == "TONEAREST":
        positive = make("greater_equal", product, constant(0, "int64"), span=node.span)
        rounding_term = make("where", positive, rounding_term, constant(half - 1, "int64"), span=node.span)
    return cast(
        binary("right_shift", binary("add", product, rounding_term), constant(right_shift, "int64")), "int32"
    )


def _requantize_in_floats(node: Call, parameters: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Expr:
    compute_dtype, (factor, zero, out_zero) = dtypes.check(node["compute_dtype"]), parameters
    scaled = minus(cast(node.args[0], compute_dtype), constant(zero, compute_dtype))
    scaled = binary(
        "add", binary("multiply", scaled, constant(factor, compute_dtype)), constant(out_zero, compute_dtype)
    )
    half = constant(0.5, compute_dtype)
    made = make("floor", binary("add", scaled, half), span=node.span)
    if node["rounding"] == "TONEAREST":
        below = make("floor", binary("subtract", half, scaled), span=node.span)
        below = make("negative", below, span=node.span)
        negative = make("less", scaled, constant(0, compute_dtype), span=node.span)
        made = make("where", negative, below, made, span=node.span)
    return cast(made, "int32")
