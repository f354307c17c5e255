"""ONNX's activations, composed of element-wise operators."""

from __future__ import annotations

import math

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import broadcast_all
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter


@converter("Relu")
def relu(node: OnnxNode, data: Expr) -> Expr:
    return node.make("nn.relu", data)


@converter("LeakyRelu")
def leaky_relu(node: OnnxNode, data: Expr) -> Expr:
    return node.make("nn.leaky_relu", data, alpha=node.attr("alpha", 0.01))


@converter("PRelu", since=7)
def prelu(node: OnnxNode, data: Expr, slope: Expr) -> Expr:
    """A slope for each channel is nn.prelu; any other slope broadcasts."""
    shape, slopes = node.shape(data), node.shape(slope)
    at = len(shape) - len(slopes)
    channel = [i for i, d in enumerate(slopes) if not dims.equal(d, 1)]
    if (
        len(shape) > 1
        and len(channel) == 1
        and at + channel[0] == 1
        and dims.equal(slopes[channel[0]], shape[1])
    ):
        return node.make("nn.prelu", data, node.reshape(slope, (shape[1],)), axis=1)
    data, slope = broadcast_all(node, data, slope)
    return node.make("where", data < 0, slope * data, data)


@converter("Elu")
def elu(node: OnnxNode, data: Expr) -> Expr:
    return scaled_elu(node, data, node.attr("alpha", 1.0), 1.0)


@converter("Selu", since=6)
def selu(node: OnnxNode, data: Expr) -> Expr:
    return scaled_elu(
        node, data, node.attr("alpha", 1.67326319217681884765625), node.attr("gamma", 1.05070102214813232)
    )


def scaled_elu(node: OnnxNode, data: Expr, alpha: float, gamma: float) -> Expr:
    """``gamma * x`` where positive, else ``gamma * alpha * (exp(x) - 1)``."""
    below = (node.make("exp", data) - 1) * alpha
    made = node.make("where", data > 0, data, below)
    return made if gamma == 1.0 else made * gamma


@converter("Celu", since=12)
def celu(node: OnnxNode, data: Expr) -> Expr:
    alpha = node.attr("alpha", 1.0)
    below = node.make("exp", data / alpha) - 1
    low = node.make("minimum", below * alpha, 0)
    return node.make("maximum", data, 0) + low


@converter("ThresholdedRelu", since=10)
def thresholded_relu(node: OnnxNode, data: Expr) -> Expr:
    above = data > node.attr("alpha", 1.0)
    return node.make("where", above, data, node.const(0, node.dtype(data)))


@converter("HardSigmoid")
def hard_sigmoid(node: OnnxNode, data: Expr) -> Expr:
    return _hard_sigmoid(node, data, node.attr("alpha", 0.2), node.attr("beta", 0.5))


@converter("HardSwish", since=14)
def hard_swish(node: OnnxNode, data: Expr) -> Expr:
    return data * _hard_sigmoid(node, data, 1 / 6, 0.5)


def _hard_sigmoid(node: OnnxNode, data: Expr, alpha: float, beta: float) -> Expr:
    line = data * alpha + beta
    return node.make("clip", line, a_min=0.0, a_max=1.0)


@converter("Softplus")
def softplus(node: OnnxNode, data: Expr) -> Expr:
    """``log(1 + exp(x))`` without overflow: ``max(x, 0) + log(1 + exp(-|x|))``."""
    small = node.make("exp", -node.make("abs", data))
    return node.make("maximum", data, 0) + node.make("log", small + 1)


@converter("Softsign")
def softsign(node: OnnxNode, data: Expr) -> Expr:
    return data / (node.make("abs", data) + 1)


@converter("Mish", since=18)
def mish(node: OnnxNode, data: Expr) -> Expr:
    return data * node.make("tanh", softplus(node, data))


@converter("Swish", since=24)
def swish(node: OnnxNode, data: Expr) -> Expr:
    alpha = node.attr("alpha", 1.0)
    scaled = data if alpha == 1.0 else data * alpha
    return data * node.make("sigmoid", scaled)


@converter("Shrink", since=9)
def shrink(node: OnnxNode, data: Expr) -> Expr:
    lambd, bias = node.attr("lambd", 0.5), node.attr("bias", 0.0)
    dtype = node.dtype(data)
    zero = node.const(0, dtype)
    high = data - bias
    low = data + bias
    inner = node.make("where", data < node.const(-lambd, dtype), low, zero)
    return node.make("where", data > node.const(lambd, dtype), high, inner)


@converter("Gelu", since=20)
def gelu(node: OnnxNode, data: Expr) -> Expr:
    kind = node.attr("approximate", "none")
    if kind not in ("none", "tanh"):
        node.bad(f"approximate is {kind!r}, expected 'none' or 'tanh'")
    return gelu_by(node, data, kind)


def gelu_by(node: OnnxNode, data: Expr, kind: str) -> Expr:
    """``x`` times its normal distribution: exact (``none``), or by a ``tanh``."""
    half = data * 0.5
    if kind == "none":
        curve = node.make("erf", data * math.sqrt(0.5))
    else:
        cube = data * data * data
        inner = data + cube * 0.044715
        curve = node.make("tanh", inner * math.sqrt(2 / math.pi))
    return half * (curve + 1)
