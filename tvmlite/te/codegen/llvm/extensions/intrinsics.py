"""Generation of intrinsics: as instructions if there are any, else as C library calls, lane by lane."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import arith
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.memory import from_memory, memory_type, to_memory
from tvmlite.te.codegen.llvm.text import Writer, literal, mangled, register_type, vector
from tvmlite.te.codegen.math import functions
from tvmlite.te.codegen.math.expand import LIBRARY

_BITWISE = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_LLVM = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "round": "rint",
    "trunc": "trunc",
    "fma": "fma",
    "copysign": "copysign",
    "popcount": "ctpop",
}
"""The intrinsics that LLVM has, too, with arguments of the result's type."""

_PURE = "nounwind willreturn memory(none)"


def _given(values: Expressions, node: e.Call) -> tuple[str, list[str]]:
    """The LLVM type of the result, and the arguments' values."""
    return register_type(node.dtype, node.lanes), [values.known[one] for one in node.args]


@emits(*_BITWISE)
def _bitwise(values: Expressions, node: e.Call) -> str:
    type_, args = _given(values, node)
    return values.w.emit(f"{_BITWISE[node.name]} {type_} {args[0]}, {args[1]}")


@emits("bitwise_not")
def _bitwise_not(values: Expressions, node: e.Call) -> str:
    type_, args = _given(values, node)
    return values.w.emit(f"xor {type_} {args[0]}, {literal(-1, node.dtype, node.lanes)}")


@emits(*_LLVM)
def _llvm(values: Expressions, node: e.Call) -> str:
    type_, args = _given(values, node)
    made = values.w.intrinsic(_LLVM[node.name], type_, *args)
    if node.name in ("copysign", "popcount"):  # exact
        return made
    return arith.rounded(values.w, made, node.dtype, node.lanes)


@emits("likely", "fits_int32")
def _itself(values: Expressions, node: e.Call) -> str:
    return values.known[node.args[0]]


@emits("fabs", "abs")
def _absolute(values: Expressions, node: e.Call) -> str:
    type_, args = _given(values, node)
    if dtypes.is_float(node.dtype):
        return values.w.intrinsic("fabs", type_, args[0])
    return _flagged(values.w, "abs", type_, args[0]) if node.dtype in dtypes.SIGNED else args[0]


@emits("clz")
def _leading_zeros(values: Expressions, node: e.Call) -> str:
    type_, args = _given(values, node)
    return _flagged(values.w, "ctlz", type_, args[0])


def _flagged(w: Writer, name: str, type_: str, value: str) -> str:
    """Call an intrinsic whose second argument says whether the special case is poison: here, it is not."""
    target = w.module.declare(f"llvm.{name}.{mangled(type_)}", type_, f"{type_}, i1 immarg")
    return w.emit(f"call {type_} {target}({type_} {value}, i1 false)")


@emits("reinterpret")
def _reinterpret(values: Expressions, node: e.Call) -> str:
    """Read the bits as another dtype of the same width."""
    w, (source,), lanes = values.w, node.args, node.lanes
    value, wanted = values.known[source], memory_type(w, node.dtype, lanes)
    raw, value = memory_type(w, source.dtype, lanes), to_memory(w, value, source.dtype, lanes)
    if raw != wanted:
        value = w.emit(f"bitcast {raw} {value} to {wanted}")
    return from_memory(w, value, node.dtype, lanes)


@emits("isnan", "isinf", "isfinite")
def _classify(values: Expressions, node: e.Call) -> str:
    w, (argument,) = values.w, node.args
    type_, value = register_type(argument.dtype, argument.lanes), values.known[argument]
    if node.name == "isnan":
        return w.emit(f"fcmp uno {type_} {value}, {value}")
    infinity = literal(float("inf"), argument.dtype, argument.lanes)
    relation = "oeq" if node.name == "isinf" else "one"
    return w.emit(f"fcmp {relation} {type_} {w.intrinsic('fabs', type_, value)}, {infinity}")


@emits("shift_left", "shift_right")
def _shift(values: Expressions, node: e.Call) -> str:
    """A shift; counts that are negative or at least the width give 0, or the sign in every bit."""
    w, dtype, lanes = values.w, node.dtype, node.lanes
    (type_, (a, b)), width = _given(values, node), dtypes.bits(dtype)
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


@emits(functions.SCALE, functions.LIMIT)
def _avx512(values: Expressions, node: e.Call) -> str:
    """One AVX-512 instruction on all lanes of a float32 vector; see ``expand.scaled_vectors``."""
    w, lanes = values.w, node.lanes
    (type_, args), mask = _given(values, node), f"i{max(lanes, 8)}"
    limits = node.name == functions.LIMIT
    immediates = [("i32", 2)] if limits else []  # the lesser magnitude, with the first operand's sign
    last = [("i32", 4)] if lanes == 16 else []  # the current rounding mode
    arguments = [*((type_, a) for a in args), *immediates, (type_, "zeroinitializer"), (mask, -1), *last]
    parameters = ", ".join(f"{kind} immarg" if kind == "i32" else kind for kind, _ in arguments)
    name = f"llvm.x86.avx512.mask.{'range' if limits else 'scalef'}.ps.{32 * lanes}"
    target = w.module.declare(name, type_, parameters)
    return w.emit(f"call {type_} {target}({', '.join(f'{kind} {value}' for kind, value in arguments)})")


@emits(*LIBRARY)
def _library(values: Expressions, node: e.Call) -> str:
    """Calls of the C library's function, lane by lane."""
    w, dtype, lanes = values.w, node.dtype, node.lanes
    if dtype not in ("float32", "float64"):
        raise UnsupportedError(f"no code for the intrinsic {node.name} of {dtype}")
    whole, args = _given(values, node)
    name, scalar = node.name + ("f" if dtype == "float32" else ""), register_type(dtype)
    if lanes == 1:
        return w.call(name, scalar, [(scalar, a) for a in args], _PURE)
    result = "poison"
    for lane in range(lanes):
        each = [(scalar, w.emit(f"extractelement {whole} {a}, i64 {lane}")) for a in args]
        value = w.call(name, scalar, each, _PURE)
        result = w.emit(f"insertelement {whole} {result}, {scalar} {value}, i64 {lane}")
    return result
