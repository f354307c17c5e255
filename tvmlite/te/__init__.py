"""Tensor expressions: what to compute (``te.compute``) and, apart from it, how (``te.create_schedule``).

The names are TVM's. This module provides everything that a user writes as ``te.something``. Each name's
module is loaded on first use, so that a part of te can be imported without the rest. ``__init__.pyi`` lists
the same names for type checkers.
"""

import importlib
from typing import Any as _Any

from tvmlite.te.extensions import load_primitives

_NAMES = {
    "expr": "cast const convert",
    "intrin.declare_intrin": "decl_tensor_intrin",
    "intrin.extern_calls": (
        "call_extern call_intrin call_llvm_intrin call_llvm_pure_intrin call_packed call_pure_extern "
        "call_pure_intrin reinterpret trace"
    ),
    "intrin.ir_builder": "extern",
    "lowering.lower": "lower",
    "schedule.schedule": "Schedule create_schedule",
    "schedule.stage": "Stage",
    "schedule.tensor_intrin": "TensorIntrin decl_buffer",
    "tensor.declare": "compute placeholder reduce_axis size_var var",
    "tensor.intrinsics": (
        "abs acos acosh all any asin asinh atan atan2 atanh ceil clz copysign cos cosh div erf exp "
        "floor floordiv floormod fma fmod if_then_else indexdiv indexmod infinity isfinite isinf "
        "isnan likely log log10 log2 max min nearbyint popcount power round rsqrt select sigmoid sin "
        "sinh sqrt tan tanh trunc truncdiv truncmod"
    ),
    "tensor.reducers": "comm_reducer max_value min_value prod sum",
    "tensor.registry": "get_global_func register_func register_intrin_lowering register_reference",
    "tensor.scan": "scan",
    "tensor.tensor": "IterVar Tensor",
    "visualizer": "visualize",
}
"""The names exported from each module."""

_FOLDERS = (
    "arith",
    "codegen",
    "expr",
    "intrin",
    "loop",
    "lowering",
    "schedule",
    "space",
    "templates",
    "tensor",
)

_MODULE = {name: f"tvmlite.te.{module}" for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_MODULE, "ir_builder"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> _Any:
    if name in ("Schedule", "Stage"):
        load_primitives()
    if name in _MODULE:
        value = getattr(importlib.import_module(_MODULE[name]), name)
    elif name == "ir_builder":
        value = importlib.import_module("tvmlite.te.intrin.ir_builder")
    elif name in _FOLDERS:
        value = importlib.import_module(f"tvmlite.te.{name}")
    else:
        raise AttributeError(f"module 'tvmlite.te' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
