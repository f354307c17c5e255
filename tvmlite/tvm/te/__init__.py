"""``tvm.te``: tensor expressions and schedules under TVM 0.11's names and signatures."""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite import te
from tvmlite.te.extensions import load_primitives
from tvmlite.te.schedule.tensor_intrin import TensorIntrin
from tvmlite.tvm import attributes
from tvmlite.tvm.absent import lookup
from tvmlite.tvm.te import caching as caching
from tvmlite.tvm.te import intrinsic_call, operators
from tvmlite.tvm.te import threads as threads

load_primitives()
attributes.enter()
operators.enter()
TensorIntrin.__call__ = intrinsic_call.call  # type: ignore[attr-defined]

_OF_TE = """
    acos acosh asin asinh atan atanh cos cosh erf exp fmod log log10 log2 popcount rsqrt sigmoid
    sin sinh sqrt tan tanh Schedule Stage Tensor TensorIntrin
""".split()
"""Names that are taken from ``tvmlite.te`` unchanged."""

_DECLARED = """
    comm_reducer compute const create_schedule decl_tensor_intrin extern extern_primfunc
    placeholder reduce_axis scan size_var var
""".split()

_FUNCTIONS = """
    all any clz div floordiv floormod if_then_else indexdiv indexmod isnan trace truncdiv truncmod
""".split()
_PARAMETERS = """
    abs add atan2 isfinite isinf max max_value min min_value multiply power subtract sum
""".split()

_PLACES = {
    **dict.fromkeys(_DECLARED, "tvmlite.tvm.te.declare"),
    "gradient": "tvmlite.tvm.te.autodiff",
    **dict.fromkeys(("ComputeOp", "IterVar", "PlaceholderOp", "TensorSlice"), "tvmlite.te.tensor.tensor"),
    "ExternOp": "tvmlite.te.tensor.extern",
    "HybridOp": "tvmlite.te.tensor.extern",
    "ScanOp": "tvmlite.te.tensor.scan",
    "TensorComputeOp": "tvmlite.te.tensor.tensor",
    **dict.fromkeys(("ceil", "floor", "nearbyint", "round", "trunc"), "tvmlite.tvm.te.folding"),
    "create_prim_func": "tvmlite.tvm.driver.build_module",
    "decl_buffer": "tvmlite.tvm.tir.buffer",
    **dict.fromkeys(_FUNCTIONS, "tvmlite.tvm.tir.functions"),
    **dict.fromkeys(_PARAMETERS, "tvmlite.tvm.tir.parameters"),
    "tag_scope": "tvmlite.tvm.te.tag",
    "thread_axis": "tvmlite.tvm.te.threads",
}

_MODULES = ("hybrid", "operation", "schedule", "tag", "tensor")

__all__ = [*_OF_TE, *_PLACES, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _OF_TE:
        value = getattr(te, name)
    elif name in _PLACES:
        real = {"HybridOp": "ExternOp", "TensorComputeOp": "ComputeOp"}.get(name, name)
        value = getattr(importlib.import_module(_PLACES[name]), real)
    elif name in _MODULES:
        value = importlib.import_module(f"tvmlite.tvm.te.{name}")
    else:
        return lookup("tvmlite.tvm.te", name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
