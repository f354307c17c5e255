"""C types, literals, and the helper functions of expressions, each emitted only if it is used."""

from __future__ import annotations

import math
import struct

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import C_TYPES
from tvmlite.te.codegen.math.rounding import rounded

HALVES = ("float16", "bfloat16")

SUFFIX = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "bool"} | {
    name: name.replace("uint", "u").replace("int", "i") for name in (*dtypes.SIGNED, *dtypes.UNSIGNED)
}


def memory_type(dtype: str) -> str:
    """The C type of an element in memory: a bool takes a byte, a half is stored as its bits."""
    return C_TYPES[dtype]


def work_type(dtype: str) -> str:
    """The C type of a computed value: halves are floats, rounded after each operation."""
    if dtype in HALVES:
        return "float"
    return "_Bool" if dtype == "bool" else C_TYPES[dtype]


def unsigned_type(dtype: str) -> str:
    """The unsigned C type with the width of ``dtype``."""
    return f"uint{dtypes.bits(dtype)}_t"


def int_literal(value: int, dtype: str) -> str:
    """An integer constant of a type at least as wide as ``dtype``."""
    if dtype == "bool":
        return str(int(bool(value)))
    if dtypes.is_unsigned(dtype):
        return f"UINT64_C({value})" if dtype == "uint64" else f"{value}u" if dtype == "uint32" else str(value)
    least = -(1 << (dtypes.bits(dtype) - 1))
    if value == least and dtypes.bits(dtype) >= 32:  # C has no literal for it
        return f"({int_literal(value + 1, dtype)} - 1)"
    text = str(value) if abs(value) < 2**31 else f"INT64_C({abs(value)})"
    if value < 0:
        return f"(-{text.lstrip('-')})"
    return text


def float_literal(value: float, dtype: str) -> str | None:
    """An exact literal of ``value`` rounded to ``dtype``; None for infinities and NaN, which have none."""
    value = rounded(value, dtype)
    if not math.isfinite(value):
        return None
    text = repr(value) if dtype == "float64" else str(np.float32(value))
    text = text if any(c in text for c in ".en") else text + ".0"
    text += "" if dtype == "float64" else "f"
    return f"({text})" if text.startswith("-") else text


def float_bits(value: float, dtype: str) -> str:
    """The bits of ``value`` in its ``work_type``, as an unsigned literal."""
    if dtype == "float64":
        return f"UINT64_C(0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x})"
    return f"0x{int(np.array(value, np.float32).view(np.uint32)):08x}u"


EXCESS_PRECISION = "defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ % 16 != 0"
"""The condition that floats are computed with excess precision, as by x87."""

FUSES = "defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__aarch64__)"
"""The condition that the processor has fused multiply-adds, which round once."""


