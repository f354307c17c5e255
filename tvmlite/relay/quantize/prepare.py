"""Prepare a float module for quantization: its weights final, its activations single operators."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlite.core import mapped
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module
from tvmlite.relay.passes.infer_types import infer_types
from tvmlite.relay.passes.recognize.recognize_activations import recognize_activations
from tvmlite.relay.passes.recognize.recognize_attention import recognize_attention
from tvmlite.relay.passes.recognize.recognize_norms import recognize_norms
from tvmlite.relay.passes.recognize.recognize_softmax import recognize_softmax
from tvmlite.relay.passes.simplify.canonicalize_ops import canonicalize_ops
from tvmlite.relay.passes.simplify.combine_dense_of_slices import combine_dense_of_slices
from tvmlite.relay.passes.simplify.combine_parallel_dense import combine_parallel_dense
from tvmlite.relay.passes.simplify.dead_code import dead_code
from tvmlite.relay.passes.simplify.eliminate_common_subexpr import eliminate_common_subexpr
from tvmlite.relay.passes.simplify.fold_constant import fold_constant
from tvmlite.relay.passes.simplify.fold_scale_axis import fold_scale_axis
from tvmlite.relay.passes.simplify.join_pieces import join_pieces
from tvmlite.relay.passes.simplify.simplify_expr import simplify_expr
from tvmlite.relay.passes.simplify.simplify_inference import simplify_inference
from tvmlite.relay.passes.simplify.sink_reshapes import sink_reshapes
from tvmlite.relay.passes.sink_transposes import sink_transposes
from tvmlite.relay.passes.write_out import write_out

NAMESPACE = "qnn."
"""The prefix of the operators that only quantized modules have."""


def prepare(module: Module, attention: bool = False) -> Module:
    """``module`` with batch norms folded into weights, and operations in smaller operators recognized.

    Attention becomes one operator, whose products stay in float32, unless they are to be quantized
    (``attention``). An InputError if ``module`` is quantized already.
    """
    node = _quantized_node(module)
    if node is not None:
        raise InputError(
            f"quantize: the module is quantized already: it has {node.op}",
            node.span,
            hint="give the float module; tvmlite.compile takes quantized ones as they are",
        )
    passes = [infer_types, write_out, dead_code, simplify_inference, fold_constant, canonicalize_ops]
    passes += [sink_transposes, simplify_expr, eliminate_common_subexpr, join_pieces]
    passes += [recognize_norms, recognize_softmax, recognize_activations]
    passes += [] if attention else [recognize_attention]
    passes += [eliminate_common_subexpr, combine_dense_of_slices, combine_parallel_dense, sink_reshapes]
    passes += [fold_constant, fold_scale_axis, fold_constant]
    for one in passes:
        module = one(module)
    return module


def check_finite(name: str, call: Call, args: Iterable[Expr]) -> None:
    """Raise an InputError if a constant in ``args`` of the layer ``name`` is not finite: no scale fits."""
    for one in args:
        if not isinstance(one, Constant):
            continue
        with mapped.reading(one.data) as values:
            if not np.isfinite(values).all():
                raise InputError(f"quantize: the weights of {name!r} have NaN or infinity", call.span)


def is_quantized(module: Module) -> bool:
    """Whether ``module`` has operators on quantized numbers."""
    return _quantized_node(module) is not None


def _quantized_node(module: Module) -> Call | None:
    """The first operator of ``module`` on quantized numbers, or None."""
    bodies = (function.body for function in module.functions.values())
    calls = (node for body in bodies for node in postorder(body) if isinstance(node, Call))
    return next((node for node in calls if _is_quantized_operator(node)), None)


def _is_quantized_operator(node: Call) -> bool:
    if str(node.op).startswith(NAMESPACE):
        return True
    integers = [arg for arg in node.args if isinstance(arg, Constant) and arg.dtype.kind in "iu"]
    return str(node.op).startswith(("nn.conv", "nn.dense", "nn.matmul")) and bool(integers)
