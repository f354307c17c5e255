"""``tvm.transform``: the pass infrastructure of ``tvm.ir.transform``."""

from tvmlite.tvm.ir.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PrintIR,
    Sequential,
    function_pass,
    module_pass,
)

__all__ = [
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "function_pass",
    "module_pass",
]
