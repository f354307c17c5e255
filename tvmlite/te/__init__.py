"""Tensor expressions: what to compute (``te.compute``) and, apart from it, how (``te.create_schedule``).

The names are TVM's. This module holds all that a user types as ``te.something``. ``te.visualize`` compiles
what it shows, so it is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from tvmlite.te.expr import cast, const, convert
from tvmlite.te.intrin import ir_builder
from tvmlite.te.intrin.declare_intrin import decl_tensor_intrin
from tvmlite.te.intrin.foreign import (
    call_extern,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
    call_pure_intrin,
    reinterpret,
)
from tvmlite.te.intrin.ir_builder import extern
from tvmlite.te.loop import printer as _printer  # noqa: F401  (enters itself)
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import Schedule, create_schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import builtin_functions as _builtin_functions  # noqa: F401  (registers them)
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis, size_var, var
from tvmlite.te.tensor.intrinsics import (
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
    ceil,
    clz,
    copysign,
    cos,
    cosh,
    div,
    erf,
    exp,
    floor,
    floordiv,
    floormod,
    fma,
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
    min,
    nearbyint,
    popcount,
    power,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from tvmlite.te.tensor.reducers import comm_reducer, max_value, min_value, prod, sum
from tvmlite.te.tensor.registry import (
    get_global_func,
    register_func,
    register_intrin_lowering,
    register_reference,
)
from tvmlite.te.tensor.scan import scan
from tvmlite.te.tensor.tensor import IterVar, Tensor

if TYPE_CHECKING:
    from tvmlite.te.visualizer import visualize
from tvmlite.te.tensor.threads import thread_axis

__all__ = [
    "register_intrin_lowering",
    "thread_axis",
    "scan",
    "TensorIntrin",
    "decl_buffer",
    "decl_tensor_intrin",
    "register_reference",
    "register_func",
    "get_global_func",
    "call_pure_intrin",
    "call_pure_extern",
    "call_packed",
    "call_llvm_pure_intrin",
    "call_llvm_intrin",
    "call_intrin",
    "call_extern",
    "IterVar",
    "Schedule",
    "Stage",
    "Tensor",
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
    "cast",
    "ceil",
    "clz",
    "comm_reducer",
    "compute",
    "const",
    "convert",
    "copysign",
    "cos",
    "cosh",
    "create_schedule",
    "div",
    "erf",
    "exp",
    "extern",
    "floor",
    "floordiv",
    "floormod",
    "fma",
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
    "lower",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "placeholder",
    "popcount",
    "power",
    "prod",
    "reduce_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "size_var",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
    "visualize",
]


def __getattr__(name: str) -> _Any:
    if name == "visualize":
        return importlib.import_module("tvmlite.te.visualizer").visualize
    raise AttributeError(f"module 'tvmlite.te' has no attribute {name!r}")
