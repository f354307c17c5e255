"""Generation for float16 and bfloat16: 16 bits in memory, floats in registers, rounded after operations."""

from __future__ import annotations

from tvmlite.te.codegen.llvm.extensions import casts
from tvmlite.te.codegen.llvm.text import Module, Writer, literal, vector


def converts_float16(module: Module) -> bool:
    """Whether the target converts float16 from and to float32 by instructions (else LLVM calls a library)."""
    has = module.target.has
    return module.family == "aarch64" or has("f16c") or has("avx512f") or has("zfh")


def _converts_bfloat16(module: Module) -> bool:
    """Whether the target has an instruction that rounds float32 to bfloat16; it treats subnormals as 0."""
    return module.target.has("avx512bf16") and module.target.has("avx512vl")


def _is_converted(w: Writer, dtype: str) -> bool:
    return dtype == "float16" and converts_float16(w.module)


def convert(w: Writer, value: str, source: str, to: str, lanes: int) -> str:
    """``value`` of dtype ``source`` cast to the half ``to``."""
    if source == "float64":
        value = _rounded_to_odd(w, value, lanes)
    else:
        value = casts.convert(w, value, source, "float32", lanes)
    return rounded(w, value, to, lanes)


def rounded(w: Writer, value: str, dtype: str, lanes: int) -> str:
    """The float ``value`` rounded to the precision of ``dtype``, to nearest even; still of type float."""
    rounding = _rounded_to_bfloat16 if dtype == "bfloat16" else _rounded_to_float16
    return rounding(w, value, lanes)


def memory_type(w: Writer, dtype: str, lanes: int = 1) -> str:
    """The LLVM type of halves in memory."""
    return vector("half" if _is_converted(w, dtype) else "i16", lanes)


def from_memory(w: Writer, value: str, dtype: str, lanes: int) -> str:
    """The register value of a loaded ``value``."""
    floats, ints = vector("float", lanes), vector("i32", lanes)
    if _is_converted(w, dtype):
        return w.emit(f"fpext {vector('half', lanes)} {value} to {floats}")
    wide = w.emit(f"zext {vector('i16', lanes)} {value} to {ints}")
    if dtype == "bfloat16":
        return w.emit(f"bitcast {ints} {_shift(w, 'shl', wide, 16, lanes)} to {floats}")
    return _float16_bits_to_float(w, wide, lanes)


def to_memory(w: Writer, value: str, dtype: str, lanes: int) -> str:
    """The value to store for the register value ``value``."""
    floats, ints = vector("float", lanes), vector("i32", lanes)
    if _is_converted(w, dtype):
        return w.emit(f"fptrunc {floats} {value} to {vector('half', lanes)}")
    bits = w.emit(f"bitcast {floats} {value} to {ints}")
    if dtype == "bfloat16":
        low = _shift(w, "lshr", bits, 16, lanes)
    else:
        low = _float_to_float16_bits(w, value, bits, lanes)
    return w.emit(f"trunc {ints} {low} to {vector('i16', lanes)}")


def _rounded_to_odd(w: Writer, value: str, lanes: int) -> str:
    """A double rounded to odd as a float: the last bit is 1 if inexact, so that rounding again is right."""
    floats, doubles, ints = vector("float", lanes), vector("double", lanes), vector("i32", lanes)
    mask = vector("i1", lanes)
    near = w.emit(f"fptrunc {doubles} {value} to {floats}")
    back = w.emit(f"fpext {floats} {near} to {doubles}")
    bits = w.emit(f"bitcast {floats} {near} to {ints}")
    beyond = w.emit(
        f"fcmp ogt {doubles} {w.intrinsic('fabs', doubles, back)}, {w.intrinsic('fabs', doubles, value)}"
    )
    lost = w.emit(f"fcmp one {doubles} {back}, {value}")
    even = w.emit(f"icmp eq {ints} {_and(w, bits, 1, lanes)}, {literal(0, 'int32', lanes)}")
    step = w.emit(
        f"select {mask} {beyond}, {ints} {literal(-1, 'int32', lanes)}, {ints} {literal(1, 'int32', lanes)}"
    )
    moved = w.emit(f"add {ints} {bits}, {step}")
    needed = w.emit(f"and {mask} {lost}, {even}")
    odd = w.emit(f"select {mask} {needed}, {ints} {moved}, {ints} {bits}")
    return w.emit(f"bitcast {ints} {odd} to {floats}")


_CONVERTED_LANES = 8
"""The fewest lanes for which the instruction that rounds to bfloat16 is used. LLVM 22 vectorizes loops over
scalar ones by four lanes, and aborts if the signs of the results are used."""


def _rounded_to_bfloat16(w: Writer, value: str, lanes: int) -> str:
    floats, ints = vector("float", lanes), vector("i32", lanes)
    if _converts_bfloat16(w.module) and lanes >= _CONVERTED_LANES:
        halves, shorts = vector("bfloat", lanes), vector("i16", lanes)
        made = w.emit(f"bitcast {halves} {w.emit(f'fptrunc {floats} {value} to {halves}')} to {shorts}")
        wide = w.emit(f"zext {shorts} {made} to {ints}")
        return w.emit(f"bitcast {ints} {_shift(w, 'shl', wide, 16, lanes)} to {floats}")
    # Only one constant, as each takes a register, and few are left besides a convolution's accumulators: with
    # four, registers were saved and restored inside the reduction, which cost as much as a second one.
    bits = w.emit(f"bitcast {floats} {value} to {ints}")
    last = _shift(w, "lshr", _shift(w, "shl", bits, 15, lanes), 31, lanes)
    bias = w.emit(f"add {ints} {last}, {literal(0x7FFF, 'int32', lanes)}")
    up = w.emit(f"add {ints} {bits}, {bias}")
    quiet = w.emit(f"bitcast {floats} {w.emit(f'fadd {floats} {value}, {value}')} to {ints}")
    nan = w.emit(f"fcmp uno {floats} {value}, {value}")
    chosen = w.emit(f"select {vector('i1', lanes)} {nan}, {ints} {quiet}, {ints} {up}")
    kept = _shift(w, "shl", _shift(w, "lshr", chosen, 16, lanes), 16, lanes)
    return w.emit(f"bitcast {ints} {kept} to {floats}")


