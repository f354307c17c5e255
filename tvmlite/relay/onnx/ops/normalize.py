"""ONNX's normalisations and softmaxes."""

from __future__ import annotations

import math

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

LONGEST_WINDOW = 1024
"""The most neighbouring channels whose squares are added one by one."""

_SOFTMAXES = ("Softmax", "LogSoftmax", "Hardmax")


@converter(*_SOFTMAXES)
def softmax(node: OnnxNode, data: Expr) -> Expr:
    """Softmax, LogSoftmax, Hardmax along one axis; before opset 13 along all from ``axis`` on, flattened."""
    shape, axis = node.shape(data), node.attr("axis")
    if node.opset >= 13:
        return _softmax(node, data, node.axis(axis, len(shape)))
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        node.bad(f"axis {axis} is outside [0, {len(shape)}]")
    if axis == len(shape) - 1:
        return _softmax(node, data, axis)
    flat = node.reshape(data, (node.product(shape[:axis]), node.product(shape[axis:])))
    return node.reshape(_softmax(node, flat, 1), shape)


def _softmax(node: OnnxNode, data: Expr, axis: int) -> Expr:
    if node.op_type == "Softmax" and node.dtype(data) == "float16":
        return _half_softmax(node, data, axis)
    if node.op_type == "Softmax":
        return node.make("nn.softmax", data, axis=axis)
    if node.op_type == "LogSoftmax":
        return node.make("nn.log_softmax", data, axis=axis)
    shape = node.shape(data)
    largest = node.make("argmax", data, axis=(axis,), keepdims=True)
    places = node.arange(shape[axis], node.dtype(largest))
    places = node.reshape(places, [shape[axis] if i == axis else 1 for i in range(len(shape))])
    return node.cast(node.make("equal", largest, places), node.dtype(data))


def _half_softmax(node: OnnxNode, data: Expr, axis: int) -> Expr:
    """Softmax in float16, with every step rounded to float16: equals ONNX's own results to the last bit."""
    top = node.make("max", data, axis=(axis,), keepdims=True)
    powers = node.make("exp", node.subtract(data, top))
    return node.divide(powers, node.make("sum", powers, axis=(axis,), keepdims=True))


@converter("BatchNormalization")
def batch_norm(
    node: OnnxNode, data: Expr, scale: Expr, bias: Expr, mean: Expr, var: Expr
) -> Expr | list[Expr]:
    """BatchNormalization for inference, by the given statistics; older models have outputs for training."""
    if node.opset < 7 and not node.flag("is_test"):
        node.unsupported("is_test=0: training")
    if node.opset >= 14 and node.flag("training_mode"):
        return _training_norm(node, data, scale, bias, mean, var)
    if node.opset < 9 and not node.flag("spatial"):
        node.unsupported("spatial=0")
    dtype = node.dtype(data)
    values = [node.cast(v, dtype) for v in (scale, bias, mean, var)]
    made = node.make("nn.batch_norm", data, *values, axis=1, epsilon=node.attr("epsilon"))
    return node.field(made, 0)


def _training_norm(node: OnnxNode, data: Expr, scale: Expr, bias: Expr, mean: Expr, var: Expr) -> list[Expr]:
    """Normalize by the statistics of the batch, which also update the running ones."""
    axes = (0, *range(2, node.rank(data)))
    momentum = node.attr("momentum")
    batch_mean, batch_var = moments(node, data, axes)
    made = node.divide(node.subtract(data, batch_mean), _deviation(node, batch_var))
    made = node.multiply(made, _channelwise(node, scale, node.rank(data)))
    made = node.add(made, _channelwise(node, bias, node.rank(data)))
    running = [
        node.add(
            node.multiply(old, momentum), node.multiply(node.reshape(new, node.shape(old)), 1 - momentum)
        )
        for old, new in ((mean, batch_mean), (var, batch_var))
    ]
    return [made, *running]


def moments(node: OnnxNode, data: Expr, axes: tuple[int, ...]) -> tuple[Expr, Expr]:
    """Return the mean and the variance over ``axes``, which stay as 1s."""
    mean = node.make("mean", data, axis=axes, keepdims=True)
    gap = node.subtract(data, mean)
    return mean, node.make("mean", node.multiply(gap, gap), axis=axes, keepdims=True)


def _deviation(node: OnnxNode, variance: Expr) -> Expr:
    return node.make("sqrt", node.add(variance, node.attr("epsilon")))


def _channelwise(node: OnnxNode, value: Expr, rank: int) -> Expr:
    return node.reshape(value, (*node.shape(value), *(1,) * (rank - 2)))


@converter("InstanceNormalization")
def instance_norm(node: OnnxNode, data: Expr, scale: Expr, bias: Expr) -> Expr:
    """InstanceNormalization as nn.instance_norm: by channel of each sample, channels at axis 1."""
    return node.make("nn.instance_norm", data, scale, bias, axis=1, epsilon=node.attr("epsilon"))


@converter("GroupNormalization", since=21)
def group_norm(node: OnnxNode, data: Expr, scale: Expr, bias: Expr) -> Expr:
    """GroupNormalization from opset 21, whose scale and bias are by channel (by group before), at axis 1."""
    groups = node.required("num_groups")
    return node.make(
        "nn.group_norm", data, scale, bias, axis=1, num_groups=groups, epsilon=node.attr("epsilon")
    )


