"""Smooth activations, each one operator: gelu, silu (swish), hard swish, mish."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import elementwise, fault, horner, intrinsic, quietly
from tvmlite.relay.ops.conv import sum_dtype
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
"""``log(erfc(a / sqrt 2)) / a`` in ``a``: a minimax polynomial on 0 .. 6 (Lawson's iteration) by the error of
``a erfc(a / sqrt 2) / 2``, which is 1.2e-8. Its product with ``a`` falls for all ``a``."""

TAIL_ENDS = 10.25
"""From here on that tail stays as it is, at 1.2e-37: further out its exponential would be subnormal, by which
some processors take ten times as long."""


def _float(call: Call, data: TensorType) -> TensorType:
    if not dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data.dtype}, expected a float")
    return data


def _gelu_type(call: Call, data: TensorType) -> TensorType:
    if call["approximate"] not in ("none", "tanh"):
        raise fault(call, f"approximate is {call['approximate']!r}, expected 'none' or 'tanh'")
    return _float(call, data)


def _gelu_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    x = data.astype(np.float64)
    with np.errstate(all="ignore"):
        if call["approximate"] == "tanh":
            curve = np.tanh(math.sqrt(2 / math.pi) * (x + CUBE * x**3))
        else:
            curve = np.vectorize(math.erf, otypes=[np.float64])(x * math.sqrt(0.5))
        return (0.5 * x * (1 + curve)).astype(data.dtype)


@operator(
    "nn.gelu",
    infer=_gelu_type,
    reference=_gelu_numpy,
    fuse=Fuse.ELEMWISE,
    attrs={"approximate": "none"},
)
def gelu(call: Call, data: Tensor) -> Tensor:
    """``x`` times the normal distribution up to it: exact, or approximately by ``tanh``.

    In float32 by one exponential, ``max(x, 0) - a erfc(a / sqrt 2) / 2`` with ``a = |x|``: within 2.5 ULP
    from -1 on, within 9e-8 of ``|x|`` below. That takes less time than ``erf``, where ``1 + erf`` besides
    loses what is left of the negative tail. Else by ``erf``.
    """

    def exact(x: e.Expr) -> e.Expr:
        if x.dtype != "float32":
            return x * 0.5 * (intrinsic("erf", x * math.sqrt(0.5)) + 1.0)
        a = e.Min(intrinsic("fabs", x), e.const(TAIL_ENDS, x.dtype))
        return e.Max(x, e.const(0, x.dtype)) - a * 0.5 * intrinsic("exp", a * horner(a, LOG_TAIL))

    def approximate(x: e.Expr) -> e.Expr:
        inner = x * (x * x * (CUBE * math.sqrt(2 / math.pi)) + math.sqrt(2 / math.pi))
        return x * 0.5 * (intrinsic("tanh", inner) + 1.0)

    return _wide(data, approximate if call["approximate"] == "tanh" else exact, "gelu")


def _wide(data: Tensor, formula: Callable[[e.Expr], e.Expr], name: str) -> Tensor:
    """``formula`` in the dtype that sums of the data's have."""
    work = sum_dtype(data.dtype)
    return elementwise(data, lambda x: e.cast(data.dtype, formula(e.cast(work, x))), name)


def _silu_numpy(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide / (1 + np.exp(-wide))


@operator("nn.silu", infer=_float, reference=quietly(_silu_numpy), fuse=Fuse.ELEMWISE)
def silu(call: Call, data: Tensor) -> Tensor:
    """``x * sigmoid(x)``, also known as swish."""
    return _wide(data, lambda x: x * intrinsic("sigmoid", x), "silu")


def _hard_swish_numpy(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide * np.clip(wide / 6 + 0.5, 0, 1)


@operator("nn.hard_swish", infer=_float, reference=quietly(_hard_swish_numpy), fuse=Fuse.ELEMWISE)
def hard_swish(call: Call, data: Tensor) -> Tensor:
    """``x * clip(x / 6 + 1 / 2, 0, 1)``."""

    def formula(x: e.Expr) -> e.Expr:
        line = x * (1 / 6) + 0.5
        return x * e.Min(e.Max(line, e.const(0, line.dtype)), e.const(1, line.dtype))

    return _wide(data, formula, "hard_swish")


def _mish_numpy(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide * np.tanh(np.logaddexp(0, wide))


@operator("nn.mish", infer=_float, reference=quietly(_mish_numpy), fuse=Fuse.ELEMWISE)
def mish(call: Call, data: Tensor) -> Tensor:
    """``x * tanh(log(1 + exp(x)))``, by way of one exponential.

    ``tanh(log(1 + u))`` is ``w / (w + 2)`` with ``w = u * (u + 2)``. From 20 on the factor is 1, to float64's
    last digits.
    """

    def formula(x: e.Expr) -> e.Expr:
        powers = intrinsic("exp", e.Min(x, e.const(20, x.dtype)))
        grown = powers * (powers + 2.0)
        return x * (grown / (grown + 2.0))

    return _wide(data, formula, "mish")
