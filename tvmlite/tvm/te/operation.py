"""``tvm.te.operation``: the functions that declare tensors and axes."""

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.driver.build_module import create_prim_func
from tvmlite.tvm.te.declare import (
    compute,
    extern,
    extern_primfunc,
    placeholder,
    reduce_axis,
    scan,
    size_var,
    var,
)
from tvmlite.tvm.te.threads import thread_axis

__all__ = [
    "compute",
    "create_prim_func",
    "extern",
    "extern_primfunc",
    "placeholder",
    "reduce_axis",
    "scan",
    "size_var",
    "thread_axis",
    "var",
]


__getattr__ = refusing(__name__)