class Helpers:
    """The helper functions that a source needs, each after those that it calls.

    ``rounds``: multiply-adds are rounded to their dtype even with excess precision, as the formulas of
    transcendental functions require.
    """

    def __init__(self, rounds: bool = True) -> None:
        self.rounds = rounds
        self._texts: dict[str, str] = {}
        self.libm = False

    def name(self, kind: str, dtype: str, to: str = "") -> str:
        """The name of helper ``kind`` for ``dtype`` (and ``to``), which is added to the source."""
        name = f"tl_{kind}_{SUFFIX[dtype]}" + (f"_{SUFFIX[to]}" if to else "")
        if name not in self._texts:
            result, parameters, body = self._define(kind, dtype, to)
            self._texts[name] = f"TL_HELPER {result} {name}({parameters}) {{\n{body}\n}}\n"
        return name

    def text(self) -> str:
        """The definitions of the helpers used so far."""
        return "\n".join(self._texts.values())

    def _define(self, kind: str, dtype: str, to: str) -> tuple[str, str, str]:
        work, raw = work_type(dtype), unsigned_type(dtype)
        pair = f"{work} a, {work} b"
        match kind:
            case "bits":
                return raw, f"{work} a", _pun(work, raw)
            case "from_bits":
                return work, f"{raw} a", _pun(raw, work)
            case "load":
                return "float", "uint16_t a", self._load_half(dtype)
            case "store":
                return "uint16_t", "float a", self._store_half(dtype)
            case "round":
                store, load = self.name("store", dtype), self.name("load", dtype)
                return "float", "float a", f"    return {load}({store}(a));"
            case "odd":
                return "float", "double a", self._round_to_odd()
            case "to":
                return work_type(to), f"{work} a", _saturate(dtype, to)
            case "round_to":
                return work, "float a, int32_t zero", _round_to(dtype)
            case "min" | "max":
                better = f"a {'<' if kind == 'min' else '>'} b ? a : b"
                if not dtypes.is_float(dtype):
                    return work, pair, f"    return {_narrowed(better, dtype)};"
                text = f"    {work} number = {better};\n    return a != a ? a : number;"
                return work, pair, text
            case "floordiv" | "floormod" | "truncdiv" | "truncmod":
                return work, pair, _divide(kind, dtype)
            case "abs":
                zero = "UINT64_C(0)" if raw == "uint64_t" else "0u"
                return work, f"{work} a", f"    return ({work})(a < 0 ? {zero} - ({raw})a : ({raw})a);"
            case "shl" | "shr":
                return work, pair, _shift(kind, dtype)
            case "popcount" | "clz":
                return work, f"{work} a", _count_bits(kind, dtype)
            case "multiply_add":
                return work, f"{work} a, {work} b, {work} c", _multiply_add(dtype, self.rounds)
            case "isfinite":
                return "_Bool", f"{work} a", "    return a - a == 0;"
            case "isinf":
                return "_Bool", f"{work} a", "    return a == a && a - a != 0;"
        raise AssertionError(f"no helper {kind}")

    def _load_half(self, dtype: str) -> str:
        make = self.name("from_bits", "float32")
        if dtype == "bfloat16":
            return f"    return {make}((uint32_t)a << 16);"
        bits = self.name("bits", "float32")
        return (
            "    uint32_t magnitude = a & 0x7fffu;\n"
            f"    uint32_t wide = {bits}({make}(magnitude << 13) * 5.192296858534828e+33f);\n"
            "    wide |= magnitude >= 0x7c00u ? 0x7f800000u : 0u;\n"
            f"    return {make}(wide | (uint32_t)(a & 0x8000u) << 16);"
        )

    def _store_half(self, dtype: str) -> str:
        bits = self.name("bits", "float32")
        if dtype == "bfloat16":
            return (
                f"    uint32_t wide = {bits}(a);\n"
                "    if (a != a) {\n        return (uint16_t)(wide >> 16 | 0x40u);\n    }\n"
                "    return (uint16_t)((wide + 0x7fffu + (wide >> 16 & 1u)) >> 16);"
            )
        make = self.name("from_bits", "float32")
        return (
            f"    uint32_t wide = {bits}(a), sign = wide >> 16 & 0x8000u, magnitude = wide & 0x7fffffffu;\n"
            "    if (magnitude > 0x7f800000u) { /* NaN, and what there is room for of its payload */\n"
            "        uint32_t payload = magnitude >> 13 & 0x3ffu;\n"
            "        return (uint16_t)(sign | 0x7c00u | (payload != 0 ? payload : 0x200u));\n    }\n"
            "    if (magnitude >= 0x477ff000u) { /* 65520 and above round to infinity */\n"
            "        return (uint16_t)(sign | 0x7c00u);\n    }\n"
            "    if (magnitude < 0x38800000u) { /* subnormal: 0.5f has these halves' last place */\n"
            f"        return (uint16_t)(sign | ({bits}({make}(magnitude) + 0.5f) - 0x3f000000u));\n    }}\n"
            "    magnitude += 0xfffu + (magnitude >> 13 & 1u);\n"
            "    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);"
        )

    def _round_to_odd(self) -> str:
        bits, make = self.name("bits", "float32"), self.name("from_bits", "float32")
        return (
            "    /* so that rounding again, to a half, is right */\n"
            "    float near = (float)a;\n"
            f"    uint32_t wide = {bits}(near);\n"
            "    double lost = (double)near - a;\n"
            "    if (lost != 0 && lost == lost && (wide & 1u) == 0) {\n"
            "        wide = near != 0 && (near > 0) == (lost > 0) ? wide - 1u : wide + 1u;\n    }\n"
            f"    return {make}(wide);"
        )


def multiply_add(dtype: str, a: str, b: str, c: str) -> str:
    """The call that computes ``a * b + c`` rounded once; one instruction if ``FUSES`` holds."""
    return f"__builtin_fma{'' if dtype == 'float64' else 'f'}({a}, {b}, {c})"


def _multiply_add(dtype: str, rounds: bool) -> str:
    once, kept = multiply_add(dtype, "a", "b", "c"), f"volatile {work_type(dtype)} sum"
    excess = f"#elif {EXCESS_PRECISION}\n    {kept} = a * b + c; /* which rounds it */\n    return sum;\n"
    other = f"{excess if rounds else ''}#else\n    return a * b + c;\n#endif"
    return f"#if {FUSES}\n    return {once};\n{other}"


