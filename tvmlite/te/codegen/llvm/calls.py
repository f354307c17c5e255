"""Intrinsic functions as LLVM IR: instructions where there are some, the C library lane by lane elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import cast
from tvmlite.te.codegen.llvm.text import Writer, literal, register_type, vector
from tvmlite.te.codegen.math import functions
from tvmlite.te.codegen.math.expand import LIBRARY

_ROUNDING = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "rint", "trunc": "trunc"}
_BITWISE = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_PURE = "nounwind willreturn memory(none)"


def call(w: Writer, node: e.Call, args: Sequence[str]) -> str:
    """The intrinsic ``node``, given its arguments' values; UnsupportedError for one without code."""
    name, dtype, lanes = node.name, node.dtype, node.lanes
    type_ = register_type(dtype, lanes)
    if name in _BITWISE:
        return w.emit(f"{_BITWISE[name]} {type_} {args[0]}, {args[1]}")
    if name in _ROUNDING:
        return cast.rounded(w, w.intrinsic(_ROUNDING[name], type_, args[0]), dtype, lanes)
    if name in LIBRARY and dtype in ("float32", "float64"):
        return _library(w, name + ("f" if dtype == "float32" else ""), dtype, lanes, args)
    match name:
        case "likely":
            return args[0]
        case "reinterpret":
            return cast.reinterpret(w, args[0], node.args[0].dtype, dtype, lanes)
        case "fabs" | "abs":
            return _absolute(w, dtype, type_, args[0])
        case "copysign":
            return w.intrinsic("copysign", type_, *args)
        case "fma":
            return cast.rounded(w, w.intrinsic("fma", type_, *args), dtype, lanes)
        case "isnan" | "isinf" | "isfinite":
            return _classify(w, name, node.args[0], args[0])
        case "bitwise_not":
            return w.emit(f"xor {type_} {args[0]}, {literal(-1, dtype, lanes)}")
        case "shift_left" | "shift_right":
            return _shift(w, node, args[0], args[1])
        case "popcount":
            return w.intrinsic("ctpop", type_, args[0])
        case functions.MULTIPLY_ADD:
            return w.intrinsic("fmuladd", type_, *args)
        case functions.SCALE:
            return _masked(w, "scalef", lanes, args)
        case functions.LIMIT:
            return _masked(w, "range", lanes, args, 2)  # of lesser magnitude, with the first's sign
        case "clz":
            return _flagged(w, "ctlz", type_, args[0])
        case _:
            raise UnsupportedError(f"no code for the intrinsic {name} of {dtype}")


def _masked(w: Writer, name: str, lanes: int, values: Sequence[str], *immediates: int) -> str:
    """An instruction of AVX-512 on all lanes of float32 vectors; see ``expand.scaled_vectors``."""
    type_, mask = register_type("float32", lanes), f"i{max(lanes, 8)}"
    last = [("i32", 4)] if lanes == 16 else []  # rounds as usual
    arguments = [
        *((type_, value) for value in values),
        *(("i32", number) for number in immediates),
        *((type_, "zeroinitializer"), (mask, -1)),
        *last,
    ]
    parameters = ", ".join(f"{kind} immarg" if kind == "i32" else kind for kind, _ in arguments)
    target = w.module.declare(f"llvm.x86.avx512.mask.{name}.ps.{32 * lanes}", type_, parameters)
    return w.emit(f"call {type_} {target}({', '.join(f'{kind} {value}' for kind, value in arguments)})")


def _absolute(w: Writer, dtype: str, type_: str, value: str) -> str:
    if dtypes.is_float(dtype):
        return w.intrinsic("fabs", type_, value)
    return _flagged(w, "abs", type_, value) if dtype in dtypes.SIGNED else value


def _flagged(w: Writer, name: str, type_: str, value: str) -> str:
    """An intrinsic whose second argument says what of the odd case: here, that it is defined."""
    from_ = f"llvm.{name}.{cast.mangled(type_)}"
    target = w.module.declare(from_, type_, f"{type_}, i1 immarg")
    return w.emit(f"call {type_} {target}({type_} {value}, i1 false)")


def _classify(w: Writer, name: str, argument: e.Expr, value: str) -> str:
    dtype, lanes = argument.dtype, argument.lanes
    type_ = register_type(dtype, lanes)
    if name == "isnan":
        return w.emit(f"fcmp uno {type_} {value}, {value}")
    infinity = literal(float("inf"), dtype, lanes)
    relation = "oeq" if name == "isinf" else "one"
    return w.emit(f"fcmp {relation} {type_} {w.intrinsic('fabs', type_, value)}, {infinity}")


def _shift(w: Writer, node: e.Call, a: str, b: str) -> str:
    """A shift by the width or more (or by less than 0) gives 0, or the sign in every bit."""
    dtype, lanes = node.dtype, node.lanes
    type_, width = register_type(dtype, lanes), dtypes.bits(dtype)
    arithmetic = node.name == "shift_right" and dtype in dtypes.SIGNED
    kind = "shl" if node.name == "shift_left" else "ashr" if arithmetic else "lshr"
    amount = node.args[1]
    if isinstance(amount, e.Broadcast):
        amount = amount.value
    if isinstance(amount, e.Const) and 0 <= amount.value < width:
        return w.emit(f"{kind} {type_} {a}, {b}")
    last = w.intrinsic("umin", type_, b, literal(width - 1, dtype, lanes))
    shifted = w.emit(f"{kind} {type_} {a}, {last}")
    if arithmetic:
        return shifted
    small = w.emit(f"icmp ult {type_} {b}, {literal(width, dtype, lanes)}")
    zero = literal(0, dtype, lanes)
    return w.emit(f"select {vector('i1', lanes)} {small}, {type_} {shifted}, {type_} {zero}")


def _library(w: Writer, name: str, dtype: str, lanes: int, args: Sequence[str]) -> str:
    """The C library's function, lane by lane."""
    scalar, whole = register_type(dtype), register_type(dtype, lanes)
    if lanes == 1:
        return w.call(name, scalar, [(scalar, a) for a in args], _PURE)
    result = "poison"
    for lane in range(lanes):
        each = [(scalar, w.emit(f"extractelement {whole} {a}, i64 {lane}")) for a in args]
        value = w.call(name, scalar, each, _PURE)
        result = w.emit(f"insertelement {whole} {result}, {scalar} {value}, i64 {lane}")
    return result
