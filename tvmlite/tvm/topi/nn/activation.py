"""Activation functions."""

from __future__ import annotations

from tvmlite import relay
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate


def relu(x: Tensor) -> Tensor:
    """``max(x, 0)``"""
    return operate("nn.relu", relay.nn.relu, x)


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """``x`` where it is positive, else ``alpha * x``."""
    return operate("nn.leaky_relu", lambda v: relay.nn.leaky_relu(v, alpha), x)


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """``x`` where it is positive, else ``slope * x``, with one slope for each index along ``axis``."""
    return operate("nn.prelu", lambda v, s: relay.nn.prelu(v, s, axis), x, slope)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """``exp(x)`` divided by its sum along ``axis``."""
    return operate("nn.softmax", lambda v: relay.nn.softmax(v, axis), x)


fast_softmax = softmax


def softmax_common(x: Tensor, axis: int, use_fast_exp: bool) -> Tensor:
    """``softmax``. ``use_fast_exp`` is ignored: the exponential is chosen when the model is compiled."""
    return softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of ``softmax``."""
    return operate("nn.log_softmax", lambda v: relay.nn.log_softmax(v, axis), x)


__getattr__ = refusing(__name__)
