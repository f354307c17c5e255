"""TVM's ``tvm._ffi``, of which there are errors and registered functions: nothing else is called through an
interface."""

from tvmlite.tvm._ffi import base
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.registry import get_global_func, register_func

__all__ = ["base", "get_global_func", "register_func"]


__getattr__ = refusing(__name__)
