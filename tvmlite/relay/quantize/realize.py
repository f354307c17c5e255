"""Replace marks by 8-bit numbers: the last of the three passes of quantization."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core import mapped
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.passes.graph_pass import graph_pass, rebuild
from tvmlite.relay.quantize.annotate import MARK
from tvmlite.relay.quantize.ranges import safe_scales
from tvmlite.relay.quantize.recurrent import RECURRENT, with_int8_recurrence

MAX_WEIGHT_CODE = 127
"""Weights are -127 to 127: symmetric, so that their zero point is 0."""


@graph_pass
def quantize_realize(body: Expr) -> Expr:
    """Rewrite a marked tensor to ``qnn.dequantize(qnn.quantize(x, scale, zero), scale, zero)``.

    For a mark without a range, as before calibration, the range is computed from ``x`` in each run: dynamic
    quantization. A marked constant becomes ``qnn.dequantize`` of int8 numbers, -127 to 127, with scales along
    its ``channel_axis`` that map its largest elements to 127. A tensor that several layers read with the same
    range is quantized once. A recurrent layer with a marked recurrence becomes its int8 version.
    """
    made: dict[tuple[Expr, str, float, float], Expr] = {}
    weights: dict[tuple[Expr, int | None], Expr] = {}

    def realize(given: Expr, node: Expr) -> Expr:
        if isinstance(given, Call) and given.op in RECURRENT:
            assert isinstance(node, Call)
            return realized_recurrence(given, node)
        if not (isinstance(node, Call) and node.op == MARK):
            return node
        (data,) = node.args
        if isinstance(data, Constant):
            key_of_weight = data, node["channel_axis"]
            if key_of_weight not in weights:
                weights[key_of_weight] = quantized_weight(node, data)
            return weights[key_of_weight]
        key = data, node["dtype"], node["low"], node["high"]
        if key not in made:
            made[key] = quantized_data(node, data)
        return made[key]

    return rebuild(body, realize)


def realized_recurrence(given: Call, made: Call) -> Call:
    """The layer ``made``, ``given`` with realized arguments, as an int8 recurrent layer if the recurrence of
    ``given`` is marked."""
    mark = given.args[1]
    if not (isinstance(mark, Call) and mark.op == MARK):
        return made
    (recurrence,) = mark.args
    assert isinstance(recurrence, Constant)
    return with_int8_recurrence(made, recurrence, mark["channel_axis"] is not None)


def scale_and_zero(low: float, high: float, dtype: str) -> tuple[np.float32, int]:
    """The scale and zero point that map ``low`` to ``high``, widened to include 0, to all of uint8; for int8,
    they map the larger magnitude to 127. If the range is only 0, or its scale subnormal, the scale is 1."""
    low, high = min(low, 0.0), max(high, 0.0)
    if dtype == "int8":
        return np.float32(safe_scales(np.float32(max(-low, high) / MAX_WEIGHT_CODE))), 0
    lowest_code, highest_code = dtypes.limits(dtype)
    scale = safe_scales(np.float32((high - low) / (highest_code - lowest_code)))
    return scale, int(np.clip(np.rint(lowest_code - low / scale), lowest_code, highest_code))


def quantized_data(mark: Call, data: Expr) -> Expr:
    """``data`` rounded to steps of its mark's range; without one, of the range that it has in each run."""
    scale: Expr
    zero: Expr
    if mark["low"] is None or mark["high"] is None:
        scale, zero = _dynamic_parameters(mark, data)
    else:
        factor, offset = scale_and_zero(mark["low"], mark["high"], mark["dtype"])
        scale, zero = constant(factor, "float32"), constant(offset, mark["dtype"])
    steps = make("qnn.quantize", data, scale, zero, out_dtype=mark["dtype"], span=mark.span)
    return make("qnn.dequantize", steps, scale, zero, span=mark.span)


def _dynamic_parameters(mark: Call, data: Expr) -> tuple[Expr, Expr]:
    """Scale and zero point computed from ``data`` in each run, as in ONNX's DynamicQuantizeLinear; for int8
    as in ``scale_and_zero``. If all elements are 0, the scale is 1."""

    def op(name: str, *args: Expr, **attrs: Any) -> Expr:
        return make(name, *args, span=mark.span, **attrs)

    axes, nothing, one = (
        tuple(range(tensor_type_of(data).ndim)),
        constant(0, "float32"),
        constant(1, "float32"),
    )
    if mark["dtype"] == "int8":
        scale = op("divide", op("max", op("abs", data), axis=axes), constant(MAX_WEIGHT_CODE, "float32"))
        return op("where", op("equal", scale, nothing), one, scale), constant(0, "int8")
    high = op("maximum", op("max", data, axis=axes), nothing)
    low = op("minimum", op("min", data, axis=axes), nothing)
    scale = op("divide", op("subtract", high, low), constant(255, "float32"))
    scale = op("where", op("equal", scale, nothing), one, scale)
    zero = op("round", op("divide", op("subtract", nothing, low), scale))
    return scale, op("cast", op("clip", zero, a_min=0.0, a_max=255.0), dtype="uint8")


def quantized_weight(mark: Call, weight: Constant) -> Expr:
    """``weight`` as the dequantization of int8 numbers by constant scales."""
    axis = mark["channel_axis"]
    with mapped.reading(weight.data) as values:
        scales = weight_scales(values, axis)
        steps = np.rint(values / broadcastable(scales, axis, values.ndim))
    steps = np.clip(steps, -MAX_WEIGHT_CODE, MAX_WEIGHT_CODE).astype(np.int8)
    zeros = constant(np.zeros(scales.shape, np.int8))
    args = Constant(steps, weight.span), Constant(scales), zeros
    made = make("qnn.dequantize", *args, axis=-1 if axis is None else axis, span=mark.span)
    assert tensor_type_of(made).shape == weight.shape, "one number an element"
    return made


def weight_scales(values: np.ndarray, axis: int | None) -> np.ndarray:
    """The float32 scales with which the slices along ``axis`` fill -127 to 127; a single scale of rank 0 if
    it is None. The scale is 1 where it would be 0 or subnormal."""
    others = tuple(k for k in range(values.ndim) if axis is None or k != axis % values.ndim)
    largest = np.max(np.abs(values), axis=others, initial=0.0).astype(np.float32)
    return np.asarray(safe_scales(largest / np.float32(MAX_WEIGHT_CODE)), np.float32)


def broadcastable(scales: np.ndarray, axis: int | None, rank: int) -> np.ndarray:
    """``scales`` in a shape that broadcasts with ``rank`` axes."""
    if axis is None:
        return scales
    shape = [1] * rank
    shape[axis] = -1
    return scales.reshape(shape)
