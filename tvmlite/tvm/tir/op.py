"""``tvm.tir.op``: the functions on expressions that ``tvm.tir`` also has, and registration of lowering rules
for custom intrinsics."""

import importlib
from typing import Any

from tvmlite.tvm.absent import lookup
from tvmlite.tvm.ir import register_intrin_lowering, register_op_attr
from tvmlite.tvm.tir.calls import (
    call_extern,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
)
from tvmlite.tvm.tir.functions import call_intrin

__all__ = [
    "call_extern",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_pure_extern",
    "register_intrin_lowering",
    "register_op_attr",
]


def __getattr__(name: str) -> Any:
    tir = importlib.import_module("tvmlite.tvm.tir")
    return getattr(tir, name) if name.islower() and name in tir.__all__ else lookup(__name__, name)