@converter("LayerNormalization", since=17)
def layer_norm(node: OnnxNode, data: Expr, scale: Expr, bias: Expr | None = None) -> list[Expr] | Expr:
    """LayerNormalization over the axes from ``axis`` on; one axis with vector parameters is nn.layer_norm."""
    shape, dtype = node.shape(data), node.dtype(data)
    axis = node.axis(node.attr("axis", -1), len(shape))
    statistics = node.has_output(1) or node.has_output(2)
    vectors = node.rank(scale) == 1 and (bias is None or node.rank(bias) == 1)
    if axis == len(shape) - 1 and vectors and not statistics and dims.equal(node.shape(scale)[0], shape[-1]):
        shift = node.full(0, (shape[-1],), dtype) if bias is None else bias
        return node.make("nn.layer_norm", data, scale, shift, axis=-1, epsilon=node.attr("epsilon"))
    work = "float32" if dtypes.bits(dtype) < 32 and node.attr("stash_type") == 1 else dtype
    mean, variance = moments(node, node.cast(data, work), tuple(range(axis, len(shape))))
    inverse = node.divide(node.const(1, work), _deviation(node, variance))
    made = node.multiply(node.subtract(node.cast(data, work), mean), inverse)
    made = node.multiply(node.cast(made, dtype), scale)
    if bias is not None:
        made = node.add(made, bias)
    return [made, mean, inverse] if statistics else made


@converter("RMSNormalization", since=23)
def rms_norm(node: OnnxNode, data: Expr, scale: Expr) -> Expr:
    """RMSNormalization over the axes from ``axis`` on, in float32 or wider; only the last: nn.rms_norm."""
    shape, dtype = node.shape(data), node.dtype(data)
    axis = node.axis(node.attr("axis", -1), len(shape))
    if axis == len(shape) - 1 and node.rank(scale) == 1 and dims.equal(node.shape(scale)[0], shape[-1]):
        return node.make("nn.rms_norm", data, scale, axis=-1, epsilon=node.attr("epsilon"))
    work = "float32" if dtypes.bits(dtype) < 32 else dtype
    wide = node.cast(data, work)
    square = node.make("mean", node.multiply(wide, wide), axis=tuple(range(axis, len(shape))), keepdims=True)
    made = node.cast(node.divide(wide, _deviation(node, square)), dtype)
    return node.multiply(made, scale)


@converter("MeanVarianceNormalization", since=9)
def mean_variance(node: OnnxNode, data: Expr) -> Expr:
    """MeanVarianceNormalization over ``axes``, by default 0, 2 and 3; 1e-9 is added to the deviation."""
    axes = tuple(sorted(node.axes(node.attr("axes", [0, 2, 3]), node.rank(data))))
    mean, variance = moments(node, data, axes)
    root = node.add(node.make("sqrt", variance), 1e-9)
    return node.divide(node.subtract(data, mean), root)


@converter("LpNormalization")
def lp_norm(node: OnnxNode, data: Expr) -> Expr:
    """LpNormalization: each row divided by its norm; a row of zeros is unchanged."""
    axis, p = node.axis(node.attr("axis", -1), node.rank(data)), node.attr("p")
    if p == 1:
        norm = node.make("sum", node.make("abs", data), axis=(axis,), keepdims=True)
    elif p == 2:
        squares = node.multiply(data, data)
        norm = node.make("sqrt", node.make("sum", squares, axis=(axis,), keepdims=True))
    else:
        node.bad(f"p is {p}, expected 1 or 2")
    zero = node.make("equal", norm, 0)
    safe = node.make("where", zero, node.const(1, node.dtype(data)), norm)
    return node.divide(data, safe)


@converter("LRN")
def local_response(node: OnnxNode, data: Expr) -> Expr:
    """``x / (bias + alpha / size * sum of squares over neighbouring channels) ** beta``."""
    size, alpha = node.required("size"), node.attr("alpha")
    beta, bias = node.attr("beta"), node.attr("bias")
    shape, rank = node.shape(data), node.rank(data)
    if size > LONGEST_WINDOW:
        node.unsupported(f"size is {size}, at most {LONGEST_WINDOW} is supported")
    if size < 1 or rank < 2:
        node.bad(f"size is {size} and data is {show_shape(shape)}, expected at least 1, and channels")
    before = (size - 1) // 2
    width = ((0, 0), (before, size - 1 - before), *((0, 0),) * (rank - 2))
    squares = node.multiply(data, data)
    wide = node.make("nn.pad", squares, pad_width=width, pad_value=0.0)
    total: Expr | None = None
    for start in range(size):
        part = node.make(
            "strided_slice",
            wide,
            begin=(start,),
            end=(dims.simplify(shape[1] + start),),
            strides=(1,),
            axes=(1,),
        )
        total = part if total is None else node.add(total, part)
    assert total is not None
    base = node.add(node.multiply(total, alpha / size), bias)
    if math.isclose(beta, 0.75):  # x ** -0.75 by two inverse roots: faster than a power
        root = node.make("sqrt", base)
        return node.divide(data, node.multiply(root, node.make("sqrt", root)))
    return node.divide(data, node.make("power", base, beta))