def _narrowed(text: str, dtype: str) -> str:
    """``text``, which C computes in int, cast back to its narrower type."""
    return f"({work_type(dtype)})({text})" if dtypes.bits(dtype) < 32 else text


def _pun(source: str, to: str) -> str:
    fields = f"        {source} given;\n        {to} wanted;\n"
    return f"    union {{\n{fields}    }} pun;\n    pun.given = a;\n    return pun.wanted;"


def _saturate(dtype: str, to: str) -> str:
    width, wanted = dtypes.bits(to), work_type(to)
    least, greatest = (int_literal(int(x), to) for x in dtypes.limits(to))
    suffix = "" if dtype == "float64" else "f"
    above = 2.0 ** (width if dtypes.is_unsigned(to) else width - 1)
    below = 0.0 if dtypes.is_unsigned(to) else -above
    # also for NaN; and if -0.5 were converted to 0 and back to a float, GCC 12 would fold that to -0.0
    return (
        f"    if (!(a >= 1.0{suffix} || a <= -1.0{suffix})) {{\n        return 0;\n    }}\n"
        f"    if (a <= {below!r}{suffix}) {{\n        return {least};\n    }}\n"
        f"    if (a >= {above!r}{suffix}) {{\n        return {greatest};\n    }}\n"
        f"    return ({wanted})a;"
    )


def _round_to(dtype: str) -> str:
    least, greatest = (int(x) for x in dtypes.limits(dtype))
    return (
        "    union {\n        float given;\n        uint32_t wanted;\n    } pun;\n"
        "    float number = a > -1024.0f ? a : -1024.0f;\n"
        "    int32_t whole;\n"
        "    number = number < 1024.0f ? number : 1024.0f;\n"
        "    /* Of a number near 1.5 * 2^23 the last bits are the nearest whole number. */\n"
        "    pun.given = number + 12582912.0f;\n"
        "    whole = (int32_t)(pun.wanted - 0x4b400000u) + zero;\n"
        f"    whole = whole < {least} ? {least} : whole;\n"
        f"    whole = whole > {greatest} ? {greatest} : whole;\n"
        f"    return ({work_type(dtype)})(a == a ? whole : 0);"
    )


def _divide(kind: str, dtype: str) -> str:
    work = work_type(dtype)
    operator = "/" if kind.endswith("div") else "%"
    if dtypes.is_unsigned(dtype):
        return f"    return ({work})(b == 0 ? 0 : a {operator} b);"
    raw = unsigned_type(dtype)
    zero = "UINT64_C(0)" if raw == "uint64_t" else "0u"
    by_minus_one = f"({work})({zero} - ({raw})a)" if operator == "/" else "0"
    text = (
        "    if (b == 0) {\n        return 0;\n    }\n"
        "    if (b == -1) { /* the least number has no opposite: it wraps */\n"
        f"        return {by_minus_one};\n    }}\n"
    )
    if kind == "floordiv":
        return text + f"    return ({work})(a / b - (a % b != 0 && (a < 0) != (b < 0)));"
    if kind == "floormod":
        return text + f"    return ({work})(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));"
    return text + f"    return ({work})(a {operator} b);"


def _shift(kind: str, dtype: str) -> str:
    work, raw, width = work_type(dtype), unsigned_type(dtype), dtypes.bits(dtype)
    if kind == "shl":
        wide = "(uint32_t)" if width < 32 else ""
        return f"    return ({work})(({raw})b >= {width} ? 0 : {wide}({raw})a << b);"
    if dtypes.is_unsigned(dtype):
        return f"    return ({work})(b >= {width} ? 0 : a >> b);"
    return (
        f"    {work} by = ({work})(({raw})b >= {width} ? {width - 1} : b);\n"
        f"    return ({work})(a < 0 ? ~(~a >> by) : a >> by);"
    )


def _count_bits(kind: str, dtype: str) -> str:
    start, step = (0, "rest &= rest - 1;\n        count += 1;")
    if kind == "clz":
        start, step = dtypes.bits(dtype), "rest >>= 1;\n        count--;"
    return (
        f"    uint64_t rest = ({unsigned_type(dtype)})a;\n    int count = {start};\n"
        f"    while (rest != 0) {{\n        {step}\n    }}\n"
        f"    return ({work_type(dtype)})count;"
    )
