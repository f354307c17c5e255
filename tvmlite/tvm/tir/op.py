"""``tvm.tir.op``: intrinsics, and rules that say what one's own become."""

from tvmlite.te import call_llvm_intrin, call_llvm_pure_intrin
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.ir import register_intrin_lowering, register_op_attr
from tvmlite.tvm.tir.calls import call_extern, call_packed, call_pure_extern
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


__getattr__ = refusing(__name__)
