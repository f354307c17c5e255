"""Bias correction: subtract the mean error that quantization adds to a layer's results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import readers_of, rebuild
from tvmlite.relay.quantize.noise import Noise, channel_axis, layers_of


def correct_bias(module: Module, noise: Mapping[str, Noise]) -> Module:
    """``module``, with marks, and with the mean error of each output channel corrected in every product
    layer.

    The correction is added to the layer's result, or to a constant bias if it has one. Source: Nagel et al.,
    "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, arXiv:1906.04721, section
    4.2, with the error measured on data (its appendix D), for weights and data together.
    """
    body = module.main.body
    errors: dict[Expr, np.ndarray] = {
        call: _broadcastable(call, error)
        for name, call in layers_of(module).items()
        if name in noise and (error := noise[name].error) is not None and np.isfinite(error).all()
    }
    readers = readers_of(body)
    addition_of: dict[Expr, Expr] = {
        call: reader for call in errors if (reader := _bias_addition(call, readers[call])) is not None
    }

    def rule(node: Expr, made: Expr) -> Expr:
        if node in errors and node not in addition_of:
            return make("add", made, Constant(errors[node]), span=made.span)  # type: ignore[union-attr]
        if isinstance(made, Call) and made.op == "add" and isinstance(node, Call):
            for position, arg in enumerate(node.args):
                if addition_of.get(arg) is node:
                    args = list(made.args)
                    bias = args[1 - position]
                    assert isinstance(bias, Constant)
                    args[1 - position] = Constant((bias.data + errors[arg]).astype(np.float32), bias.span)
                    return dataclasses.replace(made, args=tuple(args))
        return made

    body = rebuild(body, rule)
    return module.with_main(dataclasses.replace(module.main, body=body)) if errors else module


def _broadcastable(call: Call, error: np.ndarray) -> np.ndarray:
    """``error`` in a shape that broadcasts with the result of ``call``."""
    trailing_axes = tensor_type_of(call).ndim - 1 - channel_axis(call)
    return error.reshape(-1, *(1,) * trailing_axes)


def _bias_addition(call: Expr, readers: list[Expr | None]) -> Expr | None:
    """The addition of a constant to ``call``, if nothing else reads ``call``."""
    match readers:
        case [Call(op="add", args=(a, b)) as reader] if same_type(type_of(reader), type_of(call)):
            return reader if isinstance(b if a is call else a, Constant) else None
    return None
