"""TVM's ``tvm.tir``: scalar expressions and statements, most of which are ``te``'s under the same names."""

from __future__ import annotations

from enum import Enum

from tvmlite.te import (
    abs,
    acos,
    acosh,
    all,
    any,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    call_extern,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
    ceil,
    clz,
    comm_reducer,
    const,
    copysign,
    cos,
    cosh,
    decl_buffer,
    div,
    erf,
    exp,
    floor,
    floordiv,
    floormod,
    fmod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    isfinite,
    isinf,
    isnan,
    likely,
    log,
    log2,
    log10,
    max,
    max_value,
    min,
    min_value,
    nearbyint,
    popcount,
    power,
    reinterpret,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    sqrt,
    sum,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from tvmlite.te.expr import Call, Cast, Const, Expr, SizeVar, Var
from tvmlite.te.intrin import ir_builder
from tvmlite.te.tensor.tensor import IterVar

Select, PrimExpr = select, Expr


class CallEffectKind(Enum):
    """What an intrinsic does besides giving a value."""

    Pure = 0
    Opaque = 1


pow = power


def IntImm(dtype: str, value: int) -> Const:
    """A whole number."""
    return const(value, dtype)


FloatImm = IntImm

__all__ = [
    "Call",
    "CallEffectKind",
    "Cast",
    "Const",
    "FloatImm",
    "IntImm",
    "IterVar",
    "PrimExpr",
    "Select",
    "SizeVar",
    "Var",
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "call_extern",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_pure_extern",
    "ceil",
    "clz",
    "comm_reducer",
    "const",
    "copysign",
    "cos",
    "cosh",
    "decl_buffer",
    "div",
    "erf",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "ir_builder",
    "isfinite",
    "isinf",
    "isnan",
    "likely",
    "log",
    "log10",
    "log2",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "popcount",
    "pow",
    "power",
    "reinterpret",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
]
