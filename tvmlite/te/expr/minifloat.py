"""Floats and ints of at most eight bits, converted by integer arithmetic on a byte that holds their bits.

The conversions are those of ml_dtypes, whose arrays hold the same bytes; ``core.dtype`` lists the dtypes.
Conversion instructions differ between processors and are not used: these few operations vectorize everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.core import dtype as dtypes
from tvmlite.core.dtype import NARROW_INTS, POWER_OF_TWO
from tvmlite.te import expr as e

STORED = "uint8"
"""The dtype of the byte that stores a narrow value."""

_NAN, _INFINITY = 0x7FC00000, 0x7F800000
_FRACTION, _BIAS = 23, 127  # of a float32


@dataclass(frozen=True)
class Minifloat:
    """The encoding of a float of at most eight bits: a sign, then ``exponent`` and ``fraction`` bits.

    ``largest`` is the code of the greatest finite value, ``beyond`` that of values rounded beyond it, ``nan``
    that of NaN. With ``one_zero``, the code of minus zero is the only NaN. Formats without NaN have minus
    zero as ``nan``, as in ml_dtypes: a NaN becomes the zero of the opposite sign.
    """

    exponent: int
    fraction: int
    bias: int
    largest: int
    beyond: int
    nan: int
    one_zero: bool = False

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.exponent + self.fraction)


CODES = {
    "float8_e4m3fn": Minifloat(4, 3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": Minifloat(4, 3, 8, 0x7F, 0x80, 0x80, one_zero=True),
    "float8_e5m2": Minifloat(5, 2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": Minifloat(5, 2, 16, 0x7F, 0x80, 0x80, one_zero=True),
    "float6_e2m3fn": Minifloat(2, 3, 1, 0x1F, 0x1F, 0x20),
    "float6_e3m2fn": Minifloat(3, 2, 3, 0x1F, 0x1F, 0x20),
    "float4_e2m1fn": Minifloat(2, 1, 1, 0x07, 0x07, 0x08),
}


def work_dtype(dtype: str) -> str:
    """The dtype in which a narrow dtype is computed."""
    return "int32" if dtype in NARROW_INTS else "float32"


def decode(code: e.Expr, dtype: str) -> e.Expr:
    """The exact value of the byte ``code``, in ``work_dtype``."""
    if dtype in NARROW_INTS:
        whole = e.cast("int32", code) & _mask(dtype)
        sign = 1 << (NARROW_INTS[dtype] - 1)
        return whole if dtypes.is_unsigned(dtype) else (whole ^ sign) - sign
    wide = e.cast("uint32", code)
    if dtype == POWER_OF_TWO:
        least = _uint(1 << (_FRACTION - 1), code.lanes)  # 2**-127, a subnormal float32
        bits = e.Select(e.Equal(wide, _uint(0, code.lanes)), least, wide << _FRACTION)
        bits = e.Select(e.Equal(wide, _uint(255, code.lanes)), _uint(_NAN, code.lanes), bits)
        return _as_float(bits)
    return _decode_minifloat(wide, CODES[dtype])


def _decode_minifloat(wide: e.Expr, form: Minifloat) -> e.Expr:
    """Shift exponent and fraction to their places in a float32, then correct its value by a power of two."""
    lanes = wide.lanes
    magnitude = wide & (form.sign - 1)
    moved = _as_float(magnitude << (_FRACTION - form.fraction))
    bits = _as_bits(moved * 2.0 ** (_BIAS - form.bias))
    if form.nan < form.sign:
        special = _uint(_NAN, lanes)
        if form.beyond != form.nan:
            at = e.Equal(magnitude, _uint(form.beyond, lanes))
            special = e.Select(at, _uint(_INFINITY, lanes), special)
        bits = e.Select(e.Less(_uint(form.largest, lanes), magnitude), special, bits)
    sign = (wide & form.sign) << (31 - form.exponent - form.fraction)
    bits = bits | sign
    if form.one_zero:
        bits = e.Select(e.Equal(wide, _uint(form.nan, lanes)), _uint(_NAN, lanes), bits)
    return _as_float(bits)


def encode(value: e.Expr, dtype: str) -> e.Expr:
    """The byte that encodes ``value``, of any dtype that is not narrow, as ``dtype``."""
    if dtype in NARROW_INTS:
        return e.cast(STORED, _low_bits(value) & _mask(dtype))
    number = e.cast("float32", value)
    coded = _power_of_two(number) if dtype == POWER_OF_TWO else _encode_minifloat(number, CODES[dtype])
    return e.cast(STORED, coded)


def _low_bits(value: e.Expr) -> e.Expr:
    """``value`` truncated to an int whose low bits are used; 0 for floats that do not fit int32."""
    if value.dtype == "bool":
        return e.cast("int32", value)
    if not dtypes.is_float(value.dtype):
        return value
    wide = value if value.dtype == "float64" else e.cast("float32", value)
    inside = e.Less(e.Call("fabs", (wide,), wide.dtype), e.const(2.0**31, wide.dtype, wide.lanes))
    return e.Select(inside, e.cast("int32", wide), e.const(0, "int32", wide.lanes))


def _encode_minifloat(number: e.Expr, form: Minifloat) -> e.Expr:
    """Round to nearest even. Normal numbers: add just under half of the last place to the float32's bits.
    Subnormal ones: add a float32 with the same last place, whose fraction then counts units of it."""
    lanes, dropped = number.lanes, _FRACTION - form.fraction
    bits = _as_bits(number)
    magnitude = bits & 0x7FFFFFFF
    absolute = _as_float(magnitude)
    last = (magnitude >> dropped) & 1
    rounded = (magnitude + last + ((1 << (dropped - 1)) - 1)) >> dropped
    normal = rounded - ((_BIAS - form.bias) << form.fraction)
    power = _FRACTION + 1 - form.bias - form.fraction
    units = _as_bits(absolute + 2.0**power) - ((power + _BIAS) << _FRACTION)
    small = e.Less(absolute, e.const(2.0 ** (1 - form.bias), "float32", lanes))
    code = e.Select(small, units, normal)
    code = e.Select(e.Less(_uint(form.largest, lanes), code), _uint(form.beyond, lanes), code)
    sign = (bits >> (31 - form.exponent - form.fraction)) & form.sign
    nan = e.Less(_uint(_INFINITY, lanes), magnitude)
    if not form.one_zero:
        return e.Select(nan, sign ^ form.nan, code | sign)
    unsigned = e.Or(e.Equal(code, _uint(0, lanes)), nan)
    return e.Select(unsigned, e.Select(nan, _uint(form.nan, lanes), code), code | sign)


def _power_of_two(number: e.Expr) -> e.Expr:
    """The nearest power of two, ties rounded up; NaN for numbers that are not above 0, and for infinity.

    As in ml_dtypes, values between the two least powers, 2**-127 and 2**-126, are rounded up.
    """
    lanes = number.lanes
    bits = _as_bits(number)
    half = 1 << (_FRACTION - 1)
    subnormal = e.Less(bits, _uint(1 << _FRACTION, lanes))
    code = (bits + e.Select(subnormal, _uint(half - 1, lanes), _uint(half, lanes))) >> _FRACTION
    finite = e.And(e.Less(_uint(0, lanes), bits), e.Less(bits, _uint(_INFINITY, lanes)))
    return e.Select(finite, code, _uint(255, lanes))


def canonical(code: e.Expr, dtype: str) -> e.Expr:
    """The byte ``code`` with the bits above those of ``dtype`` cleared."""
    return code & _mask(dtype) if _mask(dtype) < 255 else code


def _mask(dtype: str) -> int:
    if dtype in NARROW_INTS:
        return (1 << NARROW_INTS[dtype]) - 1
    return 255 if dtype == POWER_OF_TWO else 2 * CODES[dtype].sign - 1


def _uint(value: int, lanes: int) -> e.Expr:
    return e.const(value, "uint32", lanes)


def _as_bits(number: e.Expr) -> e.Expr:
    return e.Call("reinterpret", (number,), "uint32")


def _as_float(bits: e.Expr) -> e.Expr:
    return e.Call("reinterpret", (bits,), "float32")
