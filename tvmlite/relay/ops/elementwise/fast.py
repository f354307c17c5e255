"""Faster, less accurate exp, tanh and erf, which the pass ``fast_math`` substitutes for the exact ones.

Coefficients are minimax fits (Remez by reweighted least squares) with the errors stated. Operands and
results are float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ops.common import Dtypes, data_type, horner, numpy_reference
from tvmlite.relay.ops.elementwise.unary import erf_numpy, wide_numpy
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor

FLOAT32: Dtypes = "float32", "float32".__eq__

EXP_ERROR = 1e-5
"""The largest relative error of ``fast_exp`` within ``EXP_LIMITS``."""

TANH_ERROR = 4e-5
"""The largest absolute error of ``fast_tanh``."""

ERF_ERROR = 3e-5
"""The largest absolute error of ``fast_erf``."""

EXP_LIMITS = (-87.0, 88.0)
TANH_LIMIT = 5.5
ERF_LIMIT = 3.0

POWER_OF_TWO = (
    0.9999992613918584,
    0.6931218144013246,
    0.24024744976625215,
    0.055917863289029396,
    0.00957009706485859,
)
"""``2 ** f`` for ``f`` from -1/2 to 1/2; relative error 2.6e-6."""

TANH_NUMERATOR = (0.9999837750429497, 0.11544984462281936, 0.0015586740836766224)
TANH_DENOMINATOR = (1.0, 0.44872818186381846, 0.017856495190361546, 5.9240092721868956e-05)
"""Numerator and denominator of ``tanh(x) / x`` in powers of ``x * x``; absolute error of ``tanh`` 3.5e-6."""

ERF = (
    1.1282684166511916, -0.37531482703467745, 0.1110792573140171, -0.025102805150293526, 0.004235406091997869,
    -0.0005110322828676976, 4.1059964703816316e-05, -1.9447865610665813e-06, 4.074114498689151e-08,
)  # fmt: skip
"""``erf(x) / x`` in powers of ``x * x``; absolute error of ``erf`` 1.7e-5."""

MAGIC = 1.5 * 2**23
"""Adding it to a float32 rounds the value to an integer, which is then in the low bits."""


def _clamped(x: e.Expr, low: float, high: float) -> e.Expr:
    return e.Min(e.Max(x, e.const(low, x.dtype)), e.const(high, x.dtype))


def quick_exp(x: e.Expr) -> e.Expr:
    """``exp(x)`` as ``2 ** n``, by adding to the exponent's bits, times ``2 ** f``, a polynomial."""
    powers = _clamped(x, *EXP_LIMITS) * math.log2(math.e)
    rounded = powers + MAGIC
    part = horner(powers - (rounded - MAGIC), POWER_OF_TWO)
    whole = e.Call("reinterpret", (rounded,), "int32") << 23
    return e.Call("reinterpret", (e.Call("reinterpret", (part,), "int32") + whole,), "float32")


def quick_tanh(x: e.Expr) -> e.Expr:
    """``tanh(x)`` as a quotient of polynomials, with ``x`` clamped to ``TANH_LIMIT``."""
    clamped = _clamped(x, -TANH_LIMIT, TANH_LIMIT)
    square = clamped * clamped
    return clamped * horner(square, TANH_NUMERATOR) / horner(square, TANH_DENOMINATOR)


def quick_erf(x: e.Expr) -> e.Expr:
    """``erf(x)`` as a polynomial, with ``x`` clamped to ``ERF_LIMIT``."""
    clamped = _clamped(x, -ERF_LIMIT, ERF_LIMIT)
    return clamped * horner(clamped * clamped, ERF)


def _register(name: str, formula: Callable[[e.Expr], e.Expr], reference: Callable[..., np.ndarray]) -> None:
    doc = f"``{name.removeprefix('fast_')}``, faster and less accurate, for float32 only."

    @elemwise(name, infer=data_type(FLOAT32), reference=numpy_reference(reference), doc=doc)
    def apply(call: Call, i: Indices, data: Tensor) -> e.Expr:
        return formula(data[i])


_register("fast_exp", quick_exp, wide_numpy(lambda x: np.exp(np.clip(x, *EXP_LIMITS))))
_register("fast_tanh", quick_tanh, np.tanh)
_register("fast_erf", quick_erf, erf_numpy)
