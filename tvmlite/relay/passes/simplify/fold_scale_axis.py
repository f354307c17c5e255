"""Fold a scale after a convolution or dense layer, as batch normalization leaves it, into the weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core import mapped
from tvmlite.relay.ir import deferred
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import rewrite_with_readers
from tvmlite.relay.passes.quantized_chains import quantized_chains

CONVOLUTIONS = {"nn.conv1d": "OIW", "nn.conv2d": "OIHW", "nn.conv3d": "OIDHW"}
TRANSPOSED = {"nn.conv1d_transpose": "IOW", "nn.conv2d_transpose": "IOHW", "nn.conv3d_transpose": "IODHW"}
"""The supported convolutions and their kernel layouts; the data's channels are axis 1."""


@graph_pass
def fold_scale_axis(body: Expr) -> Expr:
    """Rewrite ``conv(x, w) * c`` to ``conv(x, w * c)``, and ``(conv(x, w) + b) * c`` to
    ``conv(x, w * c) + b * c``.

    ``w``, ``b`` and ``c`` must be constant; ``c`` may differ between output channels only; nothing else may
    read the scaled value; and all scaled weights must be finite. Sums of integers are exact until they are
    scaled: where the result is rounded to steps (``quantized_chains``), they are left as they are.
    """
    return rewrite_with_readers(body, _fold, kept=quantized_chains(body))


def _fold(node: Expr, readers: Mapping[Expr, int]) -> Expr:
    match node:
        case Call(op="multiply", args=(Call() as x, Constant(factor)) | (Constant(factor), Call() as x)):
            floats = dtypes.is_float(dtypes.check(factor.dtype))
            if floats and same_type(type_of(node), type_of(x)):
                return _scaled(x, factor, readers) or node
    return node


def _scaled(value: Call, factor: np.ndarray, readers: Mapping[Expr, int]) -> Expr | None:
    """``value * factor`` without the multiplication, or None; new nodes have one reader, as ``value`` has."""
    biases: list[tuple[Call, Constant]] = []
    while value.op in ("add", "nn.bias_add") and readers.get(value, 1) == 1:
        inner, bias = value.args
        if value.op == "add" and isinstance(inner, Constant):
            inner, bias = bias, inner
        scaled = _scaled_bias(value, bias, factor)
        if not isinstance(inner, Call) or scaled is None:
            return None
        biases.append((value, scaled))
        value = inner
    result = _scaled_anchor(value, factor) if readers.get(value, 1) == 1 else None
    if result is None:
        return None
    for call, bias in reversed(biases):
        result = dataclasses.replace(call, args=(result, bias))
    return result


def _scaled_bias(call: Call, bias: Expr, factor: np.ndarray) -> Constant | None:
    if not isinstance(bias, Constant):
        return None
    if call.op == "add":
        product = bias.data * factor
        if product.size > max(bias.data.size, factor.size):
            return None  # the bias and the scale vary along different axes
        return Constant(product, bias.span)
    rank = tensor_type_of(call).ndim
    channels = _vector_along(factor, rank, call["axis"] % rank)
    return None if channels is None else Constant(bias.data * channels, bias.span)


def _scaled_anchor(call: Call, factor: np.ndarray) -> Call | None:
    axes = _channel_axes(call)
    if axes is None or not isinstance(call.args[1], Constant):
        return None
    weights, type_ = call.args[1], tensor_type_of(call)
    if dtypes.check(weights.dtype) != type_.dtype:
        return None
    channels = _vector_along(factor, type_.ndim, axes[0])
    if channels is None:
        return None
    shape = [1] * len(weights.shape)
    shape[axes[1]] = -1
    scaled = _product(weights, channels.reshape(shape), axes[1])
    # zero times an infinite weight would be NaN; a finite sum times the scale is not
    return None if scaled is None else dataclasses.replace(call, args=(call.args[0], scaled))


def _product(weights: Constant, factor: np.ndarray, axis: int) -> Constant | None:
    """``weights * factor``, deferred if it is large. ``factor`` varies along ``axis`` only. None if the
    product is not finite, which is tested on the maximum and the minimum of each channel."""
    others = tuple(k for k in range(len(weights.shape)) if k != axis)
    with mapped.reading(weights.data) as data, np.errstate(over="ignore", invalid="ignore"):
        extremes = [
            reduce(data, axis=others, keepdims=True, initial=0) * factor for reduce in (np.max, np.min)
        ]
    if not all(np.isfinite(one).all() for one in extremes):
        return None

    def fill(out: np.ndarray) -> None:
        with mapped.reading(weights.data) as data:
            np.multiply(data, factor, out=out)

    made = DeferredConstant(weights.shape, weights.dtype, fill, weights.span)
    return made if made.nbytes >= deferred.LARGE_BYTES else Constant(made.data, weights.span)


def _channel_axes(call: Call) -> tuple[int, int] | None:
    """The axis of the output channels in the result of an anchor and in its weights."""
    name = str(call.op)
    if name in CONVOLUTIONS and call["kernel_layout"] == CONVOLUTIONS[name]:
        return 1, 0
    if name in TRANSPOSED and call["kernel_layout"] == TRANSPOSED[name] and call["groups"] == 1:
        return 1, 1
    last = tensor_type_of(call).ndim - 1
    if name == "nn.dense":
        return last, 0
    if name == "nn.matmul" and tensor_type_of(call.args[1]).ndim == 2:
        return last, 0 if call["transpose_b"] else 1
    return None


def _vector_along(factor: np.ndarray, rank: int, axis: int) -> np.ndarray | None:
    """``factor`` as a vector along ``axis`` of a value of rank ``rank``; None if it varies along others."""
    shape = (1,) * (rank - factor.ndim) + factor.shape
    if any(extent != 1 for position, extent in enumerate(shape) if position != axis):
        return None
    return factor.reshape(-1)
