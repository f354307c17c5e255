"""ONNX's activations: formulas of element-wise operators. Attributes have the defaults of ONNX's schemas."""

from __future__ import annotations

import math

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import broadcast_all
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter


@converter("Relu")
def relu(node: OnnxNode, data: Expr) -> Expr:
    """Relu, ``max(x, 0)``, as nn.relu."""
    return node.make("nn.relu", data)


@converter("LeakyRelu")
def leaky_relu(node: OnnxNode, data: Expr) -> Expr:
    """LeakyRelu as nn.leaky_relu: below 0 the data is multiplied by ``alpha``."""
    return node.make("nn.leaky_relu", data, alpha=node.attr("alpha"))


@converter("PRelu", since=7)
def prelu(node: OnnxNode, data: Expr, slope: Expr) -> Expr:
    """PRelu: a slope for each channel is nn.prelu; any other slope broadcasts."""
    shape, slopes = node.shape(data), node.shape(slope)
    at = len(shape) - len(slopes)
    long_axes = [at + i for i, d in enumerate(slopes) if not dims.equal(d, 1)]
    if len(shape) > 1 and long_axes == [1] and dims.equal(slopes[1 - at], shape[1]):
        return node.make("nn.prelu", data, node.reshape(slope, (shape[1],)), axis=1)
    data, slope = broadcast_all(node, data, slope)
    return node.make("where", node.less(data, 0), node.multiply(slope, data), data)


@converter("Elu", "Selu")
def elu(node: OnnxNode, data: Expr) -> Expr:
    """Elu and Selu: ``gamma * x`` if positive, else ``gamma * alpha * (exp(x) - 1)``; Elu has no gamma."""
    below = node.multiply(node.subtract(node.make("exp", data), 1), node.attr("alpha"))
    made = node.make("where", node.greater(data, 0), data, below)
    return node.multiply(made, node.attr("gamma")) if node.op_type == "Selu" else made


@converter("Celu", since=12)
def celu(node: OnnxNode, data: Expr) -> Expr:
    """Celu: ``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""
    alpha = node.attr("alpha")
    below = node.multiply(node.subtract(node.make("exp", node.divide(data, alpha)), 1), alpha)
    return node.add(node.make("maximum", data, 0), node.make("minimum", below, 0))


@converter("ThresholdedRelu", since=10)
def thresholded_relu(node: OnnxNode, data: Expr) -> Expr:
    """ThresholdedRelu: ``x`` if it is greater than ``alpha``, else 0."""
    return node.make("where", node.greater(data, node.attr("alpha")), data, node.const(0, node.dtype(data)))


@converter("HardSigmoid")
def hard_sigmoid(node: OnnxNode, data: Expr) -> Expr:
    """HardSigmoid: ``alpha * x + beta`` clipped to [0, 1]."""
    line = node.add(node.multiply(data, node.attr("alpha")), node.attr("beta"))
    return node.make("clip", line, a_min=0.0, a_max=1.0)


@converter("HardSwish", since=14)
def hard_swish(node: OnnxNode, data: Expr) -> Expr:
    """HardSwish: ``x`` times its hard sigmoid, ``x / 6 + 0.5`` clipped to [0, 1]."""
    return node.multiply(
        data, node.make("clip", node.add(node.multiply(data, 1 / 6), 0.5), a_min=0.0, a_max=1.0)
    )


@converter("Softplus")
def softplus(node: OnnxNode, data: Expr) -> Expr:
    """Softplus: ``log(1 + exp(x))`` without overflow, as ``max(x, 0) + log(1 + exp(-|x|))``."""
    small = node.make("exp", node.negative(node.make("abs", data)))
    return node.add(node.make("maximum", data, 0), node.make("log", node.add(small, 1)))


@converter("Softsign")
def softsign(node: OnnxNode, data: Expr) -> Expr:
    """Softsign: ``x / (1 + |x|)``."""
    return node.divide(data, node.add(node.make("abs", data), 1))


@converter("Mish", since=18)
def mish(node: OnnxNode, data: Expr) -> Expr:
    """Mish: ``x * tanh(softplus(x))``."""
    return node.multiply(data, node.make("tanh", softplus(node, data)))


@converter("Swish", since=24)
def swish(node: OnnxNode, data: Expr) -> Expr:
    """Swish: ``x * sigmoid(alpha * x)``; ``alpha`` 1, the default, is SiLU."""
    alpha = node.attr("alpha")
    return node.multiply(data, node.make("sigmoid", data if alpha == 1.0 else node.multiply(data, alpha)))


@converter("Shrink", since=9)
def shrink(node: OnnxNode, data: Expr) -> Expr:
    """Shrink: 0 within ``lambd`` of 0; beyond it the data, moved towards 0 by ``bias``."""
    limit, bias, dtype = node.attr("lambd"), node.attr("bias"), node.dtype(data)
    high, low = node.subtract(data, bias), node.add(data, bias)
    inner = node.make("where", node.less(data, node.const(-limit, dtype)), low, node.const(0, dtype))
    return node.make("where", node.greater(data, node.const(limit, dtype)), high, inner)


@converter("Gelu", since=20)
def gelu(node: OnnxNode, data: Expr) -> Expr:
    """Gelu, from opset 20: exact by erf, or with ``approximate="tanh"`` by tanh."""
    return gelu_by(node, data, node.choice("approximate", "none", "tanh"))


def gelu_by(node: OnnxNode, data: Expr, kind: str) -> Expr:
    """``x`` times the normal cumulative distribution: exact (``none``), or approximated by ``tanh``."""
    half = node.multiply(data, 0.5)
    if kind == "none":
        curve = node.make("erf", node.multiply(data, math.sqrt(0.5)))
    else:
        inner = node.add(data, node.multiply(node.multiply(node.multiply(data, data), data), 0.044715))
        curve = node.make("tanh", node.multiply(inner, math.sqrt(2 / math.pi)))
    return node.multiply(half, node.add(curve, 1))
