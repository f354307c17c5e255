"""exp, log, tanh, ... in float32, as arithmetic formulas over ``te.expr``.

All work on scalars and vectors, are free of branches, tables and library calls, and are correct for NaN,
infinities, both zeros, subnormals, overflow and underflow. The stated errors were measured against float64
(``tests/te/codegen/test_math.py``), with and without fused multiply-adds. Subexpressions are shared nodes,
which a code generator computes once.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.codegen.math import polynomials
from tvmlite.te.expr import And, Call, Cast, Const, Div, Equal, Expr, Less, Max, Min, Select

_ROUNDER = 1.5 * 2.0**23
"""Added to a float32 below 2**22, it leaves the nearest integer in the lowest bits of the sum."""

SCALE = "scale"
"""``Call(SCALE, (x, n))`` is ``x * 2**n``, rounded once, for an integer n given as a float."""

EITHER = "either"
"""``Call(EITHER, (plain, scaled, x))`` is a function of x in two forms, the second with SCALE and LIMIT, of
which the C compiler selects one."""

LIMIT = "limit"
"""``Call(LIMIT, (x, most))`` is x limited to a magnitude of at most ``most``, with ``most`` for NaN."""

_EXPONENT_BITS = 23
_EXPONENT_BIAS = 127
_ONE_BITS = 0x3F800000
_TWO_THIRDS_BITS = 0x3F2AAAAB
_INFINITY = float("inf")


def exp(x: Expr, scales: bool = False) -> Expr:
    """e to the power ``x``, within 1 ULP.

    Underflow is gradual: the power of two is applied as two factors, of which only the second can round. The
    integer exponent already includes the biases of both factors, so that a shift gives the bits of each. If
    the target ``scales``, scaling is one instruction that handles too large and too small powers; then only
    the polynomial's argument is limited, as it is out of range for huge ``x`` and NaN for infinite ``x``.
    Such targets fuse multiply-adds, so that Horner's scheme for the whole polynomial is as exact.
    """
    if scales:
        shifted, r = _reduce(x)
        p = _horner(Call(LIMIT, (r, _like(x, 0.5)), x.dtype), (1.0, 1.0, *polynomials.EXP))
        return Call(SCALE, (p, shifted - _like(x, _ROUNDER)), x.dtype)
    shifted, r = _reduce(Min(Max(x, _like(x, -104.0)), _like(x, 89.0)), 2 * _EXPONENT_BIAS)
    whole = _bits(shifted)
    half = _shift("shift_right", whole, 1)
    first, second = (_float(_shift("shift_left", part, _EXPONENT_BITS)) for part in (half, whole - half))
    return (_expm1_of_remainder(r) * first + first) * second


def log(x: Expr) -> Expr:
    """The natural logarithm, within 1 ULP; -inf at 0, NaN below."""
    e, f, s = _log_parts(x)
    s = s + e * _like(x, polynomials.LN2_LOW)
    return _log_limits(x, (f + s) + e * _like(x, polynomials.LN2_HIGH))


def log2(x: Expr) -> Expr:
    """The logarithm to base 2, within 2 ULP; exact at the powers of 2."""
    e, f, s = _log_parts(x)
    low = _like(x, polynomials.LOG2_E_LOW)
    return _log_limits(x, ((s * low + f * low) + s + f) + e)


def log10(x: Expr) -> Expr:
    """The logarithm to base 10, within 2 ULP."""
    e, f, s = _log_parts(x)
    high, low = _like(x, polynomials.LOG10_E_HIGH), _like(x, polynomials.LOG10_E_LOW)
    small = (f + s) * low + e * _like(x, polynomials.LOG10_2_LOW)
    return _log_limits(x, small + s * high + f * high + e * _like(x, polynomials.LOG10_2_HIGH))


def tanh(x: Expr) -> Expr:
    """The hyperbolic tangent, within 2.1 ULP: ``expm1(2|x|) / (expm1(2|x|) + 2)`` with the sign of x."""
    magnitude = Min(Call("fabs", (x,), x.dtype), _like(x, 10.0))
    shifted, r = _reduce(magnitude + magnitude)
    scale = _power_of_two(_bits(shifted))
    expm1 = scale * _expm1_of_remainder(r) + (scale - _like(x, 1.0))
    return Call("copysign", (Div(expm1, expm1 + _like(x, 2.0)), x), x.dtype)


def sigmoid(x: Expr, scales: bool = False) -> Expr:
    """``1 / (1 + exp(-x))``: for float32 within 2.5 ULP, including subnormals; else with a call of exp."""
    one = _like(x, 1.0)
    negative = _like(x, -0.0) - Call("fabs", (x,), x.dtype)
    e = exp(negative, scales) if x.dtype == "float32" else Call("exp", (negative,), x.dtype)
    return Div(Select(Less(x, _like(x, 0.0)), e, one), one + e)


def erf(x: Expr) -> Expr:
    """The error function, within 1 ULP: an odd polynomial near 0, ``1 - exp(log(erfc))`` elsewhere."""
    magnitude = Call("fabs", (x,), x.dtype)
    near = x + x * _horner(x * x, polynomials.ERF)
    shifted, r = _reduce(_horner(Min(magnitude, _like(x, polynomials.ERF_ONE)), polynomials.LOG_ERFC))
    scale = _power_of_two(_bits(shifted))
    far = (_like(x, 1.0) - scale) - scale * _expm1_of_remainder(r)
    split = _like(x, polynomials.ERF_SPLIT)
    return Select(Less(magnitude, split), near, Call("copysign", (far, x), x.dtype))


def rsqrt(x: Expr) -> Expr:
    """``1 / sqrt(x)`` for any float type, each step rounded."""
    return Div(_like(x, 1.0), Call("sqrt", (x,), x.dtype))


def _reduce(x: Expr, bias: int = 0) -> tuple[Expr, Expr]:
    """``n + bias + _ROUNDER`` and ``x - n ln 2``, where n is the integer nearest to ``x / ln 2``, for
    ``|x|`` < 2**21.

    ``n + bias`` is in the lowest bits of the first result. The rounder's bits are 0 in the lowest 22 places,
    so that they are shifted out when an exponent is shifted into its position (even after a halving).
    """
    rounder = _like(x, _ROUNDER + bias)
    shifted = x * _like(x, polynomials.LOG2_E) + rounder
    whole = shifted - rounder
    r = (x - whole * _like(x, polynomials.LN2_HIGH)) - whole * _like(x, polynomials.LN2_LOW)
    return shifted, r


def _expm1_of_remainder(r: Expr) -> Expr:
    return r + (r * r) * _horner(r, polynomials.EXP)


def _power_of_two(whole: Expr) -> Expr:
    """2.0 to the power of the integer in the lowest bits of ``whole``, which has to be in -126 .. 127."""
    return _float(_shift("shift_left", whole, _EXPONENT_BITS) + _int(whole, _ONE_BITS))


def _log_parts(x: Expr) -> tuple[Expr, Expr, Expr]:
    """``e, f, s`` with ``x = 2**e * (1 + f)``, 2/3 <= 1 + f < 4/3, and ``log(1 + f) = f + s``."""
    subnormal = Less(x, _like(x, 2.0**-126))
    bits = _bits(Select(subnormal, x * _like(x, 2.0**_EXPONENT_BITS), x))
    bits = bits - _int(bits, _TWO_THIRDS_BITS)
    scaled = Select(subnormal, _int(bits, -_EXPONENT_BITS), _int(bits, 0))
    e = Cast(x.dtype, _shift("shift_right", bits, _EXPONENT_BITS) + scaled)
    fraction = Call("bitwise_and", (bits, _int(bits, (1 << _EXPONENT_BITS) - 1)), bits.dtype)
    f = _float(fraction + _int(bits, _TWO_THIRDS_BITS)) - _like(x, 1.0)
    square = f * f
    s = (f * square) * _horner(f, polynomials.LOG) - _like(x, 0.5) * square
    return e, f, s


def _log_limits(x: Expr, finite: Expr) -> Expr:
    """``finite`` for positive finite ``x``; the limits of a logarithm elsewhere."""
    zero, infinity = _like(x, 0.0), _like(x, _INFINITY)
    negative = Select(Less(x, zero), _like(x, float("nan")), x)  # inf and NaN are unchanged
    limit = Select(Equal(x, zero), _like(x, -_INFINITY), negative)
    return Select(And(Less(zero, x), Less(x, infinity)), finite, limit)


def _horner(x: Expr, coefficients: Sequence[float]) -> Expr:
    result: Expr = _like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + _like(x, coefficient)
    return result


def _like(x: Expr, value: float) -> Const:
    return Const(value, x.dtype, x.lanes)


def _int(x: Expr, value: int) -> Const:
    return Const(value, "int32", x.lanes)


def _bits(x: Expr) -> Expr:
    return Call("reinterpret", (x,), "int32")


def _float(x: Expr) -> Expr:
    return Call("reinterpret", (x,), "float32")


def _shift(name: str, x: Expr, by: int) -> Expr:
    return Call(name, (x, _int(x, by)), x.dtype)
