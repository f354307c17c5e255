"""Smooth activations, each a single operator: gelu, silu (swish), hard swish, mish."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import choice
from tvmlite.relay.ops.common import FLOAT, data_type, horner, intrinsic, numpy_reference
from tvmlite.relay.ops.convolutions.conv import sum_dtype
from tvmlite.relay.ops.elementwise.unary import erf_numpy, wide_numpy
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor

CUBE = 0.044715
"""The factor of the cube in the ``tanh`` form of gelu (Hendrycks and Gimpel 2016, arXiv:1606.08415)."""

LOG_TAIL = (
    -0.7978865561583718,
    -0.3182855772345466,
    -0.03643344093751682,
    0.004967978780896215,
    -0.00015330549866270798,
    -0.00010381879539029226,
    2.180518371010481e-05,
    -1.494447139027373e-06,
)
"""Coefficients of ``log(erfc(a / sqrt 2)) / a`` in powers of ``a`` on 0 .. 6: a minimax fit (Lawson's
iteration) of ``a erfc(a / sqrt 2) / 2``, with an error of 1.2e-8. Times ``a`` it decreases for all ``a``."""

TAIL_LIMIT = 10.25
"""The greatest ``a`` at which that tail is evaluated; beyond, it keeps its value there, 1.2e-37. Further out
its exponential would be subnormal, which takes some processors ten times as long."""


def _float64_reference(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return numpy_reference(wide_numpy(function))


def _gelu_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    x = data.astype(np.float64)
    with np.errstate(all="ignore"):
        if call["approximate"] == "tanh":
            curve = np.tanh(math.sqrt(2 / math.pi) * (x + CUBE * x**3))
        else:
            curve = erf_numpy(x * math.sqrt(0.5))
        return (0.5 * x * (1 + curve)).astype(data.dtype)


def _register(name: str, reference: Callable[..., np.ndarray], **columns: Any) -> Callable[..., Any]:
    """Register ``formula(call, x)`` of floats as the operator ``name``; ``x`` is in the dtype of sums."""

    def register(formula: Callable[[Call, e.Expr], e.Expr]) -> None:
        @elemwise(name, infer=data_type(FLOAT), reference=reference, doc=formula.__doc__, **columns)
        def apply(call: Call, i: Indices, data: Tensor) -> e.Expr:
            return e.cast(data.dtype, formula(call, e.cast(sum_dtype(data.dtype), data[i])))

    return register


@_register("nn.gelu", _gelu_numpy, attrs={"approximate": choice("none", "tanh")})
def _gelu(call: Call, x: e.Expr) -> e.Expr:
    """``x`` times the normal cumulative distribution function at ``x``: exact, or approximated by ``tanh``.

    In float32 this is ``max(x, 0) - a erfc(a / sqrt 2) / 2`` with ``a = |x|``, from one exponential: within
    2.5 ULP from -1 on, within 9e-8 of ``|x|`` below. This is faster than ``erf``, and ``1 + erf`` would lose
    the negative tail to cancellation. Other dtypes use ``erf``.
    """
    if call["approximate"] == "tanh":
        inner = x * (x * x * (CUBE * math.sqrt(2 / math.pi)) + math.sqrt(2 / math.pi))
        return x * 0.5 * (intrinsic("tanh", inner) + 1.0)
    if x.dtype != "float32":
        return x * 0.5 * (intrinsic("erf", x * math.sqrt(0.5)) + 1.0)
    a = e.Min(intrinsic("fabs", x), e.const(TAIL_LIMIT, x.dtype))
    return e.Max(x, e.const(0, x.dtype)) - a * 0.5 * intrinsic("exp", a * horner(a, LOG_TAIL))


@_register("nn.silu", _float64_reference(lambda x: x / (1 + np.exp(-x))))
def _silu(call: Call, x: e.Expr) -> e.Expr:
    """``x * sigmoid(x)``, also known as swish."""
    return x * intrinsic("sigmoid", x)


@_register("nn.hard_swish", _float64_reference(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)))
def _hard_swish(call: Call, x: e.Expr) -> e.Expr:
    """``x * clip(x / 6 + 1 / 2, 0, 1)``."""
    line = x * (1 / 6) + 0.5
    return x * e.Min(e.Max(line, e.const(0, line.dtype)), e.const(1, line.dtype))


@_register("nn.mish", _float64_reference(lambda x: x * np.tanh(np.logaddexp(0, x))))
def _mish(call: Call, x: e.Expr) -> e.Expr:
    """``x * tanh(log(1 + exp(x)))``, computed from one exponential.

    ``tanh(log(1 + u))`` is ``w / (w + 2)`` with ``w = u * (u + 2)``. From 20 on, the factor is 1 to the last
    digits of float64.
    """
    powers = intrinsic("exp", e.Min(x, e.const(20, x.dtype)))
    grown = powers * (powers + 2.0)
    return x * (grown / (grown + 2.0))