def _rounded_to_float16(w: Writer, value: str, lanes: int) -> str:
    floats, ints, mask = vector("float", lanes), vector("i32", lanes), vector("i1", lanes)
    if converts_float16(w.module):
        halves = vector("half", lanes)
        return w.emit(f"fpext {halves} {w.emit(f'fptrunc {floats} {value} to {halves}')} to {floats}")
    magnitude = w.intrinsic("fabs", floats, value)
    bits = w.emit(f"bitcast {floats} {magnitude} to {ints}")
    last = _and(w, _shift(w, "lshr", bits, 13, lanes), 1, lanes)
    bias = w.emit(f"add {ints} {last}, {literal(0xFFF, 'int32', lanes)}")
    kept = _and(w, w.emit(f"add {ints} {bits}, {bias}"), 0xFFFFE000, lanes)
    normal = w.emit(f"bitcast {ints} {kept} to {floats}")
    over = w.emit(f"fcmp ogt {floats} {normal}, {literal(65504.0, 'float32', lanes)}")
    normal = w.emit(
        f"select {mask} {over}, {floats} {literal(float('inf'), 'float32', lanes)}, {floats} {normal}"
    )
    one_half = literal(0.5, "float32", lanes)  # its unit in the last place is that of subnormal halves
    raised = w.emit(f"fadd {floats} {magnitude}, {one_half}")
    subnormal = w.emit(f"fsub {floats} {raised}, {one_half}")
    small = w.emit(f"fcmp olt {floats} {magnitude}, {literal(2.0**-14, 'float32', lanes)}")
    result = w.emit(f"select {mask} {small}, {floats} {subnormal}, {floats} {normal}")
    nan = w.emit(f"fcmp uno {floats} {value}, {value}")
    result = w.emit(f"select {mask} {nan}, {floats} {magnitude}, {floats} {result}")
    return w.intrinsic("copysign", floats, result, value)


def _float16_bits_to_float(w: Writer, bits: str, lanes: int) -> str:
    floats, ints = vector("float", lanes), vector("i32", lanes)
    magnitude = _and(w, bits, 0x7FFF, lanes)
    moved = w.emit(f"bitcast {ints} {_shift(w, 'shl', magnitude, 13, lanes)} to {floats}")
    scaled = w.emit(f"fmul {floats} {moved}, {literal(2.0**112, 'float32', lanes)}")
    finite = w.emit(f"bitcast {floats} {scaled} to {ints}")
    special = w.emit(f"icmp uge {ints} {magnitude}, {literal(0x7C00, 'int32', lanes)}")
    infinite = w.emit(f"or {ints} {finite}, {literal(0x7F800000, 'int32', lanes)}")
    chosen = w.emit(f"select {vector('i1', lanes)} {special}, {ints} {infinite}, {ints} {finite}")
    sign = _shift(w, "shl", _and(w, bits, 0x8000, lanes), 16, lanes)
    return w.emit(f"bitcast {ints} {w.emit(f'or {ints} {chosen}, {sign}')} to {floats}")


def _float_to_float16_bits(w: Writer, value: str, bits: str, lanes: int) -> str:
    """The float16 bits of a float that float16 represents exactly."""
    floats, ints, mask = vector("float", lanes), vector("i32", lanes), vector("i1", lanes)
    magnitude = _and(w, bits, 0x7FFFFFFF, lanes)
    absolute = w.intrinsic("fabs", floats, value)
    rebased = w.emit(f"sub {ints} {magnitude}, {literal(112 << 23, 'int32', lanes)}")
    normal = _shift(w, "lshr", rebased, 13, lanes)
    small = w.emit(f"fcmp olt {floats} {absolute}, {literal(2.0**-14, 'float32', lanes)}")
    tiny = w.emit(f"select {mask} {small}, {floats} {absolute}, {floats} {literal(0.0, 'float32', lanes)}")
    units = w.emit(f"fmul {floats} {tiny}, {literal(2.0**24, 'float32', lanes)}")
    subnormal = w.emit(f"fptosi {floats} {units} to {ints}")
    result = w.emit(f"select {mask} {small}, {ints} {subnormal}, {ints} {normal}")
    special = w.emit(f"icmp uge {ints} {magnitude}, {literal(0x7F800000, 'int32', lanes)}")
    nan = w.emit(f"fcmp uno {floats} {value}, {value}")
    quiet, infinite = literal(0x7E00, "int32", lanes), literal(0x7C00, "int32", lanes)
    limit = w.emit(f"select {mask} {nan}, {ints} {quiet}, {ints} {infinite}")
    result = w.emit(f"select {mask} {special}, {ints} {limit}, {ints} {result}")
    sign = _and(w, _shift(w, "lshr", bits, 16, lanes), 0x8000, lanes)
    return w.emit(f"or {ints} {result}, {sign}")


def _shift(w: Writer, kind: str, bits: str, by: int, lanes: int) -> str:
    return w.emit(f"{kind} {vector('i32', lanes)} {bits}, {literal(by, 'int32', lanes)}")


def _and(w: Writer, bits: str, mask: int, lanes: int) -> str:
    return w.emit(f"and {vector('i32', lanes)} {bits}, {literal(mask, 'int32', lanes)}")
