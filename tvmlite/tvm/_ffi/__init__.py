"""``tvm._ffi``: only TVM's error and the registry of functions, as there is no foreign function interface."""

from tvmlite.tvm._ffi import base
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.registry import get_global_func, register_func

__all__ = ["base", "get_global_func", "register_func"]


__getattr__ = refusing(__name__)
